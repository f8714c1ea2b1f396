"""The shortlist head against the whole matrix."""

import pytest
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from generator.head import ShortlistHead
from tests.builders import normal
from tests.oracles import cosines

_V, _D = 4096, 64


@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (1, 8)])
def test_the_likeliest_tokens_have_the_logits_of_the_whole_matrix(shape: tuple[int, int]) -> None:
    head, x = ShortlistHead(normal(_V, _D)), normal(*shape, _D, seed=1)
    logits = head(x)
    whole = F.linear(x, head.dense.float())
    likely = whole.topk(100).indices
    assert_close(logits.gather(-1, likely), whole.gather(-1, likely), atol=1e-4, rtol=1e-4)
    assert torch.equal(logits.argmax(-1), whole.argmax(-1))
    assert logits.dtype == torch.float32
    assert cosines(logits.flatten(0, 1), whole.flatten(0, 1)).min() > 0.99


def test_many_rows_are_the_product_with_the_whole_matrix() -> None:
    head, x = ShortlistHead(normal(_V, _D)), normal(2, 5, _D, seed=1)
    assert cosines(head(x)[0], F.linear(x, head.dense.float())[0]).min() > 0.9999


def test_a_small_vocabulary_is_exact_throughout() -> None:
    head, x = ShortlistHead(normal(48, _D)), normal(1, 1, _D, seed=1)
    assert_close(head(x), F.linear(x, head.dense.float()), atol=1e-4, rtol=1e-4)
