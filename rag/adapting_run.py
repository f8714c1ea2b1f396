"""One adaptation of one collection: what is asked for, what it works with, and its verdict."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Literal

import numpy as np

from index.analysis import is_korean
from rag import gate, jury, knobs, sittings
from rag.drift import drift
from rag.errors import AttestError, ModelMissing, NotFound, UsageError
from rag.knobs import Knob
from rag.loaded import speaks
from rag.outcome import Adaptation
from rag.practice import Question, Shelf
from rag.questions import Gathered, Source, counts, gather
from rag.sittings import Again, Sitting

if TYPE_CHECKING:
    from encoder import Embedder
    from generator import Writer
    from rag.library import Library

LEAST_CHUNKS = 200
LEAST_QUESTIONS = 20
_COHERENCE = 200  # passages whose halves are compared
_LOOKED_AT = 20  # passages that say which language a library has
_HEARD = 20  # questions that the generator judges, for each minute that is given

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
        if self.two_sided and self.rerank:
            raise UsageError(
                "--rerank is tried where the questions alone learn: leave out --two-sided, and let "
                "it follow"
            )


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
        """Questions, enough of them to learn from and to judge by.

        Raises:
            UsageError: they are too few for either.
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
                f"needed: {self._remedy()}"
            )
        # Known before anything is learned: minutes that could not end in a verdict are not spent.
        most = max(map(len, (found.judged, found.open, found.probes)))
        if most < gate.LEAST:
            raise UsageError(
                f"{most} questions to judge by are too few, {gate.LEAST} are needed to tell a gain "
                f"from chance: {self._remedy()}"
            )
        self.done("gather")
        return found

    def writer(self) -> "Writer | None":
        """The generator, where it is here and speaks the language of the library."""
        keys = self.shelf.vectors.ids
        spread = keys[:: max(1, len(keys) // _LOOKED_AT)].tolist()
        some = self.shelf.collection.chunks(spread)
        korean = sum(is_korean(chunk.text) for chunk in some) * 2 > len(some)
        if speaks(self.library.settings.generator, "ko" if korean else "en"):
            with suppress(NotFound, ModelMissing):
                return self.library.models.writer()
        return None

    def heard(self, questions: Sequence[Question]) -> list[int]:
        """The places of those in a language that the generator speaks, as many as it has time for.

        Never fewer than can decide, if there are so many.
        """
        generator = self.library.settings.generator
        most = max(gate.LEAST, min(jury.MOST, round(_HEARD * self.wish.minutes)))
        understood = (
            place
            for place, each in enumerate(questions)
            if speaks(generator, "ko" if is_korean(each.text) else "en")
        )
        return list(islice(understood, most))

    def judge(
        self,
        kind: Literal["query", "both"],
        adapter: str,
        gathered: Gathered,
        new: "Embedder",
        again: Again,
    ) -> tuple[Adaptation, list[Sitting]]:
        """What questions that were not learned from say, and the verdict of the gate.

        Args:
            kind: of what was learned; where passages have learned too, what they find is looked
                for among all of them, before as well as after
            adapter: fingerprint of what was learned
            gathered: the questions
            new: the encoder that has learned
            again: what questions find by it
        """
        heard = tuple(gathered.open[place] for place in self.heard(gathered.open))
        held = sittings.hold(
            self.shelf,
            replace(gathered, open=heard),
            self.now,
            again,
            self.writer(),
            rows=None if kind == "query" else self.shelf.vectors.rows,
        )
        evidence = tuple(gate.weighed(one.kind, one.before, one.after, self.chance) for one in held)
        coherence = self._coherence()
        moved = drift(self.shelf.embedder, new)
        verdict = gate.decide(evidence, moved, coherence)
        better, worse = sittings.examples(self.shelf, held)
        made = Adaptation(
            collection=self.name,
            encoder=self.stored.model.name,
            kind=kind,
            accepted=verdict.accepted,
            reason=verdict.reason,
            adapter=adapter,
            learned=counts(gathered.learned),
            evidence=evidence,
            drift=moved,
            coherence=coherence,
            weight=None,
            vote=None,
            better=better,
            worse=worse,
            timings_s=self.timings,
        )
        return made, held

    def knobs(self, held: Sequence[Sitting]) -> tuple[Knob | None, Knob | None, tuple[str, ...]]:
        """Of the fusion weight and of the generator's vote, and why one was not tried.

        They are turned on questions that people judged; the vote beside the weight that there is
        going to be.
        """
        judged = next((each for each in held if each.kind == "judged"), None)
        weight = None
        if judged is not None:
            given = (self.shelf, judged.questions, judged.found_after)
            weight = knobs.weight_knob(*given, self.chance)
        if not self.wish.rerank:
            return weight, None, ()
        self.watch("trying the generator's vote", 0.9)
        vote = self._vote(judged, self.shelf.weight if weight is None else weight.after)
        return weight, vote, () if vote else (self._untried(judged),)

    def turn(self, weight: Knob | None, vote: Knob | None) -> None:
        """Put settings to use that are others than they were."""
        if weight is not None and weight.after != weight.before:
            self.library.catalog.set_fusion_weight(self.name, weight.after)
        if vote is not None and vote.after != vote.before:
            self.library.catalog.set_rerank_weight(self.name, vote.after)

    def require_unchanged(self) -> None:
        """What was judged was judged beside what the library worked with when this began.

        Raises:
            AttestError: it works with something else now.
        """
        if self.library.catalog.collection(self.name) != self.stored:
            raise AttestError(
                f"the encoder, what it learned or a weight of {self.name!r} was changed meanwhile, "
                "so the verdict does not hold: adapt again"
            )

    def _vote(self, judged: Sitting | None, weight: float) -> Knob | None:
        writer = self.writer()
        if judged is None or writer is None:
            return None
        heard = self.heard(judged.questions)
        return knobs.vote_knob(
            self.shelf,
            [judged.questions[place] for place in heard],
            [judged.found_after[place] for place in heard],
            writer,
            now=self.stored.rerank_weight,
            weight=weight,
            rng=self.chance,
        )

    def _untried(self, judged: Sitting | None) -> str:
        count = len(judged.questions) if judged else 0
        return (
            f"the generator's vote was not tried: that takes {gate.LEAST} judged questions that "
            f"are held out ({count} are there), in a language that the generator speaks"
        )

    def _coherence(self) -> float:
        ids = self.shelf.vectors.ids.tolist()
        some = self.rng.sample(ids, min(_COHERENCE, len(ids)))
        texts = [chunk.text for chunk in self.shelf.collection.chunks(some)]
        return gate.coherence(self.shelf.embedder, texts)

    def _remedy(self) -> str:
        if self.wish.source == "log":
            return "ask more of them, or let `--questions both` make some of the text"
        documents = len(set(self.shelf.document_of.values()))
        return (
            f"ask more of them, or add more documents (questions are made of three quarters of the "
            f"{documents}, the others judge)"
        )


def _require_size(library: "Library", name: str) -> None:
    found = library.catalog.counts(name)
    if found.vectors < LEAST_CHUNKS:
        waiting = found.chunks - found.vectors
        others = f", and {waiting} more wait for their vectors" if waiting else ""
        raise UsageError(
            f"{name!r} has {found.vectors} passages{others}: too small to adapt, {LEAST_CHUNKS} "
            "are needed to tell a gain from chance; add more documents with `attest add PATH`"
        )
