"""Pooling, written out."""

import torch
from torch.testing import assert_close

from encoder import pooling
from tests.builders import normal
from transformer import masks


def test_mean_is_over_tokens_only() -> None:
    hidden = normal(3, 5, 4)
    pooled = pooling.mean(hidden, masks.lengths(torch.tensor([5, 1, 3]), 5))
    expected = torch.stack([hidden[0].mean(0), hidden[1, 0], hidden[2, :3].mean(0)])
    assert_close(pooled, expected)


def test_mean_without_padding_is_over_all() -> None:
    hidden = normal(2, 5, 4)
    assert_close(pooling.mean(hidden, None), hidden.mean(dim=1))


def test_cls_is_the_first_token() -> None:
    hidden = normal(2, 5, 4)
    assert_close(pooling.cls(hidden), hidden[:, 0])


def test_means_are_taken_in_float32() -> None:
    hidden = torch.ones(1, 4, 2, dtype=torch.bfloat16)
    hidden[:, 0] = 1 + 2**-7  # so that the mean lies between two numbers of bfloat16
    for mask in (None, torch.ones(1, 4, dtype=torch.bool)):
        pooled = pooling.mean(hidden, mask)
        assert_close(pooled, torch.full((1, 2), 1 + 2**-9), atol=1e-6, rtol=0)
    assert pooling.cls(hidden).dtype == torch.float32
