"""A library that learns from use: it practises on its questions, and keeps what proved better.

Until the verdict nothing changes; what is accepted is put to use in one transaction, and so is
taken back. Whatever goes wrong before leaves the library as it was.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from index.analysis import is_korean
from rag import gate, knobs, sittings
from rag.adaptation_report import record
from rag.drift import drift
from rag.errors import AttestError, ModelMissing, NotFound, UsageError
from rag.gate import Evidence
from rag.knobs import Knob
from rag.loaded import speaks
from rag.outcome import Adaptation
from rag.practice import Found, Question, Shelf, lesson
from rag.questions import Gathered, Source, counts, gather
from rag.sittings import Sitting

if TYPE_CHECKING:
    from encoder import Embedder
    from encoder.adapt import TunedQueries
    from generator import Writer
    from rag.library import Library

LEAST_CHUNKS = 200
LEAST_QUESTIONS = 20
_COHERENCE = 200  # passages whose halves are compared

Watch = Callable[[str, float], None]  # what is being done, and the share of it that is done


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked for."""

    source: Source = "both"
    queries: Path | None = None  # judged questions, a folder in BEIR's layout
    two_sided: bool = False  # passages learn too, and are encoded anew then
    rerank: bool = False  # try the generator's vote as well
    minutes: float = 10.0  # in all, about
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.minutes <= 24 * 60:
            raise UsageError(f"minutes ({self.minutes:g}) must be over 0 and at most a day, 1440")


def adapt(
    library: "Library", wish: Wish, collection: str | None = None, *, watch: Watch
) -> Adaptation:
    """Practise, judge, and put to use what is better with confidence.

    Raises:
        UnknownCollection: there is nothing to learn from.
        UsageError: the library is too small, or too few questions are known.
        ModelMissing: the encoder that made the vectors is not here.
        AttestError: training failed; the library answers as before.
    """
    name = collection or library.settings.collection
    with undisturbed(name):
        practice = Practice(library, name, wish, watch)
        if wish.two_sided:
            from rag.two_sided import adapt_both

            return adapt_both(practice)
        return _adapt_queries(practice)


@contextmanager
def undisturbed(name: str) -> Iterator[None]:
    """What training raises, as the product says it: nothing has changed by then."""
    from transformer.errors import ModelError

    try:
        yield
    except ModelError as error:
        raise AttestError(f"adapting failed, {name!r} answers as before: {error}") from error


def rollback(library: "Library", collection: str | None = None) -> str | None:
    """Take back what the questions learned, at once.

    Returns:
        the fingerprint of what was in use; None where nothing was
    """
    name = collection or library.settings.collection
    active = library.catalog.active_adapter(name)
    library.catalog.use_adapter(name, None)
    return None if active is None else active.fingerprint


class Practice:
    """One adaptation of one collection: what it works with, and the time that it takes."""

    def __init__(self, library: "Library", name: str, wish: Wish, watch: Watch) -> None:
        self.library, self.name, self.wish, self.watch = library, name, wish, watch
        self.began = self._lap = time.monotonic()
        self.timings: dict[str, float] = {}
        self.rng = Random(wish.seed)  # noqa: S311 - it draws samples, not secrets
        self.chance = np.random.default_rng(wish.seed)
        self.stored = library.catalog.collection(name)
        _require_size(library, name)
        base, weight = library.encoders.of(name), self.stored.fusion_weight
        self.shelf = Shelf(library.opened(name), base, weight)
        self.now = library.encoders.asking(name)  # that any other has to be better than

    def spent(self, share: float) -> bool:
        """Whether this share of the time is over."""
        return time.monotonic() - self.began > share * 60 * self.wish.minutes

    def done(self, what: str) -> None:
        """Note how long it took since the last one was done."""
        now = time.monotonic()
        self.timings[what] = round(now - self._lap, 2)
        self._lap = now

    def gathered(self) -> Gathered:
        """Questions, enough of them.

        Raises:
            UsageError: they are too few.
        """
        self.watch("gathering questions", 0.0)
        found = gather(
            self.library,
            self.name,
            self.shelf,
            source=self.wish.source,
            queries=self.wish.queries,
            writer=self.writer(),
            stop=lambda: self.spent(0.25),
            rng=self.rng,
        )
        if len(found.learned) < LEAST_QUESTIONS:
            raise UsageError(
                f"{len(found.learned)} questions to learn from are too few, {LEAST_QUESTIONS} are "
                "needed: ask more of them, or let `--questions both` make some of the text"
            )
        self.done("gather")
        return found

    def writer(self) -> "Writer | None":
        """The generator, where it is here and speaks the language of the library."""
        some = self.shelf.collection.chunks(self.shelf.vectors.ids[:20].tolist())
        korean = sum(is_korean(chunk.text) for chunk in some) * 2 > len(some)
        if speaks(self.library.settings.generator, "ko" if korean else "en"):
            with suppress(NotFound, ModelMissing):
                return self.library.models.writer()
        return None

    def evidence(self, held: Sequence[Sitting]) -> tuple[Evidence, ...]:
        return tuple(gate.weighed(each.kind, each.before, each.after, self.chance) for each in held)

    def coherence(self) -> float:
        ids = self.shelf.vectors.ids.tolist()
        some = self.rng.sample(ids, min(_COHERENCE, len(ids)))
        texts = [chunk.text for chunk in self.shelf.collection.chunks(some)]
        return gate.coherence(self.shelf.embedder, texts)

    def knobs(self, held: Sequence[Sitting]) -> tuple[Knob | None, Knob | None]:
        """Of the fusion weight and of the generator's vote, on questions that people judged."""
        judged = next((each for each in held if each.kind == "judged"), None)
        if judged is None:
            return None, None
        given = (self.shelf, judged.questions, judged.found_after)
        weight, writer = knobs.weight_knob(*given, self.chance), None
        if self.wish.rerank:
            self.watch("trying the generator's vote", 0.9)
            writer = self.writer()
        now = self.stored.rerank_weight
        vote = None if writer is None else knobs.vote_knob(*given, writer, now, self.chance)
        return weight, vote

    def turn(self, weight: Knob | None, vote: Knob | None) -> None:
        if weight is not None and weight.after != weight.before:
            self.library.catalog.set_fusion_weight(self.name, weight.after)
        if vote is not None and vote.after != vote.before:
            self.library.catalog.set_rerank_weight(self.name, vote.after)


def _adapt_queries(practice: Practice) -> Adaptation:
    gathered = practice.gathered()
    tuned, new = learn(practice, gathered.learned)
    practice.watch("judging", 0.6)
    held = _sittings(practice, gathered, new)
    evidence, coherence = practice.evidence(held), practice.coherence()
    moved = drift(practice.shelf.embedder, new)
    verdict = gate.decide(evidence, moved, coherence)
    # The knobs are judged with the questions' encoder that is going to be used.
    weight, vote = practice.knobs(held if verdict.accepted else [each.undone() for each in held])
    practice.done("judge")
    better, worse = sittings.examples(practice.shelf, held)
    made = Adaptation(
        collection=practice.name,
        encoder=practice.stored.model.name,
        kind="query",
        accepted=verdict.accepted,
        reason=verdict.reason,
        adapter=tuned.fingerprint,
        learned=counts(gathered.learned),
        evidence=evidence,
        drift=moved,
        coherence=coherence,
        weight=weight,
        vote=vote,
        better=better,
        worse=worse,
        timings_s=practice.timings,
    )
    if verdict.accepted:
        _use(practice, tuned, made)
    practice.turn(weight, vote)
    return made


def learn(practice: Practice, questions: Sequence[Question]) -> tuple["TunedQueries", "Embedder"]:
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
            watch=lambda moment: practice.watch("learning", 0.2 + 0.4 * moment.progress),
        )
    practice.done("learn")
    return tuned, taught(shelf.embedder, tuned.data)


def _sittings(practice: Practice, gathered: Gathered, new: "Embedder") -> list[Sitting]:
    def again(before: Sequence[Found], texts: Sequence[str]) -> list[Found]:
        return practice.shelf.again(before, new.embed_queries(texts))

    return sittings.hold(practice.shelf, gathered, practice.now, again, practice.writer())


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


def _require_size(library: "Library", name: str) -> None:
    found = library.catalog.counts(name)
    if found.vectors < LEAST_CHUNKS:
        waiting = found.chunks - found.vectors
        others = f", and {waiting} more wait for their vectors" if waiting else ""
        raise UsageError(
            f"{name!r} has {found.vectors} passages{others}: too small to adapt, {LEAST_CHUNKS} "
            "are needed to tell a gain from chance; add more documents with `attest add PATH`"
        )
