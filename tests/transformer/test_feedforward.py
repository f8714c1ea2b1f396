"""Both feed-forward layers against their formulas."""

import pytest
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from tests.builders import normal, randomised
from transformer.feedforward import FeedForward, GatedFeedForward
from transformer.runtime import seeded


def test_feed_forward_is_the_formula() -> None:
    layer = randomised(FeedForward(11, 17, activation=F.relu, bias=True), seeded(0))
    x = normal(2, 3, 11)
    hidden = torch.clamp(x @ layer.up.weight.T + layer.up.bias, min=0)
    assert hidden.shape == (2, 3, 17)
    assert_close(layer(x), hidden @ layer.down.weight.T + layer.down.bias)


def test_gated_feed_forward_has_the_gate_first() -> None:
    layer = randomised(GatedFeedForward(11, 17, activation=F.silu, bias=True), seeded(0))
    x = normal(2, 3, 11)
    gate = x @ layer.gate_up.weight[:17].T + layer.gate_up.bias[:17]
    up = x @ layer.gate_up.weight[17:].T + layer.gate_up.bias[17:]
    expected = (gate * torch.sigmoid(gate) * up) @ layer.down.weight.T + layer.down.bias
    assert_close(layer(x), expected)


@pytest.mark.parametrize("kind", [FeedForward, GatedFeedForward])
def test_without_bias_there_is_none(kind: type[FeedForward] | type[GatedFeedForward]) -> None:
    layer = kind(11, 17, activation=F.gelu, bias=False)
    assert [name for name, _ in layer.named_parameters() if name.endswith("bias")] == []
    assert_close(layer(torch.zeros(1, 2, 11)), torch.zeros(1, 2, 11))
