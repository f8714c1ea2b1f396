"""Metrics against values by hand, statistics against scipy and against what they promise."""

import math

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from rag.metrics import METRICS, bootstrap_interval, paired, per_query


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_metrics_are_those_of_the_definitions() -> None:
    judged = {"a": {"x": 2, "y": 1, "z": 0}, "b": {"x": 1}, "c": {"x": 1}, "d": {"x": 1}}
    far = [f"n{i}" for i in range(10)]
    ranked = {"a": ["y", "z", "x"], "b": [*far, "x"], "c": [], "stranger": ["x"]}
    found = per_query(judged, ranked)
    assert tuple(found) == METRICS
    ideal = 2 + 1 / math.log2(3)
    assert found["ndcg_at_10"] == pytest.approx([(1 + 2 / math.log2(4)) / ideal, 0, 0, 0])
    assert found["recall_at_10"] == pytest.approx([1, 0, 0, 0])
    assert found["recall_at_100"] == pytest.approx([1, 1, 0, 0])
    assert found["mrr_at_10"] == pytest.approx([1, 0, 0, 0])
    assert found["map_at_100"] == pytest.approx([(1 + 2 / 3) / 2, 1 / 11, 0, 0])


def test_a_ranking_counts_in_its_own_order() -> None:
    # trec_eval by itself would put equal scores in order of name, the last first.
    for order in (["a", "b"], ["b", "a"]):
        found = per_query({"q": {"a": 1}}, {"q": order})
        assert found["mrr_at_10"][0] == 1 / (1 + order.index("a"))


def test_nothing_after_the_hundredth_counts() -> None:
    places = [f"n{i}" for i in range(100)]
    found = per_query({"q": {"x": 1}}, {"q": [*places, "x"]})
    assert [float(values[0]) for values in found.values()] == [0.0] * 5


def test_the_interval_is_that_of_scipy() -> None:
    values = rng(3).random(80) ** 3
    ours = bootstrap_interval(values, rng=rng(1))
    theirs = stats.bootstrap((values,), np.mean, method="percentile", rng=rng(2))
    # Both draw; the ends move by about a hundredth of the width.
    width = ours.high - ours.low
    assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=0.05 * width)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=0.05 * width)
    wider = bootstrap_interval(values, rng=rng(1), level=0.99)
    assert wider.low < ours.low < ours.high < wider.high


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    draws = rng(5)
    held = 0
    for _ in range(300):
        low, high = bootstrap_interval(draws.beta(0.5, 0.5, 60), rng=draws, rounds=500)
        held += low <= 0.5 <= high
    assert 0.90 <= held / 300 <= 0.98


def test_the_same_seed_gives_the_same_interval() -> None:
    values = rng(1).random(30)
    assert bootstrap_interval(values, rng=rng(7)) == bootstrap_interval(values, rng=rng(7))
    assert bootstrap_interval([0.25], rng=rng()) == (0.25, 0.25)


def test_large_samples_are_drawn_in_parts() -> None:
    values = rng(1).random(300_000)
    low, high = bootstrap_interval(values, rng=rng(2), rounds=40)
    assert low < values.mean() < high
    assert high - low < 0.01


def test_a_difference_is_found_where_there_is_one() -> None:
    before = rng(1).random(200)
    found = paired(before, before + 0.02 + 0.05 * rng(2).standard_normal(200), rng=rng(3))
    assert found.mean == pytest.approx(0.02, abs=0.01)
    assert 0 < found.low < found.mean < found.high
    assert found.p < 0.001
    assert found.certain
    worse = paired(before, before - 0.02, rng=rng(3))
    assert worse.high < 0
    assert worse.certain


def test_p_is_that_of_scipys_permutation_test() -> None:
    before, after = rng(4).random((2, 12))
    after = after + 0.15
    exact = stats.permutation_test(
        (after - before,), np.mean, permutation_type="samples", n_resamples=np.inf
    )
    assert paired(before, after, rng=rng(5)).p == pytest.approx(exact.pvalue, abs=0.015)


def test_chance_alone_is_called_certain_seldom() -> None:
    draws = rng(6)
    found = [paired(*draws.random((2, 40)), rng=draws, rounds=400).p < 0.05 for _ in range(300)]
    assert 0.02 <= np.mean(found) <= 0.09


def test_no_change_is_no_difference() -> None:
    values = rng(1).random(10)
    found = paired(values, values, rng=rng(2))
    assert (found.mean, found.low, found.high, found.p) == (0, 0, 0, 1)
    assert not found.certain


def test_what_cannot_be_measured_is_said() -> None:
    with pytest.raises(ValueError, match="before has 2 values, after 3"):
        paired([0, 1], [0, 1, 1], rng=rng())
    with pytest.raises(ValueError, match="there are no values"):
        bootstrap_interval([], rng=rng())
    with pytest.raises(ValueError, match="1 of 2 values are not finite"):
        bootstrap_interval([0.0, math.nan], rng=rng())
