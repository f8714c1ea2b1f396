"""Logit filters against naive loops, and draws against the probabilities that they should have."""

import math
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from generator.sampling import Sampling, draw, penalize, sample, top_k, top_p
from tests.builders import normal
from transformer.runtime import seeded

_NONE = torch.tensor([], dtype=torch.long)


def _naive_top_p(row: Sequence[float], p: float) -> set[int]:
    """The likeliest tokens, taken one by one until they make up p."""
    total = math.fsum(math.exp(x) for x in row)
    kept, reached = set(), 0.0
    for i in sorted(range(len(row)), key=lambda i: -row[i]):
        if reached >= p:
            break
        kept.add(i)
        reached += math.exp(row[i]) / total
    return kept


def _kept(row: Tensor) -> set[int]:
    return {i for i, x in enumerate(row.tolist()) if x > -math.inf}


@pytest.mark.parametrize("k", [1, 3, 50])
def test_top_k_keeps_the_largest_as_they_are(k: int) -> None:
    logits = normal(2, 40)
    filtered = top_k(logits, k)
    for row, before in zip(filtered, logits, strict=True):
        assert _kept(row) == set(sorted(range(40), key=lambda i: -float(before[i]))[:k])
        assert_close(row[row > -math.inf], before[row > -math.inf])
    assert_close(top_k(logits[0], k), filtered[0])


@pytest.mark.parametrize("p", [0.001, 0.3, 0.9, 0.9999])
@pytest.mark.parametrize("v", [40, 3000])  # less and more than what is ordered at first
def test_top_p_keeps_the_likeliest_that_reach_p(p: float, v: int) -> None:
    logits = torch.stack([normal(v, seed=1), 0.1 * normal(v, seed=2)]).double()
    filtered = top_p(logits, p)
    for row, before in zip(filtered, logits, strict=True):
        assert _kept(row) == _naive_top_p(before.tolist(), p)
        assert_close(row[row > -math.inf], before[row > -math.inf])
    assert_close(top_p(logits[0], p), filtered[0])


def test_top_p_after_top_k_leaves_what_was_ruled_out() -> None:
    logits = top_k(normal(40), 5)
    assert len(_kept(top_p(logits, 0.99999))) <= 5


def test_penalties_pull_towards_unlikely_and_count_once() -> None:
    logits = torch.tensor([[2.0, -2.0, 1.0, 0.5], [4.0, 3.0, 2.0, 1.0]])
    seen = torch.tensor([[0, 1, 0], [3, 3, 3]])
    expected = torch.tensor([[1.0, -4.0, 1.0, 0.5], [4.0, 3.0, 2.0, 0.5]])
    assert_close(penalize(logits, seen, 2.0), expected)
    assert_close(penalize(logits[0], seen[0], 2.0), expected[0])
    assert_close(penalize(logits[0], _NONE, 2.0), logits[0])


@given(st.lists(st.floats(-30, 30, width=32), min_size=1, max_size=30))
@settings(deadline=None)
def test_greedy_is_the_largest_whatever_the_filters(row: list[float]) -> None:
    logits, sampling = torch.tensor(row), Sampling(top_k=3, top_p=0.5)
    chosen = int(sample(logits, _NONE, sampling, seeded(0)))
    assert row[chosen] == max(row)
    again = Sampling(temperature=1e-4, top_p=1e-9)
    assert row[int(sample(logits, _NONE, again, seeded(1)))] == pytest.approx(max(row), abs=1e-2)


def test_greedy_takes_no_chance() -> None:
    rng = seeded(3)
    before = rng.get_state()
    sample(normal(40), _NONE, Sampling(), rng)
    assert torch.equal(rng.get_state(), before)


def _chi_square(counts: Counter[int], probabilities: Tensor, n: int) -> float:
    expected: list[float] = (probabilities * n).tolist()
    return math.fsum((counts[i] - e) ** 2 / e for i, e in enumerate(expected) if e)


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(temperature=1.0),
        Sampling(temperature=0.5),
        Sampling(temperature=2.0, top_k=4),
        Sampling(temperature=1.0, top_p=0.8),
    ],
)
def test_draws_come_as_often_as_they_should(sampling: Sampling) -> None:
    logits, n = normal(12, seed=5), 4000
    scaled = logits / sampling.temperature
    if sampling.top_k:
        scaled = top_k(scaled, sampling.top_k)
    if sampling.top_p < 1:
        scaled = top_p(scaled, sampling.top_p)
    drawn = sample(logits.expand(n, -1), _NONE.expand(n, 0), sampling, seeded(7))
    counts = Counter(drawn.tolist())
    assert set(counts) <= _kept(scaled)
    # 11 degrees of freedom at most: passed by chance 999 times in 1000.
    assert _chi_square(counts, scaled.softmax(-1), n) < 31.3


def test_draws_never_hit_what_was_ruled_out() -> None:
    logits = torch.full((2000, 50), -math.inf)
    logits[:, 17] = 3.0
    logits[:, 31] = 2.0
    assert set(draw(logits, seeded(0)).tolist()) == {17, 31}


def test_equal_seeds_draw_equal_tokens() -> None:
    sampling = Sampling(temperature=1.0, top_p=0.95)
    logits = normal(40)

    def drawn(seed: int) -> list[int]:
        rng = seeded(seed)
        return [int(sample(logits, _NONE, sampling, rng)) for _ in range(30)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_a_batch_is_its_rows() -> None:
    sampling = Sampling(repetition_penalty=1.5)
    rows, seen = (
        normal(5, 40),
        torch.tensor([random.Random(i).choices(range(40), k=6) for i in range(5)]),
    )
    batch = sample(rows, seen, sampling, seeded(0))
    single = [sample(row, ids, sampling, seeded(0)) for row, ids in zip(rows, seen, strict=True)]
    assert batch.tolist() == [int(token) for token in single]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_tokens": 0}, r"max_tokens \(0\) must be at least 1"),
        ({"temperature": -1.0}, r"temperature \(-1.0\) must not be negative"),
        ({"temperature": math.nan}, r"temperature \(nan\) must not be negative"),
        ({"top_k": -1}, r"top_k \(-1\) must not be negative"),
        ({"top_p": 0.0}, r"top_p \(0.0\) must lie in \(0, 1\]"),
        ({"top_p": 1.5}, r"top_p \(1.5\) must lie in \(0, 1\]"),
        ({"repetition_penalty": 0.0}, r"repetition_penalty \(0.0\) must be positive"),
        ({"stop": ("a", "")}, "a stop text must not be empty"),
    ],
)
def test_settings_that_mean_nothing_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Sampling(**changes)
