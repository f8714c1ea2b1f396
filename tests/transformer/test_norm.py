"""Both norms against torch's and against their formulas."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from tests import oracles
from tests.builders import normal, randomised
from transformer.norm import LayerNorm, RMSNorm
from transformer.runtime import seeded


@pytest.mark.parametrize("eps", [1e-12, 1e-5, 0.5])
def test_layer_norm_is_torchs_and_the_formula(eps: float) -> None:
    ours, theirs = randomised(LayerNorm(37, eps=eps), seeded(0)), nn.LayerNorm(37, eps=eps)
    theirs.load_state_dict(ours.state_dict())
    x = 3 * normal(4, 5, 37) + 2
    assert_close(ours(x), theirs(x))
    expected = oracles.layer_norm(x, ours.weight, ours.bias, eps)
    assert_close(ours(x).double(), expected, atol=1e-5, rtol=1e-5)


def test_layer_norm_without_bias() -> None:
    norm = randomised(LayerNorm(37, eps=1e-5, bias=False), seeded(0))
    assert norm.bias is None
    x = normal(4, 37)
    expected = oracles.layer_norm(x, norm.weight, None, 1e-5)
    assert_close(norm(x).double(), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("eps", [1e-6, 0.5])
def test_rms_norm_is_torchs_and_the_formula(eps: float) -> None:
    ours, theirs = randomised(RMSNorm(37, eps=eps), seeded(0)), nn.RMSNorm(37, eps=eps)
    theirs.load_state_dict(ours.state_dict())
    x = 3 * normal(4, 5, 37) + 2
    assert_close(ours(x), theirs(x), atol=1e-5, rtol=1e-5)
    expected = oracles.rms_norm(x, ours.weight, eps)
    assert_close(ours(x).double(), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("weights", [torch.float32, torch.bfloat16])
def test_bfloat16_input_is_normed_to_bfloat16_precision(weights: torch.dtype) -> None:
    x = (50 * normal(4, 37) + 20).bfloat16()
    layer = randomised(LayerNorm(37, eps=1e-5), seeded(0)).to(weights)
    rms = randomised(RMSNorm(37, eps=1e-5), seeded(0)).to(weights)
    assert layer(x).dtype == rms(x).dtype == torch.bfloat16
    assert layer.bias is not None
    expected = oracles.layer_norm(x, layer.weight, layer.bias, 1e-5)
    assert_close(layer(x).double(), expected, atol=1e-2, rtol=1e-2)
    assert_close(rms(x).double(), oracles.rms_norm(x, rms.weight, 1e-5), atol=1e-2, rtol=1e-2)


def test_rms_norm_squares_in_float32() -> None:
    x = torch.full((1, 8), 300.0, dtype=torch.float16)  # 300^2 is over float16's range
    assert_close(RMSNorm(8, eps=1e-6)(x), torch.ones(1, 8, dtype=torch.float16))
