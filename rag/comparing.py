"""Two measurements of the same questions: how sure the difference is, and where it lies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rag.errors import UsageError
from rag.metrics import METRICS, Difference, Metric, paired
from rag.trial import Side

Relevance = Literal["document", "passage"]

DIGITS = 6  # of an outcome's values, so that one that was written and read is still the same
_CHANGED = 5  # questions shown that gained most, and as many that lost most


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one question on one side."""

    query: str
    rank: int | None  # of the first that is relevant; None where it is not found
    values: Mapping[Metric, float]  # 0 to 1


@dataclass(frozen=True, slots=True)
class Figures:
    """One side, judged by documents or by passages."""

    side: Side
    relevance: Relevance
    outcomes: Mapping[str, Outcome]  # by query id

    def values(self, metric: Metric, queries: Sequence[str] | None = None) -> list[float]:
        """Of these queries, in order; of all if None."""
        keys = self.outcomes if queries is None else queries
        return [self.outcomes[key].values[metric] for key in keys]


@dataclass(frozen=True, slots=True)
class Changed:
    """A question that one of two did better on."""

    query_id: str
    before: Outcome
    after: Outcome


@dataclass(frozen=True, slots=True)
class Compared:
    """One side of two measurements."""

    side: Side
    before: Side  # differs only where the first had not learned anything yet
    relevance: Relevance
    queries: int
    means: Mapping[Metric, tuple[float, float]]  # before, after
    differences: Mapping[Metric, Difference]
    better: tuple[Changed, ...]  # most first, by the first metric
    worse: tuple[Changed, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The measurement at hand against another: above zero it is the better one."""

    against: str
    sides: tuple[Compared, ...]
    notes: tuple[str, ...] = ()


def compare(
    before: Sequence[Figures],
    after: Sequence[Figures],
    *,
    against: str,
    rng: np.random.Generator,
) -> Comparison:
    """Every side that both have, over the questions that both have.

    Raises:
        UsageError: they have no question in common.
    """
    pairs = [(first, second) for second in after if (first := _partner(before, second))]
    shared = [(first, second, _shared(first, second)) for first, second in pairs]
    if not any(keys for _, _, keys in shared):
        raise UsageError(
            f"{against} has no question in common with this measurement: compare runs over the "
            "same questions"
        )
    asked = {key for figures in (*before, *after) for key in figures.outcomes}
    left = len(asked - {key for _, _, keys in shared for key in keys})
    note = f"{left} questions are not the same in both: left out of the comparison"
    sides = [_compared(*three, rng) for three in shared if three[2]]
    return Comparison(against, tuple(sides), (note,) if left else ())


def _partner(before: Sequence[Figures], after: Figures) -> Figures | None:
    """The same side; before a library has learned, its fused one."""
    for side in (after.side, "fused") if after.side == "adapted" else (after.side,):
        for figures in before:
            if (figures.side, figures.relevance) == (side, after.relevance):
                return figures
    return None


def _shared(before: Figures, after: Figures) -> list[str]:
    return [
        key
        for key, outcome in after.outcomes.items()
        if key in before.outcomes and before.outcomes[key].query == outcome.query
    ]


def _compared(
    before: Figures, after: Figures, keys: Sequence[str], rng: np.random.Generator
) -> Compared:
    means, differences = {}, {}
    for metric in METRICS:
        first, second = before.values(metric, keys), after.values(metric, keys)
        means[metric] = float(np.mean(first)), float(np.mean(second))
        differences[metric] = paired(first, second, rng=rng)
    better, worse = _most_changed(before, after, keys)
    return Compared(
        after.side, before.side, after.relevance, len(keys), means, differences, better, worse
    )


def _most_changed(
    before: Figures, after: Figures, keys: Sequence[str]
) -> tuple[tuple[Changed, ...], tuple[Changed, ...]]:
    first, second = before.values(METRICS[0], keys), after.values(METRICS[0], keys)
    gains = {key: new - old for key, old, new in zip(keys, first, second, strict=True)}
    order = sorted(gains, key=lambda key: -gains[key])
    changed = [Changed(key, before.outcomes[key], after.outcomes[key]) for key in order]
    better = tuple(one for one in changed if gains[one.query_id] > 0)
    worse = tuple(one for one in reversed(changed) if gains[one.query_id] < 0)
    return better[:_CHANGED], worse[:_CHANGED]
