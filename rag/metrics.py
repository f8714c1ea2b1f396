"""How good rankings are, query by query, and how sure one can be of a mean or of a difference."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

Metric = Literal["ndcg_at_10", "recall_at_10", "recall_at_100", "mrr_at_10", "map_at_100"]
METRICS: tuple[Metric, ...] = get_args(Metric)  # the first one decides
DEPTH = 100  # documents of a ranking that any metric looks at

Judged = Mapping[str, Mapping[str, int]]  # query id to document id to grade, 0 is not relevant
Ranked = Mapping[str, Sequence[str]]  # query id to document ids, best first

_SELDOM = 0.05
_AT_ONCE = 4_000_000  # numbers drawn at once: 32 MB


class Interval(NamedTuple):
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean of paired differences, its interval, and how often chance alone would give as much."""

    mean: float
    low: float
    high: float
    p: float  # two-sided

    @property
    def certain(self) -> bool:
        """Whether the interval excludes zero, and chance alone would seldom give as much.

        Where few of the values differ, the bootstrap's interval is too narrow: four gains among
        thirty equal pairs leave zero out of it, while chance gives as much in an eighth of cases.
        """
        return (self.low > 0 or self.high < 0) and self.p < _SELDOM

    @property
    def better(self) -> bool:
        return self.certain and self.low > 0


def per_query(judged: Judged, ranked: Ranked) -> dict[Metric, NDArray[np.float64]]:
    """Every metric of every judged query, in the order of `judged`, 0 to 1.

    A query without a ranking counts 0. Gains are the grades, discounts log2, as trec_eval has it.
    """
    import ir_measures
    from ir_measures import AP, RR, R, nDCG

    measures: dict[ir_measures.Measure, Metric] = {
        nDCG @ 10: "ndcg_at_10",
        R @ 10: "recall_at_10",
        R @ 100: "recall_at_100",
        RR @ 10: "mrr_at_10",
        AP @ DEPTH: "map_at_100",
    }
    # trec_eval breaks ties of scores by name, so each place gets a score of its own.
    scores = {
        query: {name: -float(place) for place, name in enumerate(names[:DEPTH])}
        for query, names in ranked.items()
        if query in judged
    }
    place = {query: row for row, query in enumerate(judged)}
    values = {name: np.zeros(len(judged)) for name in METRICS}
    plain = {query: dict(grades) for query, grades in judged.items()}
    for found in ir_measures.iter_calc(list(measures), plain, scores):
        values[measures[found.measure]][place[found.query_id]] = found.value
    return values


def bootstrap_interval(
    values: Sequence[float] | NDArray[np.floating],
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    rounds: int = 10_000,
) -> Interval:
    """The percentile interval of a mean (Efron 1979; Sakai 2006 for rankings).

    Raises:
        ValueError: no values, or one that is not finite.
    """
    sample = _sample(values)
    means = np.concatenate(
        [
            sample[rng.integers(len(sample), size=(rows, len(sample)))].mean(axis=1)
            for rows in _blocks(rounds, len(sample))
        ]
    )
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


def paired(
    before: Sequence[float] | NDArray[np.floating],
    after: Sequence[float] | NDArray[np.floating],
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    rounds: int = 10_000,
) -> Difference:
    """How much better `after` is on the same queries, in the same order.

    The interval is the bootstrap's over the differences; p is that of the test which swaps before
    and after of each query at random (Smucker et al. 2007).

    Raises:
        ValueError: lengths that differ, no values, or one that is not finite.
    """
    if len(before) != len(after):
        raise ValueError(
            f"before has {len(before)} values, after {len(after)}: pairs are of the same queries"
        )
    differences = _sample(np.asarray(after, np.float64) - np.asarray(before, np.float64))
    low, high = bootstrap_interval(differences, rng=rng, level=level, rounds=rounds)
    return Difference(float(differences.mean()), low, high, _swapped(differences, rng, rounds))


def _swapped(differences: NDArray[np.float64], rng: np.random.Generator, rounds: int) -> float:
    moved = differences[differences != 0]  # a swap of equals changes nothing
    if not len(moved):
        return 1.0
    reached = 1  # what was seen is one of the ways that it could have come out
    least = abs(moved.sum()) - 1e-9
    for rows in _blocks(rounds, len(moved)):
        signs = 2.0 * rng.integers(2, size=(rows, len(moved))) - 1
        reached += int((np.abs(signs @ moved) >= least).sum())
    return reached / (rounds + 1)


def _sample(values: Sequence[float] | NDArray[np.floating]) -> NDArray[np.float64]:
    sample = np.asarray(values, np.float64)
    if not len(sample):
        raise ValueError("there are no values: measure at least one query")
    if not np.isfinite(sample).all():
        raise ValueError(f"{(~np.isfinite(sample)).sum()} of {len(sample)} values are not finite")
    return sample


def _blocks(rounds: int, n: int) -> list[int]:
    most = max(1, _AT_ONCE // n)
    return [min(most, rounds - start) for start in range(0, rounds, most)]
