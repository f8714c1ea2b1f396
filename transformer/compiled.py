"""The compiled kernels of native/, where the install could build them for this machine.

Without them everything gives the same answers by torch, and more slowly.
"""

import ctypes
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F

WIDE = 16  # outputs of a block
GROUP = 32  # columns that share a scale
ROWS = 16  # at most, of one step
_MOST_HEAD = 256
_MOST_THREADS = 64
_address, _int = ctypes.c_void_p, ctypes.c_int64


class _Matrix(ctypes.Structure):
    _fields_ = (
        ("stream", _address),
        ("bias", _address),
        ("a", _address),
        ("b", _address),
        ("out", _int),
        ("in", _int),
        ("rank", _int),
    )


class _Layer(ctypes.Structure):
    _fields_ = (
        ("attention_norm", _address),
        ("feed_forward_norm", _address),
        ("q_norm", _address),
        ("k_norm", _address),
        ("qkv", _Matrix),
        ("out", _Matrix),
        ("gate_up", _Matrix),
        ("down", _Matrix),
    )


class _Model(ctypes.Structure):
    _fields_ = (
        ("layer", ctypes.POINTER(_Layer)),
        ("norm", _address),
        ("cosines", _address),
        ("sines", _address),
        ("head", _Matrix),
        ("layers", _int),
        ("width", _int),
        ("heads", _int),
        ("groups", _int),
        ("head_width", _int),
        ("bf16", _int),
        ("rank", _int),
        ("eps", ctypes.c_float),
        ("head_eps", ctypes.c_float),
    )


class _Row(ctypes.Structure):
    _fields_ = (
        ("keys", _address),
        ("values", _address),
        ("layer_stride", _int),
        ("group_stride", _int),
        ("position", _int),
    )


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL | None:
    """The kernels; None where the install built none, or for another machine."""
    if sys.byteorder != "little":
        return None
    for path in sorted(Path(__file__).parent.glob("_native*")):
        try:
            found = ctypes.CDLL(str(path))
            found.attest_level(-1)
        except (OSError, AttributeError):
            continue
        found.attest_scratch.restype = _int
        return found
    return None


@dataclass(frozen=True, slots=True)
class Addition:
    """Of low rank, beside a matrix, as `pack_addition` gives it."""

    a: Tensor  # (r, in / 32, 16, 2)
    b: Tensor  # (out / 16, r / 2, 16, 2)


@dataclass(frozen=True, slots=True)
class Matrix:
    """What a product takes: `packed` of `pack`, a bias in float32, and what a step adds."""

    packed: Tensor
    bias: Tensor | None
    addition: Addition | None = None

    @property
    def rank(self) -> int:
        return 0 if self.addition is None else len(self.addition.a)

    @property
    def shape(self) -> tuple[int, int]:
        """(out, in)"""
        return self.packed.shape[0] * WIDE, self.packed.shape[1] * GROUP

    def described(self) -> _Matrix:
        beside = (None, None) if self.addition is None else (self.addition.a, self.addition.b)
        tensors = (self.packed, self.bias, *beside)
        return _Matrix(*map(_pointer, tensors), *self.shape, self.rank)


@dataclass(frozen=True, slots=True)
class Layer:
    """A pre-norm block: gains in float32, matrices of four bits."""

    attention_norm: Tensor
    feed_forward_norm: Tensor
    q_norm: Tensor | None
    k_norm: Tensor | None
    qkv: Matrix
    out: Matrix
    gate_up: Matrix
    down: Matrix

    @property
    def matrices(self) -> tuple[Matrix, ...]:
        return self.qkv, self.out, self.gate_up, self.down

    def described(self) -> _Layer:
        norms = (self.attention_norm, self.feed_forward_norm, self.q_norm, self.k_norm)
        return _Layer(*map(_pointer, norms), *(matrix.described() for matrix in self.matrices))


@dataclass(frozen=True, slots=True)
class Shape:
    """What the layers do not say themselves."""

    heads: int
    groups: int
    head_width: int
    eps: float
    head_eps: float
    cache: torch.dtype


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row's keys and values are kept, and how many stand before its own."""

    keys: Tensor  # (layers, 1, g, capacity, e)
    values: Tensor
    position: int

    def described(self) -> _Row:
        layer, _, group, *_ = self.keys.stride()
        return _Row(self.keys.data_ptr(), self.values.data_ptr(), layer, group, self.position)


class Step:
    """A model's step over a few rows: embeddings in, logits out.

    Rows do not meet: each gets the numbers that it would get alone, to the bit.

    Args:
        layers: from the first to the last
        norm: gain of the last norm, (d,)
        head: of `out` tokens
        rotation: cosines and signed sines of every position, (n, e) each
        shape: of the attention
    """

    def __init__(
        self,
        layers: Sequence[Layer],
        norm: Tensor,
        head: Matrix,
        rotation: tuple[Tensor, Tensor],
        shape: Shape,
    ) -> None:
        found = library()
        assert found is not None, "a step is built where there are kernels"
        self._library = found
        self._kept = (layers, norm, head, rotation)  # their memory is read
        self._layers = (_Layer * len(layers))(*(layer.described() for layer in layers))
        self._vocabulary, self._width = head.shape
        self._model = _Model(
            self._layers,
            norm.data_ptr(),
            *(table.data_ptr() for table in rotation),
            head.described(),
            len(layers),
            self._width,
            shape.heads,
            shape.groups,
            shape.head_width,
            shape.cache == torch.bfloat16,
            max(matrix.rank for layer in layers for matrix in layer.matrices),
            shape.eps,
            shape.head_eps,
        )

    def __call__(self, x: Tensor, places: Sequence[Place]) -> tuple[Tensor, Tensor]:
        """Take rows in, which also go to where they are kept.

        Args:
            x: embeddings (n, d), float32; at most ROWS
            places: of each row; rows of one cache stand behind one another

        Returns:
            what the head reads (n, d) and its logits (n, v), float32
        """
        rows, longest = len(places), max(place.position for place in places) + 1
        read = x.contiguous()  # written over
        logits = torch.empty(rows, self._vocabulary)
        described = (_Row * rows)(*(place.described() for place in places))
        model, threads = ctypes.byref(self._model), _threads()
        sizes = (_int(longest), _int(threads))
        scratch = torch.empty(self._library.attest_scratch(model, _int(rows), *sizes))
        self._library.attest_step(
            model,
            described,
            _int(rows),
            _address(read.data_ptr()),
            _address(logits.data_ptr()),
            _address(scratch.data_ptr()),
            *sizes,
        )
        return read, logits


def fits(shape: Shape, widths: Sequence[int]) -> bool:
    """Whether the kernels take such heads, and layers of such widths."""
    narrow = shape.head_width % GROUP == 0 and shape.head_width <= _MOST_HEAD
    known = shape.cache in (torch.bfloat16, torch.float32)
    return narrow and known and all(width % GROUP == 0 for width in widths)


def pack(q: Tensor, scale: Tensor, low: Tensor) -> Tensor:
    """The stream of a matrix whose weights are scale * q + low.

    Args:
        q: (out, in), whole numbers in 0..15
        scale: (out, in / 32)
        low: (out, in / 32)

    Returns:
        (out / 16, in / 32, 320) bytes, as native.c describes them
    """
    out, groups = scale.shape
    q = q.to(torch.uint8).view(out // WIDE, WIDE, groups, 4, 4, 2)
    nibbles = q.permute(0, 2, 3, 1, 5, 4).reshape(out // WIDE, groups, -1, 2)
    halves = torch.stack([scale, low], dim=-1).half().view(out // WIDE, WIDE, groups, 2)
    grid = halves.transpose(1, 2).contiguous().view(torch.uint8).flatten(2)
    return torch.cat([grid, nibbles[..., 0] | nibbles[..., 1] << 4], dim=-1).contiguous()


def unpack(packed: Tensor) -> Tensor:
    """The matrix (out, in) that `packed` holds, float32."""
    blocks, groups, _ = packed.shape
    grid, halves = packed[..., : 4 * WIDE], packed[..., 4 * WIDE :]
    scale, low = (
        grid.contiguous().view(torch.float16).float().view(blocks, groups, WIDE, 2).unbind(-1)
    )
    q = torch.stack([halves & 15, halves >> 4], dim=-1).view(blocks, groups, 4, WIDE, 2, 4)
    q = q.permute(0, 1, 3, 2, 5, 4).reshape(blocks, groups, WIDE, GROUP)
    weights: Tensor = q * scale[..., None] + low[..., None]
    return weights.transpose(1, 2).reshape(blocks * WIDE, groups * GROUP)


def pack_addition(a: Tensor, b: Tensor) -> Addition:
    """b (a x) for the kernels, in bfloat16, with a rank of zeros where there is an odd one.

    Args:
        a: (r, in)
        b: (out, r)
    """
    odd = a.shape[0] % 2
    a, b = F.pad(a, (0, 0, 0, odd)).bfloat16(), F.pad(b, (0, odd)).bfloat16()
    a = a.view(len(a), -1, 2, WIDE).transpose(2, 3)
    b = b.view(-1, WIDE, b.shape[1] // 2, 2).transpose(1, 2)
    return Addition(a.contiguous(), b.contiguous())


def multiply(x: Tensor, packed: Tensor) -> Tensor:
    """x (n, in) times a packed matrix: (n, out) float32; each row as if it were alone."""
    found = library()
    assert found is not None, "what is packed for the kernels is multiplied by them"
    matrix = Matrix(packed, None)
    out, width = matrix.shape
    rows, threads = x.float().contiguous(), _threads()
    y = torch.empty(len(rows), out)
    scratch = torch.empty(threads * (len(rows) * width * 34 // 32 + 2 * GROUP))
    found.attest_multiply(
        ctypes.byref(matrix.described()),
        _address(rows.data_ptr()),
        _int(len(rows)),
        _address(y.data_ptr()),
        _address(scratch.data_ptr()),
        _int(threads),
    )
    return y


def exact(dense: Tensor, x: Tensor, ids: Tensor, logits: Tensor) -> None:
    """Write anew the logits (n, v) of tokens ids (n, k), from dense (v, d) and x (n, d)."""
    found = library()
    assert found is not None, "asked for by who took a step"
    scratch = torch.empty(x.shape[1])
    found.attest_exact(
        _address(dense.data_ptr()),
        _int(dense.dtype == torch.bfloat16),
        _address(x.data_ptr()),
        *map(_int, x.shape),
        _address(ids.data_ptr()),
        _int(ids.shape[1]),
        _address(logits.data_ptr()),
        _int(logits.shape[1]),
        _address(scratch.data_ptr()),
    )


def _threads() -> int:
    return min(torch.get_num_threads(), _MOST_THREADS)


def _pointer(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()
