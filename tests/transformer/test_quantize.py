"""Quantised layers against their own matrices, and these against the ones they came from."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.testing import assert_close

from tests import oracles
from tests.builders import normal
from transformer import runtime
from transformer.quantize import (
    GROUP,
    Int4Linear,
    Int8Linear,
    QuantizedLinear,
    fits_int4,
    quantized,
)

FEW, MANY = [1, 2, 3, 4, 5, 6, 7, 8], [9, 40]
BITS = [4, 8]


def _layer(bits: int, *, bias: bool = True) -> tuple[QuantizedLinear, Tensor, Tensor | None]:
    """With the matrix and bias that it was made of."""
    weight = normal(48, 96, seed=1)
    offsets = normal(48, seed=2) if bias else None
    return quantized(weight, offsets, bits=bits), weight, offsets


def _assert_product(actual: Tensor, x: Tensor, matrix: Tensor, bias: Tensor | None = None) -> None:
    """x matrix^T + bias but for the rounding of each operand and of the sum to bfloat16."""
    bound = 2**-7 * F.linear(x.abs(), matrix.abs(), None if bias is None else bias.abs())
    off = (actual - F.linear(x, matrix, bias)).abs()
    assert (off <= bound + 1e-6).all(), f"off by {float((off / bound).max())} of what is allowed"


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rows", FEW)
def test_few_rows_are_the_product_with_the_dequantised_matrix(
    bits: int, bias: bool, rows: int
) -> None:
    layer, _, offsets = _layer(bits, bias=bias)
    x = normal(rows, 96, seed=rows)
    _assert_product(layer(x), x, layer.dequantized(), offsets)


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rows", MANY)
def test_many_rows_are_the_product_with_the_whole_matrix(bits: int, bias: bool, rows: int) -> None:
    layer, weight, offsets = _layer(bits, bias=bias)
    x = normal(rows, 96, seed=rows)
    _assert_product(layer(x), x, weight, offsets)


@pytest.mark.parametrize(("bits", "cosine"), [(4, 0.99), (8, 0.9999)])
def test_few_and_many_rows_agree_as_far_as_the_bits_go(bits: int, cosine: float) -> None:
    layer, _, _ = _layer(bits)
    x = normal(40, 96, seed=3)
    few = torch.cat([layer(part) for part in x.view(5, 8, 96)])
    assert oracles.cosines(few, layer(x)).min() > cosine


def test_int8_is_off_by_about_half_a_step_at_most() -> None:
    layer, weight, _ = _layer(8)
    step = weight.abs().amax(dim=1, keepdim=True) / 127
    assert ((layer.dequantized() - weight).abs() <= 0.51 * step + 2**-9 * weight.abs()).all()


def test_int4_is_off_by_about_half_a_step_at_most() -> None:
    layer, weight, _ = _layer(4)
    groups = weight.view(48, -1, GROUP)
    step = (groups.amax(-1, keepdim=True) - groups.amin(-1, keepdim=True)) / 15
    off = (layer.dequantized().view_as(groups) - groups).abs()
    assert (off <= 0.51 * step + 2**-7 * groups.abs().amax(-1, keepdim=True)).all()


def test_int4_recovers_a_grid_of_four_bits() -> None:
    q = torch.randint(16, (48, 3, GROUP), generator=runtime.seeded(4))
    q[..., 5], q[..., 20] = 0, 15  # a group of Q4_1 reaches both ends
    scale = (0.5 + normal(48, 3, 1, seed=5).sigmoid()).half().float()
    minimum = -scale * (8 + normal(48, 3, 1, seed=6)).half().float()  # zero lies inside, as it does
    layer = Int4Linear((scale * q + minimum).view(48, 96))
    recovered = (layer.dequantized().view(48, 3, GROUP) - minimum) / scale
    assert (recovered.round() == q).all()
    assert_close(recovered, q.float(), atol=0.08, rtol=0)


@pytest.mark.parametrize("value", [0.0, 0.375])
@pytest.mark.parametrize("bits", BITS)
def test_constant_matrices_survive(bits: int, value: float) -> None:
    layer = quantized(torch.full((16, 32), value), bits=bits)
    assert_close(layer.dequantized(), torch.full((16, 32), value), atol=1e-3, rtol=4e-3)
    assert_close(layer(torch.ones(1, 32)), torch.full((1, 16), 32 * value), atol=1e-3, rtol=8e-3)


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_weights_quantise_as_their_float32(bits: int, dtype: torch.dtype) -> None:
    weight, x = normal(48, 96, seed=1).to(dtype), normal(3, 96, seed=2)
    narrow, wide = quantized(weight, bits=bits), quantized(weight.float(), bits=bits)
    assert_close(narrow(x), wide(x), atol=0, rtol=0)


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (2, 20)])
def test_any_number_of_axes_and_the_format_of_the_input(bits: int, shape: tuple[int, ...]) -> None:
    layer, _, _ = _layer(bits)
    x = normal(*shape, 96, seed=7).bfloat16()
    y = layer(x.float())
    assert y.shape == (*shape, 48)
    assert y.dtype == torch.float32
    assert_close(y.flatten(0, -2), layer(x.float().flatten(0, -2)))
    assert layer(x).dtype == torch.bfloat16
    assert_close(layer(x).float(), y, atol=1e-2, rtol=1e-2)


@pytest.mark.parametrize(
    ("shape", "fits"), [((48, 96), True), ((40, 96), False), ((48, 80), False)]
)
def test_shapes_that_do_not_fit_four_bits_get_eight(shape: tuple[int, int], fits: bool) -> None:
    weight = normal(*shape)
    assert fits_int4(weight) is fits
    layer = quantized(weight, bits=4)
    assert isinstance(layer, Int4Linear if fits else Int8Linear)
    assert_close(layer.dequantized(), weight, atol=0.4, rtol=0)


@pytest.mark.parametrize("out", [1, 2, 33])
@pytest.mark.parametrize("width", [1, 7, 16, 40, 63, 65])
def test_eight_bits_take_any_shape(out: int, width: int) -> None:
    layer = Int8Linear(normal(out, width))
    assert layer.dequantized().shape == (out, width)
    for rows in FEW:
        x = normal(rows, width, seed=1)
        _assert_product(layer(x), x, layer.dequantized())


def test_four_bits_name_the_shape_that_does_not_fit() -> None:
    with pytest.raises(ValueError, match="a matrix of 40 x 96 does not fit rows of 16"):
        Int4Linear(normal(40, 96))


def test_other_numbers_of_bits_are_refused() -> None:
    with pytest.raises(ValueError, match=r"bits \(5\) must be 4 or 8"):
        quantized(normal(16, 32), bits=5)
