"""The loss of guessing words against its plain formula."""

import pytest
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from encoder import EncoderConfig
from encoder.words import WordHead, word_loss
from tests.builders import normal, randomised
from transformer.init import initialise
from transformer.runtime import seeded


@pytest.mark.parametrize("rows", [1, 37])
@pytest.mark.parametrize("scale", [1.0, 30.0], ids=["unsure", "sure"])
def test_the_loss_and_its_gradients_are_those_of_cross_entropy(rows: int, scale: float) -> None:
    inputs = [normal(rows, 12), scale * normal(50_000, 12, seed=1), normal(50_000, seed=2)]
    labels = torch.randint(50_000, (rows,), generator=seeded(3))
    ours = [x.clone().requires_grad_() for x in inputs]
    theirs = [x.clone().requires_grad_() for x in inputs]
    loss = word_loss(*ours, labels)
    expected = F.cross_entropy(F.linear(*theirs), labels)
    assert_close(loss, expected)
    (2 * loss).backward()
    (2 * expected).backward()
    for mine, other in zip(ours, theirs, strict=True):
        assert_close(mine.grad, other.grad, atol=1e-5, rtol=1e-4)


def test_in_bfloat16_it_is_near() -> None:
    inputs = [normal(64, 32), normal(400, 32, seed=1) / 4, normal(400, seed=2) / 4]
    labels = torch.randint(400, (64,), generator=seeded(3))
    exact = [x.clone().requires_grad_() for x in inputs]
    F.cross_entropy(F.linear(*exact), labels).backward()
    narrow = [x.bfloat16().requires_grad_() for x in inputs]
    loss = word_loss(*narrow, labels)
    assert loss.dtype == torch.float32
    loss.backward()
    for near, right in zip(narrow, exact, strict=True):
        assert near.grad is not None
        assert right.grad is not None
        assert (
            torch.cosine_similarity(near.grad.float().flatten(), right.grad.flatten(), dim=0)
            > 0.999
        )


def test_the_head_compares_with_the_words_own_vectors() -> None:
    config = EncoderConfig(
        vocab_size=50, d_model=12, n_layers=1, n_heads=2, d_ff=8, max_tokens=8, norm_eps=1e-5
    )
    head = randomised(WordHead(config), seeded(4))
    hidden, embedding = normal(7, 12), normal(50, 12, seed=5)
    features = F.layer_norm(
        F.gelu(hidden @ head.dense.weight.T + head.dense.bias),
        (12,),
        head.norm.weight,
        head.norm.bias,
        1e-5,
    )
    scores = features @ embedding.T + head.bias
    assert_close(head.scores(hidden, embedding), scores)
    labels = torch.randint(50, (7,), generator=seeded(6))
    assert_close(head.loss(hidden, embedding, labels), F.cross_entropy(scores, labels))


@pytest.mark.parametrize(("deviation", "expected"), [(0.02, 0.3), (0.3, 1.0), (2.0, 1.0)])
def test_scores_begin_with_a_variance_of_one_at_most(deviation: float, expected: float) -> None:
    config = EncoderConfig(
        vocab_size=500, d_model=256, n_layers=1, n_heads=2, d_ff=8, max_tokens=8, norm_eps=1e-6
    )
    head, words = WordHead(config), deviation * normal(500, 256)
    initialise(head, seeded(1))
    head.level(words)
    spread = float(head.scores(normal(64, 256, seed=2), words).std().detach())
    assert spread == pytest.approx(expected, rel=0.2)
