"""Cross-attention against the paper's formula, and the decoder's block around it."""

from functools import partial

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from tests import oracles
from tests.builders import normal, randomised
from transformer import masks
from transformer.attention import Attention
from transformer.cross_attention import CrossAttention
from transformer.decoder_block import DecoderBlock
from transformer.feedforward import FeedForward
from transformer.norm import LayerNorm
from transformer.runtime import seeded

_MASK = masks.padding(masks.lengths(torch.tensor([7, 4]), 7))


def _cross() -> CrossAttention:
    return randomised(CrossAttention(12, 3, head_width=4, d_source=10, bias=True), seeded(0)).eval()


def _block(*, pre_norm: bool) -> DecoderBlock:
    attention = Attention(12, 3, n_kv_heads=3, head_width=4, bias=True, out_bias=True)
    block = DecoderBlock(
        attention=attention,
        cross_attention=CrossAttention(12, 3, head_width=4, d_source=10, bias=True),
        feed_forward=FeedForward(12, 20, activation=torch.relu, bias=True),
        attention_norm=LayerNorm(12, eps=1e-5),
        cross_norm=LayerNorm(12, eps=1e-5),
        feed_forward_norm=LayerNorm(12, eps=1e-5),
        pre_norm=pre_norm,
    )
    return randomised(block, seeded(1)).eval()


def _heads(x: Tensor) -> Tensor:
    return x.view(*x.shape[:2], 3, 4).transpose(1, 2)


def test_it_is_attention_of_the_one_text_to_the_other() -> None:
    cross, x, source = _cross(), normal(2, 5, 12), normal(2, 7, 10, seed=1)
    keys, values = cross.kv(source).chunk(2, dim=-1)
    mixed = oracles.attention(_heads(cross.q(x)), _heads(keys), _heads(values), _MASK)
    expected = cross.out(mixed.float().transpose(1, 2).flatten(2))
    assert_close(cross(x, cross.read(source), mask=_MASK), expected, atol=1e-5, rtol=1e-5)


def test_weights_sum_to_one_over_the_source_and_are_zero_on_its_padding() -> None:
    cross, x = _cross(), normal(2, 5, 12)
    read = cross.read(normal(2, 7, 10, seed=1))
    weights = cross.weights(x, read, mask=_MASK)
    assert weights.shape == (2, 3, 5, 7)
    assert_close(weights[0].sum(-1), torch.ones(3, 5))
    assert_close(weights[1, :, :, :4].sum(-1), torch.ones(3, 5))
    assert weights[1, :, :, 4:].count_nonzero() == 0
    assert (weights[1, :, :, :4] > 0).all()
    mixed = (weights @ read[1]).transpose(1, 2).flatten(2)
    assert_close(cross(x, read, mask=_MASK), cross.out(mixed), atol=1e-5, rtol=1e-5)


def test_one_source_serves_all_rows() -> None:
    cross, x, source = _cross(), normal(3, 1, 12), normal(1, 7, 10, seed=1)
    every = cross.read(source.expand(3, -1, -1))
    assert_close(cross(x, cross.read(source)), cross(x, every))
    assert_close(
        cross(x, cross.read(source), mask=_MASK[1:]),
        cross(x, every, mask=_MASK[1:].expand(3, 1, 1, 7)),
    )


@pytest.mark.parametrize("pre_norm", [True, False])
def test_the_block_adds_its_three_parts_in_order(pre_norm: bool) -> None:
    block, x, source = _block(pre_norm=pre_norm), normal(2, 5, 12), normal(2, 7, 10, seed=1)
    read = block.cross_attention.read(source)

    def ask(y: Tensor) -> Tensor:
        return block.cross_attention(y, read, mask=_MASK)  # type: ignore[no-any-return]

    parts = (
        (partial(block.attention, causal=True), block.attention_norm),
        (ask, block.cross_norm),
        (block.feed_forward, block.feed_forward_norm),
    )
    y = x
    for part, norm in parts:
        y = y + part(norm(y)) if pre_norm else norm(y + part(y))
    assert_close(block(x, read, source_mask=_MASK, causal=True), y)


def test_dropout_leaves_out_only_while_training() -> None:
    block, x = _block(pre_norm=True), normal(1, 5, 12)
    read = block.cross_attention.read(normal(1, 7, 10, seed=1))
    whole = block(x, read)
    block.dropout = 0.9
    assert_close(block(x, read), whole)
    assert not torch.allclose(block.train()(x, read), whole)
