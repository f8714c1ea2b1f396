"""The residual block against its two lines, and with a cache against itself without."""

import pytest
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from tests.builders import normal, randomised
from transformer import Attention, Block, Cache, masks
from transformer.feedforward import FeedForward
from transformer.norm import LayerNorm
from transformer.position import Rotary
from transformer.runtime import seeded


def _block(*, pre_norm: bool, seed: int = 0) -> Block:
    block = Block(
        attention=Attention(24, 4, n_kv_heads=2, head_width=6, bias=True, out_bias=True),
        feed_forward=FeedForward(24, 31, activation=F.gelu, bias=True),
        attention_norm=LayerNorm(24, eps=1e-5),
        feed_forward_norm=LayerNorm(24, eps=1e-5),
        pre_norm=pre_norm,
    )
    return randomised(block, seeded(seed)).eval()


def test_pre_norm_is_its_two_lines() -> None:
    block, x = _block(pre_norm=True), normal(2, 5, 24)
    mask = masks.padding(masks.lengths(torch.tensor([5, 3]), 5))
    y = x + block.attention(block.attention_norm(x), mask=mask)
    expected = y + block.feed_forward(block.feed_forward_norm(y))
    assert_close(block(x, mask=mask), expected)


def test_post_norm_is_its_two_lines() -> None:
    block, x = _block(pre_norm=False), normal(2, 5, 24)
    mask = masks.padding(masks.lengths(torch.tensor([5, 3]), 5))
    y = block.attention_norm(x + block.attention(x, mask=mask))
    expected = block.feed_forward_norm(y + block.feed_forward(y))
    assert_close(block(x, mask=mask), expected)


@pytest.mark.parametrize("pre_norm", [True, False])
@pytest.mark.parametrize("parts", [(1,) * 9, (4, 1, 3, 1), (9,)])
def test_cached_is_uncached(pre_norm: bool, parts: tuple[int, ...]) -> None:
    blocks, rotary = [_block(pre_norm=pre_norm, seed=i) for i in range(2)], Rotary(6, 9)
    x = normal(2, 9, 24)
    whole = x
    for block in blocks:
        whole = block(whole, causal=True, rotation=rotary(0, 9))

    cache = Cache(n_layers=2, batch=2, n_kv_heads=2, capacity=9, head_width=6, dtype=torch.float32)
    pieces = []
    for s in parts:
        start = cache.length
        y = x[:, start : start + s]
        for layer, block in enumerate(blocks):
            y = block(
                y,
                mask=None if s == 1 else masks.causal(s, start + s),
                rotation=rotary(start, start + s),
                cache=cache,
                layer=layer,
            )
        cache.advance(s)
        pieces.append(y)
    assert_close(torch.cat(pieces, dim=1), whole, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("pre_norm", [True, False])
def test_dropout_touches_both_branches_and_only_while_learning(pre_norm: bool) -> None:
    block, x = _block(pre_norm=pre_norm), normal(2, 5, 24)
    expected = block(x)
    block.dropout = 1.0
    assert_close(block(x), expected)
    block.train()
    nothing_added = x if pre_norm else block.feed_forward_norm(block.attention_norm(x))
    assert_close(block(x), nothing_added)
    block.dropout = 0.0
    assert_close(block(x), expected)
