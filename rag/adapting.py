"""A library that learns from use: it practises on its questions, and keeps what proved better.

Until the verdict nothing changes; what is accepted is in use from one transaction on, and so is
taken back. Whatever goes wrong before leaves the library as it was.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rag.adaptation_report import record
from rag.adapting_run import Practice, Watch, Wish
from rag.errors import AttestError, UsageError
from rag.loaded import taught_from
from rag.outcome import Adaptation
from rag.practice import Found, Question, lesson
from rag.two_sided import adapt_both

if TYPE_CHECKING:
    from encoder import Embedder
    from encoder.adapt import TunedQueries
    from index.records import StoredCollection
    from rag.library import Library


def adapt(
    library: "Library", wish: Wish, collection: str | None = None, *, watch: Watch
) -> Adaptation:
    """Practise, judge, and put to use what is better with confidence.

    Raises:
        UnknownCollection: there is nothing to learn from.
        UsageError: the library is too small, too few questions are known, or another process
            adapts it.
        ModelMissing: the encoder that made the vectors is not here.
        AttestError: training failed, or the library was changed meanwhile; it answers as before.
    """
    name = collection or library.settings.collection
    with _only_learner(library, name), undisturbed(name):
        practice = Practice(library, name, wish, watch)
        return adapt_both(practice) if wish.two_sided else _adapt_queries(practice)


@contextmanager
def undisturbed(name: str) -> Iterator[None]:
    """What training raises, as the product says it: nothing has changed by then."""
    from transformer.errors import ModelError

    try:
        yield
    except ModelError as error:
        raise AttestError(f"adapting failed, {name!r} answers as before: {error}") from error


def rollback(library: "Library", collection: str | None = None) -> str | None:
    """Take back what the questions learned, at once, and the weights that were set with it.

    Returns:
        the fingerprint of what was in use; None where nothing was

    Raises:
        UsageError: the passages learned too, so they have to be encoded anew.
    """
    name = collection or library.settings.collection
    stored, active = library.catalog.collection(name), library.catalog.active_adapter(name)
    if active is None and (base := taught_from(stored.model.name)) is not None:
        raise UsageError(
            f"the passages of {name!r} have learned too, their vectors are of "
            f"{stored.model.name}: go back with `attest reembed {base}`"
        )
    library.catalog.use_adapter(name, None)
    if active is None:
        return None
    _turn_back(library, stored, active.report)
    return active.fingerprint


def learn(practice: Practice, questions: Sequence[Question]) -> tuple["TunedQueries", "Embedder"]:
    """Teach the questions' side by what these questions find, as the shelf's encoder has it."""
    from encoder.adapt import QueryTuning, taught, tune_queries

    shelf, wish = practice.shelf, practice.wish
    found = shelf.find([each.text for each in questions], shelf.embedder)
    practice.done("search")
    config = QueryTuning(minutes=wish.minutes / 2, seed=wish.seed)
    with tempfile.TemporaryDirectory(prefix="attest-") as folder:
        tuned = tune_queries(
            np.stack([each.vector for each in found]),
            *lesson(shelf, questions, found),
            config,
            Path(folder),
            base=shelf.embedder.fingerprint,
            watch=lambda moment: practice.watch(
                f"learning, loss {moment.loss:.3f}", 0.2 + 0.4 * moment.progress
            ),
        )
    practice.done("learn")
    return tuned, taught(shelf.embedder, tuned.data)


def _adapt_queries(practice: Practice) -> Adaptation:
    gathered = practice.gathered()
    tuned, new = learn(practice, gathered.learned)

    def again(before: Sequence[Found], texts: Sequence[str]) -> list[Found]:
        return practice.shelf.again(before, new.embed_queries(texts))

    practice.watch("judging", 0.6)
    made, held = practice.judge("query", tuned.fingerprint, gathered, new, again)
    # The knobs are judged with the questions' encoder that is going to be used.
    weight, vote, notes = practice.knobs(
        held if made.accepted else [each.undone() for each in held]
    )
    practice.done("judge")
    made = replace(made, weight=weight, vote=vote, notes=notes)
    practice.require_unchanged()
    if made.accepted:
        _use(practice, tuned, made)
    practice.turn(weight, vote)
    return made


def _use(practice: Practice, tuned: "TunedQueries", made: Adaptation) -> None:
    from encoder.adapt import KIND

    catalog = practice.library.catalog
    key = catalog.add_adapter(
        practice.name,
        fingerprint=tuned.fingerprint,
        base=practice.shelf.embedder.fingerprint,
        kind=KIND,
        data=tuned.data,
        report=record(made),
    )
    catalog.use_adapter(practice.name, key)


def _turn_back(library: "Library", stored: "StoredCollection", report: Mapping[str, Any]) -> None:
    """Weights that are still as the report says they were set; others were set by somebody."""
    catalog = library.catalog
    for key, now, turn in (
        ("fusion_weight", stored.fusion_weight, catalog.set_fusion_weight),
        ("rerank_weight", stored.rerank_weight, catalog.set_rerank_weight),
    ):
        knob = report.get(key)
        if not isinstance(knob, dict) or knob.get("after") != now:
            continue
        before = knob.get("before")
        if isinstance(before, int | float) and 0 <= before <= 1:  # an archive may hold anything
            turn(stored.name, float(before))


@contextmanager
def _only_learner(library: "Library", name: str) -> Iterator[None]:
    """Of two at once, the second would be judged beside what the first is about to replace."""
    key = library.catalog.collection(name).id
    with library.catalog.database.held(f"adapt-{key}") as alone:
        if alone is None:
            raise UsageError(f"another process is adapting {name!r}: wait for it, or end it")
        yield
