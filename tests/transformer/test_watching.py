"""The weights that are shown: they must be those that the blocks mix their values by."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from tests import oracles
from tests.builders import normal, randomised
from transformer import Attention, Block
from transformer.feedforward import FeedForward
from transformer.norm import LayerNorm
from transformer.position import Rotary
from transformer.runtime import seeded
from transformer.watching import watch

_D, _H, _G, _E = 24, 4, 2, 6


def blocks(*, pre_norm: bool) -> list[nn.Module]:
    def made() -> Block:
        return Block(
            attention=Attention(_D, _H, n_kv_heads=_G, head_width=_E, bias=True, out_bias=True),
            feed_forward=FeedForward(_D, 30, activation=torch.relu, bias=True),
            attention_norm=LayerNorm(_D, eps=1e-5, bias=True),
            feed_forward_norm=LayerNorm(_D, eps=1e-5, bias=True),
            pre_norm=pre_norm,
        )

    return [randomised(made(), seeded(i)).eval() for i in range(2)]


@pytest.mark.parametrize("pre_norm", [True, False])
@pytest.mark.parametrize("causal", [True, False])
@torch.inference_mode()
def test_weights_on_values_are_what_the_block_adds(pre_norm: bool, causal: bool) -> None:
    x, rotation = normal(1, 7, _D), Rotary(_E, 7)(0, 7)
    stack = blocks(pre_norm=pre_norm)
    for block, seen in zip(stack, watch(stack, x, causal=causal, rotation=rotation), strict=True):
        assert isinstance(block, Block)
        read = block.attention_norm(x) if pre_norm else x
        v = block.attention.project(read, rotation)[2].repeat_interleave(_H // _G, dim=1)
        mixed = block.attention.out((seen.weights @ v).transpose(1, 2).flatten(2))
        assert_close(
            mixed, block.attention(read, causal=causal, rotation=rotation), atol=1e-5, rtol=1e-4
        )
        assert_close(seen.weights.sum(-1), torch.ones(1, _H, 7))
        if causal:
            assert (seen.weights.triu(1) == 0).all()
        x = block(x, causal=causal, rotation=rotation)
        assert_close(seen.x, x)


@torch.inference_mode()
def test_weights_are_the_formulas() -> None:
    x, (block, *_) = normal(1, _E, _D), blocks(pre_norm=True)
    assert isinstance(block, Block)
    (seen,) = watch([block], x)
    q, k, _ = block.attention.project(block.attention_norm(x))
    named = torch.eye(_E).expand(1, _G, _E, _E)  # values that say which key they are of
    read = oracles.attention(q, k, named)
    assert_close(seen.weights.double(), read, atol=1e-6, rtol=1e-5)


@torch.inference_mode()
def test_bfloat16_weights_still_sum_to_one() -> None:
    stack = [block.bfloat16() for block in blocks(pre_norm=False)]
    for seen in watch(stack, normal(1, 60, _D).bfloat16()):
        assert seen.weights.dtype == torch.float32
        assert_close(seen.weights.sum(-1), torch.ones(1, _H, 60), atol=1e-5, rtol=0)
