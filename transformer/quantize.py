"""Weight-only quantisation: matrices of 8 or 4 bits, activations as they come.

At one row a product is bound by reading the matrix, so fewer bits are faster; at many rows it is
bound by arithmetic, so a dense copy in the processor's fast format serves those.

Torch's kernels for few bits are vectorised for bfloat16 rows and scales alone (for float32 they
are 20 times slower); they sum in float32. Where the install could compile our own for four bits,
these are taken: faster, and a file's own scales stay as they are.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer import compiled, runtime

GROUP = 32  # columns that share a scale: the group of GGUF's 4-bit types
_VECTOR = 16  # columns that the 8-bit kernel reads at once
FEW_ROWS = 8  # up to here the quantised product is the faster one


class QuantizedLinear(nn.Module):
    """A linear layer that reads its quantised matrix for few rows and a dense one for many."""

    dense: Tensor

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.register_buffer("dense", weight.to(runtime.fast_dtype()), persistent=False)
        self.bias = None if bias is None else nn.Parameter(bias.float(), requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        rows = x.flatten(0, -2)
        if rows.shape[0] > FEW_ROWS:
            y = F.linear(x.to(self.dense.dtype), self.dense)
        else:
            y = self.product(rows).view(*x.shape[:-1], -1)
        y = y if self.bias is None else y + self.bias
        return y.to(x.dtype)

    def product(self, rows: Tensor) -> Tensor:
        """rows (n, in) times the quantised matrix: (n, out)."""
        raise AssertionError("a quantised layer must bring its product")

    def dequantized(self) -> Tensor:
        """The matrix that `product` multiplies by: (out, in) fp32."""
        raise AssertionError("a quantised layer must bring its matrix")


class Int8Linear(QuantizedLinear):
    """One scale a row, symmetric."""

    matrix: Tensor
    scales: Tensor

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        super().__init__(weight, bias)
        weight = weight.float()
        scales = weight.abs().amax(dim=1).clamp_min(1e-12) / 127  # (out,)
        scales = scales.bfloat16()
        matrix = (weight / scales[:, None]).round_().clamp_(-127, 127).to(torch.int8)
        # The kernel reads past the end of rows that its vectors of 16 do not divide.
        self.width, self.pad = weight.shape[1], -weight.shape[1] % _VECTOR
        self.register_buffer("matrix", F.pad(matrix, (0, self.pad)), persistent=False)
        self.register_buffer("scales", scales, persistent=False)

    def product(self, rows: Tensor) -> Tensor:
        rows = rows.bfloat16()
        padded = F.pad(rows, (0, self.pad)) if self.pad else rows
        return torch._weight_int8pack_mm(padded, self.matrix, self.scales)

    def dequantized(self) -> Tensor:
        return self.matrix[:, : self.width] * self.scales.float()[:, None]


class Int4Linear(QuantizedLinear):
    """A scale and a minimum for each group of 32 columns: w = scale * q + minimum, q in 0..15.

    That is GGUF's Q4_1, and a group of such a file has its smallest and largest value at q = 0
    and 15; taking the grid from these two recovers the file's own q. The compiled kernels keep
    the grid in float16, as the file does. Torch's take it in bfloat16: an error of a 60th of a
    step, where rounding to the grid costs up to half a step.
    """

    packed: Tensor  # as `compiled.pack` gives it, or as torch's kernel wants it
    grid: Tensor | None  # of torch's kernel: (groups, out, 2)

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        super().__init__(weight, bias)
        out, width = weight.shape
        if not fits_int4(weight):
            raise ValueError(f"a matrix of {out} x {width} does not fit rows of 16, groups of 32")
        groups = weight.float().view(out, width // GROUP, GROUP)
        low, high = groups.aminmax(dim=-1)  # (out, groups)
        scale = ((high - low) / 15).clamp_min(1e-12)
        q = ((groups - low[..., None]) / scale[..., None]).round().to(torch.int32)
        grid = None
        if compiled.library() is not None:
            packed = compiled.pack(q.view(out, width), scale, low)
        else:
            packed = torch.ops.aten._convert_weight_to_int4pack_for_cpu(q.view(out, width), 1)
            # The kernel computes (q - 8) * scale + zero.
            grid = torch.stack([scale.t(), (low + 8 * scale).t()], dim=-1).bfloat16().contiguous()
        self.register_buffer("packed", packed, persistent=False)
        self.register_buffer("grid", grid, persistent=False)

    def product(self, rows: Tensor) -> Tensor:
        if self.grid is None:
            return compiled.multiply(rows, self.packed)
        kernel = torch._weight_int4pack_mm_for_cpu
        result: Tensor = kernel(rows.bfloat16(), self.packed, GROUP, self.grid)
        return result

    def dequantized(self) -> Tensor:
        if self.grid is None:
            return compiled.unpack(self.packed)
        # The float32 kernel, slow as it is, rounds nothing: these are the numbers themselves.
        identity, grid = torch.eye(self.grid.shape[0] * GROUP), self.grid.float()
        kernel = torch.ops.aten._weight_int4pack_mm_for_cpu
        matrix: Tensor = kernel(identity, self.packed, GROUP, grid)
        return matrix.t()


def fits_int4(weight: Tensor) -> bool:
    """Whether a matrix (out, in) divides into the kernel's rows of 16 and groups of 32."""
    return weight.shape[0] % 16 == 0 and weight.shape[1] % GROUP == 0


def quantized(weight: Tensor, bias: Tensor | None = None, *, bits: int) -> QuantizedLinear:
    """The layer of so many bits for a matrix (out, in); 8 where 4 do not fit its shape."""
    match bits:
        case 4 if fits_int4(weight):
            return Int4Linear(weight, bias)
        case 4 | 8:
            return Int8Linear(weight, bias)
        case _:
            raise ValueError(f"bits ({bits}) must be 4 or 8")
