"""Masks, written out."""

import pytest
import torch

from transformer import masks


def test_causal_queries_are_the_last_positions() -> None:
    assert masks.causal(2, 4).int().tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]
    assert masks.causal(3, 3).int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert masks.causal(1, 3).int().tolist() == [[1, 1, 1]]


def test_causal_refuses_more_queries_than_positions() -> None:
    with pytest.raises(ValueError, match=r"s \(4\) queries cannot be the last of t \(3\)"):
        masks.causal(4, 3)


def test_lengths_mark_tokens() -> None:
    tokens = masks.lengths(torch.tensor([3, 0, 1]), 3)
    assert tokens.int().tolist() == [[1, 1, 1], [0, 0, 0], [1, 0, 0]]
    assert tokens.dtype == torch.bool


def test_padding_is_the_same_for_every_head_and_query() -> None:
    tokens = masks.lengths(torch.tensor([3, 1]), 3)
    mask = masks.padding(tokens)
    assert mask.shape == (2, 1, 1, 3)
    assert (mask.expand(2, 5, 4, 3) == tokens[:, None, None]).all()


def test_segments_see_themselves_alone() -> None:
    mask = masks.segments(torch.tensor([[1, 1, 2, 0], [1, 2, 2, 2]]))
    assert mask.shape == (2, 1, 4, 4)
    assert mask[0, 0].int().tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert mask[1, 0].int().tolist() == [[1, 0, 0, 0], [0, 1, 1, 1], [0, 1, 1, 1], [0, 1, 1, 1]]
