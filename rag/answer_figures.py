"""What the marks of many answers come to: means with intervals, and two runs side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag.answer_marks import MARKS, Mark, Outcome
from rag.errors import UsageError
from rag.metrics import Difference, bootstrap_interval, paired

ALL = "all"  # the group of every language

_SEED = 0
_CHANGED = 5  # questions shown that gained most, and as many that lost most
_ROUNDS = 1_000  # of the bootstrap of an area, each of which sorts anew


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean over the questions that it applies to, with its 95 % interval."""

    n: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Group:
    """The questions of one language, or all of them."""

    language: str
    questions: int
    answerable: int
    unanswerable: int
    failed: int
    citations: int
    misquotes: int
    figures: Mapping[Mark, Figure]  # those that apply to any question
    auroc: Figure | None  # of the confidence: answerable above unanswerable; n has both


@dataclass(frozen=True, slots=True)
class Changed:
    """A question that one of two runs did better on."""

    before: Outcome
    after: Outcome


@dataclass(frozen=True, slots=True)
class Compared:
    """One language in two runs."""

    language: str
    means: Mapping[Mark, tuple[int, float, float]]  # questions, before, after
    differences: Mapping[Mark, Difference]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The run at hand minus another."""

    against: str
    groups: tuple[Compared, ...]
    better: tuple[Changed, ...]  # most first, by the first mark and then by F1
    worse: tuple[Changed, ...]
    notes: tuple[str, ...] = ()


def grouped(outcomes: Sequence[Outcome]) -> tuple[Group, ...]:
    """Each language by itself, and all of them where there are several."""
    return tuple(_group(name, those) for name, those in _by_language(outcomes))


def compare(before: Sequence[Outcome], after: Sequence[Outcome], *, against: str) -> Comparison:
    """Every mark that a question has in both runs, question by question.

    Raises:
        UsageError: no question was answered in both.
    """
    earlier = {one.question.id: one for one in before if one.error is None}
    pairs = [
        Changed(first, second)
        for second in after
        if second.error is None
        and (first := earlier.get(second.question.id)) is not None
        and first.question.question == second.question.question
    ]
    if not pairs:
        raise UsageError(
            f"{against} has no answered question in common with this run: compare runs over the "
            "same questions"
        )
    left = len(after) - len(pairs)
    note = f"{left} of {len(after)} questions were not answered in both: left out of the comparison"
    rng = np.random.default_rng(_SEED)
    spoken = _by_language([pair.after for pair in pairs])
    groups = [
        _compared(
            name, [pair for pair in pairs if name in (ALL, pair.after.question.language)], rng
        )
        for name, _ in spoken
    ]
    better, worse = _most_changed(pairs)
    return Comparison(against, tuple(groups), better, worse, (note,) if left else ())


def _by_language(outcomes: Sequence[Outcome]) -> list[tuple[str, list[Outcome]]]:
    names = sorted({one.question.language for one in outcomes})
    groups = [(name, [one for one in outcomes if one.question.language == name]) for name in names]
    return [*groups, (ALL, list(outcomes))] if len(names) > 1 else groups


def _group(language: str, outcomes: Sequence[Outcome]) -> Group:
    rng = np.random.default_rng(_SEED)  # the same intervals for the same values
    citations = [cited for one in outcomes for cited in one.citations]
    figures = {}
    for mark in MARKS:
        if values := [one.values[mark] for one in outcomes if mark in one.values]:
            interval = bootstrap_interval(values, rng=rng)
            figures[mark] = Figure(len(values), float(np.mean(values)), *interval)
    return Group(
        language,
        len(outcomes),
        sum(one.question.answerable is True for one in outcomes),
        sum(one.question.answerable is False for one in outcomes),
        sum(one.error is not None for one in outcomes),
        len(citations),
        sum(cited.misquoted for cited in citations),
        figures,
        _auroc(outcomes, rng),
    )


def _auroc(outcomes: Sequence[Outcome], rng: np.random.Generator) -> Figure | None:
    """How often an answerable question has more confidence than one that is not."""
    known = [
        (one.question.answerable, one.confidence)
        for one in outcomes
        if one.question.answerable is not None and one.confidence is not None
    ]
    held, scores = np.array([a for a, _ in known], bool), np.array([c for _, c in known])
    if held.all() or not held.any():
        return None
    from sklearn.metrics import roc_auc_score

    areas = [
        float(roc_auc_score(held[rows], scores[rows]))
        for rows in rng.integers(len(held), size=(_ROUNDS, len(held)))
        if held[rows].any() and not held[rows].all()
    ]
    low, high = np.quantile(areas, [0.025, 0.975])
    return Figure(len(held), float(roc_auc_score(held, scores)), float(low), float(high))


def _compared(language: str, pairs: Sequence[Changed], rng: np.random.Generator) -> Compared:
    means, differences = {}, {}
    for mark in MARKS:
        before, after = _values(pairs, mark)
        if len(before):
            means[mark] = len(before), float(before.mean()), float(after.mean())
            differences[mark] = paired(before, after, rng=rng)
    return Compared(language, means, differences)


def _values(
    pairs: Sequence[Changed], mark: Mark
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    both = [
        (pair.before.values[mark], pair.after.values[mark])
        for pair in pairs
        if mark in pair.before.values and mark in pair.after.values
    ]
    rows = np.array(both, np.float64).reshape(-1, 2)
    return rows[:, 0], rows[:, 1]


def _most_changed(
    pairs: Sequence[Changed],
) -> tuple[tuple[Changed, ...], tuple[Changed, ...]]:
    order = sorted(pairs, key=_gain, reverse=True)
    better = [pair for pair in order if _gain(pair) > (0, 0)]
    worse = [pair for pair in reversed(order) if _gain(pair) < (0, 0)]
    return tuple(better[:_CHANGED]), tuple(worse[:_CHANGED])


def _gain(pair: Changed) -> tuple[float, float]:
    before, after = pair.before.values, pair.after.values
    return (
        after.get("right", 0) - before.get("right", 0),
        after.get("f1", 0) - before.get("f1", 0),
    )
