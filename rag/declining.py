"""Fitting to a library when its questions are answered and when they are declined.

Nobody has asked yet, so the library asks itself (`rag.pseudo`). Such questions, with what they are
of left out, show how near a library comes to what it does not hold, and the threshold is set so
that most of them are declined. It is not set from those it holds: they repeat its words as no
person does, and a threshold that they pass declines people. Once enough thumbs are there, people
move it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from index import StoredChunk
from index.analysis import content_words, is_korean
from index.records import WordFrequencies
from rag import grounded
from rag.calibrated import Calibrated, risk_curve
from rag.confidence import Calibration, log_odds
from rag.errors import ModelMissing, NotFound, UsageError
from rag.evidence import Evidence
from rag.features import features, swapped
from rag.judging import judged_evidence
from rag.loaded import speaks
from rag.pseudo import PseudoQuestion, pseudo_questions, words_of
from rag.records import SearchResult
from rag.retrieve import retrieve
from rag.unrelated import unrelated_cosine

if TYPE_CHECKING:
    from encoder import Embedder
    from encoder.judge import Judge
    from generator import Writer
    from index import Collection
    from rag.library import Library

LEAST = 30  # key-phrase questions, whose share of 90 % is known to about 5 %
LEAST_DOCUMENTS = 5  # where one is left out, others must come near
THUMBS = 50  # questions that somebody judged, from which on people move the threshold
_LEAST_OF_A_KIND = 8  # of them: with thumbs of one kind nothing can be told apart
_ASKED = 40  # key-phrase questions, and as many others, that a generator is asked
_MOST = 120  # key-phrase questions, and as many others: two minutes on two cores
_DECLINED = 0.9  # of the key-phrase questions whose source is left out
_LOOKED_AT = 6  # hits, as where a question is answered
_DEEP = 40  # hits that are asked for, so that some are left without the source
_SLOPE, _SLOPE_VARIES = 1.0, 0.5  # what thumbs have to overcome: as fitted, more or less
_SHIFT_VARIES = 2.0  # log-odds

Watch = Callable[[str, float], None]  # what is being done, and the share of it that is done
Declines = Callable[[str, Sequence[Evidence]], float | None]  # a grounded generator's probability


def calibrate(
    library: "Library",
    collection: str | None = None,
    *,
    generator: str = "",
    declines: Declines | None = None,
    most: int = _MOST,
    watch: Watch = lambda _what, _share: None,
) -> Calibrated:
    """Fit the threshold of a collection and keep it, for the models that it is asked with now.

    Args:
        library: whose documents and thumbs
        collection: which; None is that of the settings
        generator: fingerprint of the one that declines
        declines: what it says of a question and its evidence, None of one in a language that it
            does not speak; without it generators are left out
        most: key-phrase questions, and as many others
        watch: told what is done

    Raises:
        UnknownCollection: there is nothing to fit to.
        ModelMissing: the encoder that made the vectors is not here.
        UsageError: the library is too small, or its encoder speaks none of its languages.
    """
    name = collection or library.settings.collection
    trial = _Trial(library, name, declines)
    made = trial.made(Random(0), most)  # noqa: S311 - it draws samples, not secrets
    held: list[float] = []
    left_out: list[float] = []
    others: list[float] = []
    for place, each in enumerate(made):
        watch("asking the library its own questions", place / len(made))
        found = trial.search(each.text, _DEEP)
        held += trial.odds(each.text, _first(found))
        if each.kind == "words" and (without := trial.without(found, each.document_id)).hits:
            left_out += trial.odds(each.text, without)
        if other := swapped(each.text, made[place - 1].text):
            others += trial.odds(other, _first(trial.search(other, _LOOKED_AT)))
    _require(len(left_out), trial.documents, name)
    fitted = Calibration(threshold=float(np.quantile(left_out, _DECLINED)))
    thumbs = trial.thumbs()
    moved = enough(thumbs)
    if moved:
        fitted = by_thumbs(fitted, thumbs)
    curve, chosen = risk_curve(held, left_out, fitted.threshold)
    result = Calibrated(
        collection=name,
        encoder=encoder_of(trial.embedder, trial.judge),
        generator=generator if declines else "",
        calibration=fitted,
        documents=trial.documents,
        questions=len(held),
        left_out=len(left_out),
        swapped=len(others),
        held_answered_pct=_percent(held, fitted, answered=True),
        left_out_declined_pct=_percent(left_out, fitted, answered=False),
        swapped_declined_pct=_percent(others, fitted, answered=False) if others else None,
        auroc=auroc(held, left_out),
        thumbs=len(thumbs),
        moved_by_thumbs=moved,
        curve=curve,
        chosen=chosen,
    )
    _keep(library, result)
    return result


def calibrate_both(
    library: "Library", collection: str | None = None, *, watch: Watch = lambda _what, _share: None
) -> list[Calibrated]:
    """Fit a collection without a generator, and with the one of the settings if it has a say.

    It has one where it can decline and no judge comes with the encoder. It takes seconds a
    question, so that it is asked fewer; where too few are in a language that it speaks, it is left
    out. Raises as `calibrate`.
    """
    made = [calibrate(library, collection, watch=watch)]
    encoder = library.encoders.name(collection or library.settings.collection)
    writer = None if library.models.judge(encoder) else _declining(library)
    if writer is not None:
        with suppress(UsageError):
            made.append(
                calibrate(
                    library,
                    collection,
                    generator=writer.fingerprint,
                    declines=partial(_asked, writer, library.settings.generator),
                    most=_ASKED,
                    watch=watch,
                )
            )
    return made


def _declining(library: "Library") -> "Writer | None":
    """The generator, where it is here and was taught to decline."""
    if library.models.remote is not None:
        return None
    try:
        writer = library.models.writer()
    except (NotFound, ModelMissing):
        return None
    return writer if grounded.is_grounded(writer) else None


def _asked(
    writer: "Writer", generator: str, question: str, evidence: Sequence[Evidence]
) -> float | None:
    if not speaks(generator, "ko" if is_korean(question) else "en"):
        return None
    asking = grounded.pick(question, evidence, writer)
    while True:
        try:
            next(asking)
        except StopIteration as answered:
            picked: grounded.Picked = answered.value
            return picked.decline_probability


def kept(
    library: "Library",
    name: str,
    embedder: "Embedder | None",
    judge: "Judge | None",
    generator: str = "",
) -> Calibration | None:
    """What was fitted to a collection for these models; None for any others.

    Args:
        library: that it was fitted to
        name: of the collection
        embedder: of the questions; None where it does not speak their language
        judge: that comes with it
        generator: fingerprint of a grounded one that declines; "" where none is asked
    """
    if embedder is None or not library.exists(name):
        return None
    stored = library.catalog.calibration(
        name, encoder=encoder_of(embedder, judge), generator=generator
    )
    return None if stored is None else Calibration.of(stored.fitted)


def encoder_of(embedder: "Embedder", judge: "Judge | None") -> str:
    """Of what encodes questions, another one where it has learned, and of the judge beside it."""
    taught: str | None = getattr(embedder, "taught", None)
    own = embedder.fingerprint if taught is None else taught
    return own if judge is None else f"{own}+{judge.fingerprint}"


def enough(thumbs: Sequence[tuple[float, bool]]) -> bool:
    """Whether people may move the threshold: many judged, and some either way."""
    up = sum(liked for _, liked in thumbs)
    return len(thumbs) >= THUMBS and min(up, len(thumbs) - up) >= _LEAST_OF_A_KIND


def by_thumbs(before: Calibration, thumbs: Sequence[tuple[float, bool]]) -> Calibration:
    """The calibration as people's judgements stretch and move it (Platt 1999).

    A priori it is right as it is: some thumbs move it little, many decide.

    Args:
        before: from the library's own questions
        thumbs: log-odds of each judged question, and whether its thumb was up
    """
    centred = np.array([odds - before.threshold for odds, _ in thumbs])
    inputs = np.stack([centred, np.ones_like(centred)], 1)
    signs = np.array([1.0 if up else -1.0 for _, up in thumbs])
    prior = np.array([_SLOPE, 0.0])
    pull = np.array([_SLOPE_VARIES**-2, _SHIFT_VARIES**-2])

    def loss(at: NDArray[np.float64]) -> float:
        missed = np.logaddexp(0, -signs * (inputs @ at)).sum()
        return float(missed + (pull * (at - prior) ** 2).sum() / 2)

    at = prior
    for _ in range(50):  # Newton's steps, halved where one goes too far; the loss is convex
        wrong = 1 / (1 + np.exp(np.clip(signs * (inputs @ at), -30, 30)))
        slope = pull * (at - prior) - inputs.T @ (signs * wrong)
        bend = (inputs * (wrong * (1 - wrong))[:, None]).T @ inputs + np.diag(pull)
        step = np.linalg.solve(bend, slope)
        while loss(at - step) > loss(at) and np.abs(step).max() > 1e-9:
            step = step / 2
        at = at - step
    scale = max(float(at[0]), 0.1)
    return Calibration(before.threshold - float(at[1]) / scale, scale)


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """How often a positive has more than a negative; ties count half."""
    above = np.subtract.outer(np.array(positive), np.array(negative))
    return float((above > 0).mean() + 0.5 * (above == 0).mean())


def excluding(words: WordFrequencies, gone: Sequence[set[str]]) -> WordFrequencies:
    """How common words are without these chunks, of each of which its words are given."""
    counts = {
        word: max(0, count - sum(word in chunk for chunk in gone))
        for word, count in words.counts.items()
    }
    return WordFrequencies(max(0, words.chunks - len(gone)), counts)


class _Trial:
    """A collection as it is asked, and what is made of each question's evidence."""

    def __init__(self, library: "Library", name: str, declines: Declines | None) -> None:
        self._library, self._name, self._declines = library, name, declines
        self._weight = library.catalog.collection(name).fusion_weight
        self._opened: Collection = library.opened(name)
        self.embedder = library.encoders.asking(name)
        self.judge = library.models.judge(library.encoders.name(name))
        self._unrelated = unrelated_cosine(self.embedder)
        rows = library.catalog.documents(name)
        self._rows = [row for row in rows if row.status == "indexed" and row.chunks]
        self._words: dict[int, list[set[str]]] = {}

    @property
    def documents(self) -> int:
        return len(self._rows)

    def made(self, rng: Random, most: int) -> list[PseudoQuestion]:
        """Questions of chunks from as many documents as there are, key phrases first."""
        chunks = list(self._chunks(rng))
        frequencies = self._opened.frequencies(words_of(chunks))
        made = pseudo_questions(chunks, frequencies, rng=rng)
        made = [each for each in made if self._fits(each.text)]
        phrases = [each for each in made if each.kind == "words"]
        _require(len(phrases), self.documents, self._name)
        others = [each for each in made if each.kind != "words"]
        rng.shuffle(others)
        return phrases[:most] + others[:most]

    def search(self, question: str, k: int) -> SearchResult:
        return retrieve(
            question,
            collection=self._opened,
            embedder=self.embedder,
            k=k,
            weight=self._weight,
        )

    def without(self, found: SearchResult, document: int) -> SearchResult:
        """The same without a document: neither its hits, nor its words in the counts."""
        if document not in self._words:
            chunks = self._library.catalog.chunks_of(document)
            self._words[document] = [set(content_words(chunk.text)) for chunk in chunks]
        hits = tuple(hit for hit in found.hits if hit.chunk.document.id != document)
        words = excluding(found.words, self._words[document])
        return replace(_first(replace(found, hits=hits)), words=words)

    def odds(self, question: str, found: SearchResult) -> list[float]:
        """Log-odds that the question is answered; nothing where there is nothing to judge."""
        evidence = judged_evidence(question, found, embedder=self.embedder, judge=self.judge)
        if not evidence:
            return []
        declining = None
        if self._declines is not None:
            declining = self._declines(question, evidence)
            if declining is None:
                return []
        known = features(
            question,
            evidence,
            found,
            unrelated=self._unrelated,
            decline_probability=declining,
        )
        return [log_odds(known)]

    def thumbs(self) -> list[tuple[float, bool]]:
        """Log-odds of each question with a thumb, and whether one was up."""
        judged = []
        for asked in self._library.catalog.asked(self._name):
            if (asked.up or asked.down) and self._fits(asked.text):
                odds = self.odds(asked.text, self.search(asked.text, _LOOKED_AT))
                judged += [(each, bool(asked.up)) for each in odds]
        return judged

    def _chunks(self, rng: Random) -> Iterator[StoredChunk]:
        rows = rng.sample(self._rows, min(len(self._rows), 2 * _MOST))
        each = max(1, -(-2 * _MOST // max(1, len(rows))))
        for row in rows:
            chunks = self._library.catalog.chunks_of(row.id)
            yield from rng.sample(chunks, min(each, len(chunks)))

    def _fits(self, text: str) -> bool:
        spoken = self._library.encoders.speaks(self._name, text)
        return spoken and self.embedder.takes(text)


def _first(found: SearchResult) -> SearchResult:
    return replace(found, hits=found.hits[:_LOOKED_AT])


def _require(phrases: int, documents: int, name: str) -> None:
    if documents < LEAST_DOCUMENTS or phrases < LEAST:
        raise UsageError(
            f"{name!r} is too small to calibrate: {documents} documents gave {phrases} questions, "
            f"{LEAST_DOCUMENTS} and {LEAST} are needed; add more with `attest add`. Until then "
            "it answers by the threshold that the product comes with"
        )


def _percent(odds: Sequence[float], fitted: Calibration, *, answered: bool) -> float:
    """The share of questions that are answered, or that are declined."""
    above: NDArray[np.bool_] = np.array(odds) >= fitted.threshold
    return round(100 * float((above == answered).mean()), 1)


def _keep(library: "Library", result: Calibrated) -> None:
    library.catalog.calibrate(
        result.collection,
        encoder=result.encoder,
        generator=result.generator,
        fitted=result.figures(),
    )
