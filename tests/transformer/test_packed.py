"""Packed layers compute what the layers they were made of compute."""

import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.testing import assert_close

from tests.builders import normal, randomised
from transformer.feedforward import Activation, FeedForward, GatedFeedForward
from transformer.packed import PackedLinear, pack
from transformer.runtime import give_back_memory, seeded

needs_kernel = pytest.mark.skipif(
    not hasattr(torch.ops.mkldnn, "_linear_pointwise"), reason="this torch has no oneDNN"
)


def _assert_near(actual: Tensor, expected: Tensor) -> None:
    """As near as bfloat16 shows: its sums are rounded in another order."""
    assert actual.dtype == torch.bfloat16
    assert_close(actual, expected, atol=4e-2, rtol=2e-2)


@needs_kernel
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(1, 36), (3, 5, 36)])
def test_a_packed_layer_is_the_layer(bias: bool, shape: tuple[int, ...]) -> None:
    linear = randomised(nn.Linear(36, 52, bias=bias), seeded(0)).bfloat16()
    x = normal(*shape).bfloat16()
    _assert_near(PackedLinear(linear)(x), linear(x))
    _assert_near(PackedLinear(linear, "gelu")(x), F.gelu(linear(x)))


@pytest.mark.parametrize("activation", [F.gelu, F.relu, nn.GELU(approximate="tanh")])
def test_packing_keeps_what_a_feed_forward_computes(activation: Activation) -> None:
    layer = randomised(FeedForward(36, 52, activation=activation, bias=True), seeded(0)).bfloat16()
    x = normal(3, 5, 36).bfloat16()
    with torch.inference_mode():
        expected = layer(x)
        pack(layer)
        _assert_near(layer(x), expected)


def test_packing_keeps_what_a_gated_feed_forward_computes() -> None:
    layer = GatedFeedForward(36, 52, activation=F.gelu, bias=False)
    layer = randomised(layer, seeded(0)).bfloat16()
    x = normal(3, 5, 36).bfloat16()
    with torch.inference_mode():
        expected = layer(x)
        pack(layer)
        _assert_near(layer(x), expected)


def test_float32_layers_stay_as_they_are() -> None:
    layer = randomised(FeedForward(36, 52, activation=F.gelu, bias=True), seeded(0))
    x = normal(3, 5, 36)
    expected = layer(x)
    pack(layer)
    assert [type(child) for child in (layer.up, layer.down)] == [nn.Linear, nn.Linear]
    assert_close(layer(x), expected, atol=0, rtol=0)


@needs_kernel
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_texts_of_every_length_do_not_fill_the_memory() -> None:
    """A kernel is compiled for each; were all kept, they would take half a gigabyte."""

    def resident() -> float:
        pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
        return pages * 4096 / 1e6

    packed = PackedLinear(nn.Linear(384, 1536).bfloat16())
    with torch.inference_mode():
        packed(torch.zeros(8, 384, dtype=torch.bfloat16))
        give_back_memory()
        before = resident()
        for n in range(1, 400):
            packed(torch.zeros(n, 384, dtype=torch.bfloat16))
        give_back_memory()

    assert resident() - before < 200
