"""Positions: the written formulas, and the published rotary code as an oracle."""

import pytest
import torch
from torch.testing import assert_close
from transformers.models.llama.configuration_llama import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from tests import oracles
from tests.builders import normal
from transformer import checkpoint
from transformer.position import (
    LearnedPositions,
    Rotary,
    SinusoidalPositions,
    rotate,
    sinusoidal,
)


def test_sinusoidal_is_the_formula() -> None:
    expected = [[oracles.sinusoid(i, column, 10) for column in range(10)] for i in range(40)]
    assert_close(sinusoidal(40, 10).double(), torch.tensor(expected).double(), atol=1e-5, rtol=0)


def test_sinusoidal_module_gives_rows_of_the_table() -> None:
    positions = SinusoidalPositions(40, 10)
    assert_close(positions(3, 9), sinusoidal(40, 10)[3:9])
    assert positions.state_dict() == {}


def test_sinusoidal_needs_an_even_width() -> None:
    with pytest.raises(ValueError, match=r"d_model \(9\) must be even"):
        sinusoidal(4, 9)


def test_learned_positions_begin_at_the_offset() -> None:
    positions = LearnedPositions(12, 5, offset=2)
    with torch.no_grad():
        positions.weight.copy_(normal(12, 5))
    assert_close(positions(0, 10), positions.weight[2:])
    assert_close(positions(3, 4), positions.weight[5:6])


@pytest.mark.parametrize("base", [10_000.0, 500_000.0])
def test_rotary_is_that_of_published_llama_code(base: float) -> None:
    q, k = normal(2, 6, 9, 14, seed=1), normal(2, 2, 9, 14, seed=2)
    config = LlamaConfig(
        hidden_size=84,
        num_attention_heads=6,
        max_position_embeddings=64,
        rope_parameters={"rope_type": "default", "rope_theta": base},
    )
    cosines, sines = LlamaRotaryEmbedding(config)(q, torch.arange(20, 29)[None])
    expected_q, expected_k = apply_rotary_pos_emb(q, k, cosines, sines)
    rotation = Rotary(14, 64, base=base)(20, 29)
    assert_close(rotate(q, rotation), expected_q, atol=1e-5, rtol=1e-5)
    assert_close(rotate(k, rotation), expected_k, atol=1e-5, rtol=1e-5)


def test_rotary_scores_depend_on_the_distance_alone() -> None:
    rotary = Rotary(12, 64)
    q, k = normal(1, 1, 1, 12, seed=1), normal(1, 1, 1, 12, seed=2)

    def score(i: int, j: int) -> float:
        return float((rotate(q, rotary(i, i + 1)) * rotate(k, rotary(j, j + 1))).sum())

    near = score(5, 2)
    assert score(63, 60) == pytest.approx(near, abs=1e-4)
    assert score(3, 0) == pytest.approx(near, abs=1e-4)
    assert abs(score(5, 3) - near) > 1e-2
    assert abs(score(2, 5) - near) > 1e-2


def test_rotary_keeps_lengths_and_leaves_position_zero_as_it_is() -> None:
    x = normal(2, 3, 8, 12)
    turned = rotate(x, Rotary(12, 8)(0, 8))
    assert_close(turned.norm(dim=-1), x.norm(dim=-1))
    assert_close(turned[:, :, 0], x[:, :, 0])


def test_rotary_keeps_the_number_format() -> None:
    x = normal(1, 2, 4, 12)
    turned = rotate(x.bfloat16(), Rotary(12, 4)(0, 4))
    assert turned.dtype == torch.bfloat16
    assert_close(turned.float(), rotate(x, Rotary(12, 4)(0, 4)), atol=3e-2, rtol=3e-2)


def test_rotary_needs_even_heads() -> None:
    with pytest.raises(ValueError, match=r"head_width \(7\) must be even"):
        Rotary(7, 4)


def test_computed_tables_are_real_on_the_meta_device_and_never_saved() -> None:
    with checkpoint.on_meta():
        rotary, fixed = Rotary(12, 8), SinusoidalPositions(8, 12)
    assert_close(rotary(0, 8), Rotary(12, 8)(0, 8))
    assert_close(fixed(0, 8), sinusoidal(8, 12))
    assert rotary.state_dict() == {}
