"""Heads and their losses against slow and plain versions of themselves."""

import math

import pytest
import torch

from encoder.heads import (
    IGNORED,
    ComparedHead,
    SequenceHead,
    TokenHead,
    WideLinear,
    best_spans,
    class_loss,
    number_loss,
    span_loss,
    tag_loss,
)
from tests.builders import normal, randomised
from transformer.runtime import seeded

MASK = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]], dtype=torch.bool)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_a_sequence_head_ignores_padding(pooling: str) -> None:
    head = randomised(SequenceHead(6, 3, pooling=pooling), seeded(0))  # type: ignore[arg-type]
    hidden = normal(2, 4, 6)
    other = hidden.clone()
    other[1, 2:] = 99
    torch.testing.assert_close(head(hidden, MASK), head(other, MASK))
    alone = head(hidden[1:, :2], None)
    torch.testing.assert_close(head(hidden, MASK)[1:], alone)


def test_a_compared_head_takes_both_orders_alike() -> None:
    head = randomised(ComparedHead(6, 1, pooling="mean"), seeded(0))
    hidden = normal(4, 3, 6)
    one, other = head(hidden, None), head(hidden[[2, 3, 0, 1]], None)
    assert one.shape == (2, 1)
    torch.testing.assert_close(one, other)


def test_a_compared_head_knows_length_from_direction() -> None:
    head = randomised(ComparedHead(6, 1, pooling="cls"), seeded(0))
    hidden = normal(2, 3, 6)
    torch.testing.assert_close(head(hidden, None), head(3 * hidden, None))


def test_a_wide_layer_computes_in_float32_on_narrow_weights() -> None:
    layer = randomised(WideLinear(5, 2), seeded(0)).bfloat16()
    x = normal(3, 5)
    wide = torch.nn.functional.linear(x, layer.weight.float(), layer.bias.float())
    assert layer(x).dtype == torch.float32
    torch.testing.assert_close(layer(x), wide)


def test_a_token_head_answers_for_every_token() -> None:
    assert TokenHead(6, 5)(normal(2, 4, 6), MASK).shape == (2, 4, 5)


def test_class_loss_is_the_mean_surprise() -> None:
    logits, classes = normal(3, 4), torch.tensor([0, 3, 1])
    rows = zip(logits.tolist(), classes.tolist(), strict=True)
    naive = -sum(math.log(math.exp(row[c]) / sum(map(math.exp, row))) for row, c in rows)
    assert class_loss(logits, classes).item() == pytest.approx(naive / 3, rel=1e-5)


def test_number_loss_is_the_mean_square() -> None:
    values, targets = torch.tensor([[1.0], [3.0]]), torch.tensor([2.0, 5.0])
    assert number_loss(values, targets).item() == pytest.approx((1 + 4) / 2)


def test_tag_loss_passes_over_what_is_ignored() -> None:
    logits, tags = normal(2, 3, 4), torch.tensor([[1, IGNORED, 2], [0, 3, IGNORED]])
    kept = torch.stack([logits[0, 0], logits[0, 2], logits[1, 0], logits[1, 1]])
    torch.testing.assert_close(tag_loss(logits, tags), class_loss(kept, torch.tensor([1, 2, 0, 3])))


def test_span_loss_reads_allowed_places_alone() -> None:
    logits = normal(2, 5, 2)
    allowed = torch.tensor([[1, 0, 1, 1, 0], [1, 1, 1, 1, 1]], dtype=torch.bool)
    starts, ends = torch.tensor([2, 0]), torch.tensor([3, 0])
    small = class_loss(logits[:1, [0, 2, 3], 0], torch.tensor([1]))
    small += class_loss(logits[:1, [0, 2, 3], 1], torch.tensor([2]))
    whole = class_loss(logits[1:, :, 0], starts[1:]) + class_loss(logits[1:, :, 1], ends[1:])
    expected = (small + whole) / 4
    torch.testing.assert_close(span_loss(logits, starts, ends, allowed), expected)
    other = logits.clone()
    other[0, 1] = 1e4
    torch.testing.assert_close(span_loss(other, starts, ends, allowed), expected)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("longest", [1, 2, 9])
def test_best_spans_are_those_of_a_search_through_all(seed: int, longest: int) -> None:
    logits = normal(3, 7, 2, seed=seed)
    allowed = torch.ones(3, 7, dtype=torch.bool)
    allowed[1, 1:3] = False
    firsts, lasts, scores, nothing = best_spans(logits, allowed, longest=longest)
    for row in range(3):
        best = max(
            (logits[row, i, 0] + logits[row, j, 1], i, j)
            for i in range(1, 7)
            for j in range(i, min(7, i + longest))
            if allowed[row, i] and allowed[row, j]
        )
        assert (firsts[row], lasts[row]) == best[1:]
        assert scores[row] == pytest.approx(float(best[0]))
        assert nothing[row] == pytest.approx(float(logits[row, 0].sum()))
