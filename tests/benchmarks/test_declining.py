"""What the benchmark of declining counts, and what it fits."""

from random import Random

import pytest

from benchmarks.declining import fit, measure, risk_plot, risks
from benchmarks.unanswerable import Asked, Manner
from rag.features import Features


def _asked(manner: Manner, similarity: float, noise: float = 0.0, by_rule: bool = True) -> Asked:
    known = Features(
        near=similarity,
        nearest=similarity,
        lead=0.1,
        sentence=similarity,
        words=0.5 + noise,
        sentence_words=0.5,
        missing=0.5,
        unknown=0.0,
        numbers=0.0,
        names=0.0,
        amount=0.0,
        bm25=0.5,
    )
    return Asked("made", "en", manner, known, by_rule)


@pytest.fixture
def parted() -> list[Asked]:
    """Questions that the library holds are near to it, others are not."""
    rng = Random(0)
    held = [_asked("held", 0.6 + rng.random() / 5, rng.random() / 9) for _ in range(40)]
    rest = [
        _asked("left_out", 0.3 + rng.random() / 5, rng.random() / 9, by_rule=False)
        for _ in range(40)
    ]
    return [*held, *rest]


def test_the_fit_parts_what_can_be_parted(parted: list[Asked]) -> None:
    weights = fit(parted)
    assert weights.of["near"] > 0
    assert "names" not in weights.of  # always the same, so that it tells nothing
    odds = [weights.log_odds(each.features) for each in parted]
    assert min(odds[:40]) > max(odds[40:])
    assert sum(each < 0 for each in odds[:40]) <= 2
    assert all(each < 0 for each in odds[40:])


def test_a_figure_that_points_the_wrong_way_has_no_weight(parted: list[Asked]) -> None:
    turned = [_asked("left_out" if each.answerable else "held", 0.5, 0.1) for each in parted]
    misled = [*parted[:40], *parted[40:], *turned]
    assert all(weight > 0 for weight in fit(misled).of.values())


def test_the_table_counts_each_side(parted: list[Asked]) -> None:
    (row,) = measure(parted, {"made": 100.0}).rows
    assert (row["name"], row["answerable"], row["unanswerable"]) == ("made en left_out", 40, 40)
    assert row["auroc"] == 1.0
    assert row["declined_at_10_pct_false"] == 100
    assert (row["rule_declined_pct"], row["rule_false_pct"]) == (100, 0)
    assert (row["calibrated_declined_pct"], row["calibrated_false_pct"]) == (100, 100)


def test_risk_grows_with_coverage(parted: list[Asked]) -> None:
    points = risks(parted)
    assert points[-1] == (100.0, 50.0)
    assert all(risk == 0 for coverage, risk in points if coverage <= 50)
    assert risk_plot(parted).startswith("<svg")
