"""Weights to begin with: their spread, and that only the rng decides them."""

import pytest
import torch
from torch import nn

from encoder import Encoder, EncoderConfig
from tests.builders import randomised
from transformer.init import initialise
from transformer.runtime import seeded

CONFIG = EncoderConfig(
    vocab_size=300, d_model=96, n_layers=4, n_heads=4, d_ff=128, max_tokens=64, n_token_types=1
)


def _made(seed: int) -> Encoder:
    model = randomised(Encoder(CONFIG), seeded(9))
    initialise(model, seeded(seed))
    return model


def test_matrices_gains_and_biases() -> None:
    model = _made(0)
    for name, parameter in model.named_parameters():
        p = parameter.detach()
        if p.ndim > 1:
            onto = name.endswith(("attention.out.weight", "feed_forward.down.weight"))
            expected = 0.02 / 8**0.5 if onto else 0.02
            assert float(p.std()) == pytest.approx(expected, rel=0.15), name
            assert abs(float(p.mean())) < expected / 3, name
        else:
            assert (p == (0.0 if name.endswith("bias") else 1.0)).all(), name


def test_the_rng_decides() -> None:
    def weights(model: nn.Module) -> torch.Tensor:
        return torch.cat([p.flatten() for p in model.parameters()])

    assert torch.equal(weights(_made(1)), weights(_made(1)))
    assert not torch.equal(weights(_made(1)), weights(_made(2)))


def test_words_may_begin_larger_and_nothing_else_does() -> None:
    model = randomised(Encoder(CONFIG), seeded(9))
    initialise(model, seeded(0), embedding_deviation=0.3)
    assert float(model.embedding.weight.detach().std()) == pytest.approx(0.3, rel=0.1)
    same = dict(_made(0).named_parameters())
    for name, parameter in model.named_parameters():
        if name not in ("embedding.weight", "token_types.weight"):
            assert torch.equal(parameter, same[name]), name
