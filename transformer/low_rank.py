"""A low-rank addition that stays beside its matrix: the matrix keeps its bits, whatever they are.

Folded into a matrix of four bits an adapter is lost: its steps are smaller than those of the grid.
"""

from functools import cached_property

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer import compiled, lora, runtime
from transformer.lora import Adapter
from transformer.quantize import FEW_ROWS, QuantizedLinear


class LowRankLinear(nn.Module):
    """base(x) + b (a x), in float32 for few rows; for many in the format of the base's product.

    Torch's products of a single bfloat16 row take four times those of a float32 one.

    Args:
        base: stays as it is
        a: (r, in)
        b: (out, r), with the adapter's scale in it
    """

    a: Tensor
    b: Tensor
    many_a: Tensor
    many_b: Tensor

    def __init__(self, base: nn.Linear | QuantizedLinear, a: Tensor, b: Tensor) -> None:
        super().__init__()
        self.base = base
        many = runtime.fast_dtype() if isinstance(base, QuantizedLinear) else torch.float32
        for name, tensor in (("a", a.float()), ("b", b.float())):
            self.register_buffer(name, tensor, persistent=False)
            self.register_buffer(f"many_{name}", tensor.to(many), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.base(x)
        sums = y.flatten(0, -2)
        a, b = (self.a, self.b) if len(sums) <= FEW_ROWS else (self.many_a, self.many_b)
        low = F.linear(x.flatten(0, -2).to(a.dtype), a)
        sums = sums.to(a.dtype).addmm_(low, b.t())  # in place: one pass less over many rows
        return sums.view_as(y).to(x.dtype)

    @cached_property
    def packed(self) -> compiled.Addition:
        """As the compiled kernels take it."""
        return compiled.pack_addition(self.a, self.b)


def attach(model: nn.Module, adapter: Adapter) -> None:
    """Put an adapter beside the layers, plain or quantised, that it changes.

    Raises:
        CheckpointError: its tensors do not fit; the model is left as it was.
    """
    layers = {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear | QuantizedLinear)
    }
    shapes = {name: _shape(layer) for name, layer in layers.items()}
    for name, (a, b) in lora.fitting(shapes, adapter).items():
        beside = LowRankLinear(layers[name], a, adapter.scale * b.float())
        model.set_submodule(name, beside)


def _shape(layer: nn.Linear | QuantizedLinear) -> tuple[int, int]:
    out, width = (layer.weight if isinstance(layer, nn.Linear) else layer.dense).shape
    return out, width
