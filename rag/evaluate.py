"""How well a library finds: judged questions by words, by meaning, by both, and as it has learned.

A folder in BEIR's layout becomes a library of its own for the time, on the settings' encoder; a
user's own questions are put to the library that is there.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from rag.comparing import DIGITS, Comparison, Figures, Outcome, Relevance, compare
from rag.errors import UsageError
from rag.evaluation_file import read_figures
from rag.exams import Exam, Judged, exam
from rag.metrics import METRICS, Interval, Metric, bootstrap_interval, per_query
from rag.trial import Found, Side, Trial, asked, listed, too_long

if TYPE_CHECKING:
    from encoder import Embedder
    from rag.assistant import Assistant

Watch = Callable[[str, int, int], None]  # what is done, how much of it, of how much

_SEED = 0


@dataclass(frozen=True, slots=True)
class Measured:
    """One encoder, examined."""

    encoder: str
    fingerprint: str
    documents: int
    chunks: int
    weight: float  # of the dense side in the fused score
    figures: tuple[Figures, ...]
    notes: tuple[str, ...]
    timings_ms: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What was measured, of what, and against what."""

    data: str
    kind: Literal["corpus", "questions"]
    collection: str | None  # None where a library was made for it
    queries: int
    measured: Measured
    intervals: Mapping[tuple[Side, Relevance], Mapping[Metric, Interval]]
    expected: Mapping[str, str]  # by query id: what should have been found
    comparisons: tuple[Comparison, ...]
    notes: tuple[str, ...]


def unwatched(_what: str, _done: int, _total: int) -> None:
    """Nobody looks."""


def evaluate(
    assistant: "Assistant",
    path: Path,
    *,
    against: str | None = None,
    cache: Path | None = None,
    watch: Watch = unwatched,
) -> Evaluation:
    """Measure retrieval, and compare it.

    Args:
        assistant: whose collection is asked, and whose models
        path: a folder in BEIR's layout, a questions.jsonl, or a folder that holds one
        against: an encoder by name or folder, or the JSON of an earlier run with each query
        cache: a folder that keeps vectors between runs
        watch: told how far it is

    Raises:
        UsageError: something about the data, or about what it is compared with, cannot be.
        NotFound, ModelMissing: no such model, or not on this machine.
    """
    given = exam(assistant, path, cache=cache, watch=partial(watch, "encoding"))
    embedder = given.embedder()
    before = _before(assistant, given, against, embedder, watch)
    measured = _measured(given, given.encoder, embedder, watch, learned=True)
    rng = np.random.default_rng(_SEED)
    comparisons = _learned(measured.figures, rng)
    if against is not None:
        comparisons.append(compare(before, measured.figures, against=against, rng=rng))
    return Evaluation(
        data=str(given.data),
        kind=given.kind,
        collection=assistant.settings.collection if given.kind == "questions" else None,
        queries=len(given.queries),
        measured=measured,
        intervals={
            (figures.side, figures.relevance): _intervals(figures) for figures in measured.figures
        },
        expected=given.expected,
        comparisons=tuple(comparisons),
        notes=(*given.notes, *measured.notes),
    )


def _before(
    assistant: "Assistant",
    given: Exam,
    against: str | None,
    embedder: "Embedder",
    watch: Watch,
) -> tuple[Figures, ...]:
    """What the measurement is compared with."""
    if against is None:
        return ()
    if against.endswith(".json"):
        return read_figures(Path(against))
    other = assistant.models.embedder(against)
    if other.fingerprint == embedder.fingerprint:
        raise UsageError(
            f"{against} is the encoder that is measured ({given.encoder}): compare with another"
        )
    return _measured(given, against, other, watch, learned=False).figures


def _measured(
    given: Exam, encoder: str, embedder: "Embedder", watch: Watch, *, learned: bool
) -> Measured:
    """Examine one encoder, and if asked for what the library has learned on it."""
    began = time.perf_counter()
    with given.trial(encoder, embedder) as trial:
        trial.collection.catch_up()
        made = time.perf_counter()
        judged = given.judged(trial)
        found = asked(trial, given.queries, watch=partial(watch, "asking"))
        search = given.adapted(trial) if learned else None
        if search is not None:
            found["adapted"] = {key: listed(search(query)) for key, query in given.queries.items()}
        counts = trial.catalog.counts(trial.collection.name)
        notes = _notes(given, trial, judged)
    return Measured(
        encoder,
        embedder.fingerprint,
        counts.documents["indexed"],
        counts.chunks,
        trial.weight,
        tuple(
            _figures(side, relevance, grades, given.queries, places)
            for relevance, grades in judged.items()
            for side, places in found.items()
        ),
        notes,
        {"library": _ms(began, made), "search": _ms(made, time.perf_counter())},
    )


def _figures(
    side: Side,
    relevance: Relevance,
    judged: Judged,
    queries: Mapping[str, str],
    found: Mapping[str, Found],
) -> Figures:
    ranked = {
        key: found[key].documents if relevance == "document" else found[key].passages
        for key in judged
    }
    values = per_query(judged, ranked)
    return Figures(
        side,
        relevance,
        {
            key: Outcome(
                queries[key],
                _first(ranked[key], judged[key]),
                {metric: round(float(values[metric][row]), DIGITS) for metric in METRICS},
            )
            for row, key in enumerate(judged)
        },
    )


def _first(ranked: Sequence[str], grades: Mapping[str, int]) -> int | None:
    relevant = (place for place, name in enumerate(ranked, 1) if grades.get(name, 0) > 0)
    return next(relevant, None)


def _notes(given: Exam, trial: Trial, judged: Mapping[Relevance, Judged]) -> tuple[str, ...]:
    notes = []
    if long := too_long(trial.embedder, given.queries):
        notes.append(
            f"{len(long)} questions are longer than the encoder's {trial.embedder.max_tokens} "
            "tokens: asked by their words alone, and found by meaning counts 0"
        )
    if unspoken := [query for query in given.queries.values() if not trial.speaks(query)]:
        notes.append(
            f"{len(unspoken)} questions are in a language that {trial.encoder} does not speak: "
            "fused looks for their words alone"
        )
    for relevance, grades in judged.items():
        if left := len(given.queries) - len(grades):
            notes.append(f"{left} of {len(given.queries)} questions are not judged by {relevance}")
    if pending := trial.collection.pending():
        notes.append(f"{pending} passages wait for their vectors: found by their words only")
    return tuple(notes)


def _intervals(figures: Figures) -> dict[Metric, Interval]:
    """The same ones for the same values, whatever else is measured beside them."""
    rng = np.random.default_rng(_SEED)
    return {metric: bootstrap_interval(figures.values(metric), rng=rng) for metric in METRICS}


def _learned(figures: Sequence[Figures], rng: np.random.Generator) -> list[Comparison]:
    """What a library gained by learning, if it did learn."""
    after = [each for each in figures if each.side == "adapted"]
    before = [each for each in figures if each.side == "fused"]
    against = "itself without what it learned"
    return [compare(before, after, against=against, rng=rng)] if after else []


def _ms(start: float, end: float) -> float:
    return round(1000 * (end - start), 1)
