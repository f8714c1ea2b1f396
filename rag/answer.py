"""From a question and its hits to an answer whose every sentence shows its evidence or has none."""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from index.analysis import content_words
from rag import confidence, prompts
from rag.certificates import certify
from rag.confidence import Calibration, Judgement
from rag.draft import OLD, Draft, admit, transcribe, transcribe_quotes
from rag.evidence import Evidence
from rag.grounded import is_grounded, pick
from rag.judging import judged_evidence
from rag.records import Answer, AnswerMode, Hit, SearchResult
from rag.unrelated import unrelated_cosine

if TYPE_CHECKING:
    from encoder import Embedder
    from encoder.judge import Judge
    from generator import Sampling, Writer
    from rag.remote import RemoteWriter

Taking = Callable[[Iterator[str], Sequence[Hit], Draft], Iterator[str]]

_SENTENCES = 3  # quoted at most
_NEAR = 0.85  # a further sentence must reach so much of the best one's score
_SURE = 1.0  # log-odds of answering, that a further sentence must have where it was judged
_SURELY = 0.8  # of declining: none of 53 answerable questions kept out of training came so far
_SHORT = 60  # characters, up to which a sentence is followed by the next


@dataclass(frozen=True, slots=True)
class Speakers:
    """The models that speak the question's language; None for one that does not."""

    embedder: "Embedder | None"
    writer: "Writer | RemoteWriter | None"
    names: dict[str, str]  # role to model name, for the record
    leads: bool = False  # the writer answers in mode auto too, instead of adding to quotations
    note: str = ""  # what the reader of a written answer should know of its writer
    calibration: Calibration | None = None  # of the library, for these models
    judge: "Judge | None" = None  # of evidence


def answer(
    question: str,
    found: SearchResult,
    *,
    speakers: Speakers,
    mode: AnswerMode,
    sampling: "Sampling | None",
    seed: int,
) -> Iterator[str | Answer]:
    """Pieces of the answer as they come, and last the whole answer.

    `extract` quotes the best sentences. `generate` lets the writer answer from the passages.
    `auto` quotes first, and adds of the writer's words what the passages bear out; a grounded
    writer adds nothing, but has a say in what is quoted where no judge has; one that leads answers
    as with `generate`.
    """
    began = time.perf_counter()
    if speakers.leads and mode == "auto":
        mode = "generate"
    draft, notes, written = Draft(), list(found.notes), False
    asked = None if mode == "extract" else speakers.writer
    evidence: Sequence[Evidence]
    evidence = judged_evidence(question, found, embedder=speakers.embedder, judge=speakers.judge)
    picker = asked if mode == "auto" and is_grounded(asked) else None
    declining = None
    if evidence and picker and speakers.judge is None:
        picked = yield from pick(question, evidence, picker)
        evidence, declining = picked.evidence, picked.decline_probability
    judgement = _judged(question, evidence, found, speakers, declining)
    if judgement.answerable:
        writing = _Writing(question, found, mode, None if picker else asked)
        written = yield from _answered(writing, evidence, draft, notes, sampling, seed)
    else:
        yield draft.append(prompts.declined(question))
    if written and speakers.note:
        notes.append(speakers.note)
    whole = Answer(
        question=question,
        answer=draft.text,
        mode="generate" if written else "extract",
        abstained=draft.declined or not judgement.answerable,
        confidence=judgement.probability,
        citations=tuple(draft.citations),
        finish_reason="length" if draft.cut else "stop",
        unsupported=tuple(draft.unsupported),
        passages=found.hits,
        notes=tuple(notes),
        timings_ms={**found.timings_ms, "answer": round((time.perf_counter() - began) * 1000, 1)},
        models=speakers.names,
    )
    yield certify(whole, found.hits, asked)


@dataclass(frozen=True, slots=True)
class _Writing:
    """Who writes an answer, and to what."""

    question: str
    found: SearchResult
    mode: AnswerMode
    writer: "Writer | RemoteWriter | None"  # None: it is only quoted


def _answered(
    given: _Writing,
    evidence: Sequence[Evidence],
    draft: Draft,
    notes: list[str],
    sampling: "Sampling | None",
    seed: int,
) -> Generator[str, None, bool]:
    """Quote, let the writer write, or both; whether it wrote anything."""
    question, writer = given.question, given.writer
    if given.mode != "generate" or writer is None:
        yield from _quoted(evidence, draft)
    if writer is None:
        if given.mode == "generate":
            notes.append(prompts.cannot_write(question))
        return False
    quoted = len(draft.text)
    sampling = sampling or _sampling(given.mode, writer)
    pieces = prompts.write(question, given.found.hits, writer, sampling, seed, notes)
    yield from _taking(given.mode, writer)(prompts.told(pieces), given.found.hits, draft)
    draft.cut = given.mode == "generate" and pieces.finish_reason == "length"
    written = bool(draft.text[quoted:].strip())
    if not draft.text.strip():
        draft.text = ""
        notes.append(prompts.wrote_nothing(question))
        yield from _quoted(evidence, draft)
    return written


def _judged(
    question: str,
    evidence: Sequence[Evidence],
    found: SearchResult,
    speakers: Speakers,
    declining: float | None,
) -> Judgement:
    """Whether the evidence answers the question: by the library's calibration, if it has one."""
    unrelated = 0.0 if speakers.embedder is None else unrelated_cosine(speakers.embedder)
    if speakers.calibration is None and speakers.judge is None:
        surely = declining is not None and declining > _SURELY
        relevant = not surely and confidence.is_relevant(evidence, found, unrelated)
        return Judgement(relevant, None)
    return confidence.judge(
        question,
        evidence,
        found,
        unrelated=unrelated,
        calibration=speakers.calibration,
        decline_probability=declining,
    )


def _quoted(evidence: Sequence[Evidence], draft: Draft) -> Iterator[str]:
    for chosen in choose(evidence):
        yield draft.quote(chosen)


def _taking(mode: AnswerMode, writer: "Writer | RemoteWriter") -> Taking:
    if mode != "generate":
        return admit
    return transcribe_quotes if writer.grounded else transcribe


def _sampling(mode: AnswerMode, writer: "Writer | RemoteWriter") -> "Sampling":
    """Greedy; short where the quotation has already answered, and free to repeat a text's words."""
    from generator import Sampling

    penalty = 1.0 if writer.grounded else 1.1
    return Sampling(max_tokens=200 if mode == "generate" else 80, repetition_penalty=penalty)


def choose(evidence: Sequence[Evidence]) -> list[Evidence]:
    """The sentences to quote: the best, and what comes near it without saying the same again.

    Where nobody judged them, a short best sentence is followed by the one behind it, for the sense
    often runs on.
    """
    chosen: list[Evidence] = []
    said: set[str] = set()
    for candidate in evidence:
        if chosen and candidate.score < _NEAR * chosen[0].score:
            break
        words = set(content_words(candidate.text))
        if chosen and (_unsure(candidate) or len(words - said) <= OLD * len(words)):
            continue
        chosen.append(candidate)
        said |= words
        if len(chosen) == _SENTENCES:
            break
    judged = any(one.answers is not None for one in evidence)
    if chosen and not judged and chosen[0].end - chosen[0].start < _SHORT:
        after = _after(chosen[0], evidence)
        if after is not None and after not in chosen:
            chosen.insert(1, after)
    return chosen


def _unsure(one: Evidence) -> bool:
    """Whether a judge that has read it would not bet on it."""
    return one.answers is not None and one.answers < _SURE


def _after(one: Evidence, evidence: Sequence[Evidence]) -> Evidence | None:
    later = [e for e in evidence if e.hit is one.hit and e.start >= one.end]
    return min(later, key=lambda e: e.start, default=None)
