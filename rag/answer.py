"""From a question and its hits to an answer whose every sentence shows its evidence or has none."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from index.analysis import content_words
from rag import confidence, prompts
from rag.draft import OLD, Draft, admit, transcribe
from rag.evidence import Evidence, find_evidence
from rag.records import Answer, AnswerMode, SearchResult
from rag.unrelated import unrelated_cosine

if TYPE_CHECKING:
    from encoder import Embedder
    from generator import Sampling, Writer
    from rag.remote import RemoteWriter

_SENTENCES = 3  # quoted at most
_NEAR = 0.75  # a further sentence must reach so much of the best one's score
_SHORT = 160  # characters, up to which a sentence is followed by the next


@dataclass(frozen=True, slots=True)
class Speakers:
    """The models that speak the question's language; None for one that does not."""

    embedder: "Embedder | None"
    writer: "Writer | RemoteWriter | None"
    names: dict[str, str]  # role to model name, for the record
    leads: bool = False  # the writer answers in mode auto too, instead of adding to quotations
    note: str = ""  # what the reader of a written answer should know of its writer


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
    `auto` quotes first, and adds of the writer's words what the passages bear out; a writer that
    leads answers as with `generate`.
    """
    began = time.perf_counter()
    draft, notes = Draft(), list(found.notes)
    embedder = speakers.embedder
    evidence = find_evidence(question, found, embedder=embedder)
    unrelated = 0.0 if embedder is None else unrelated_cosine(embedder)
    relevant = confidence.is_relevant(evidence, found, unrelated)
    writer = speakers.writer if relevant and mode != "extract" else None
    if speakers.leads and mode == "auto":
        mode = "generate"
    written = False
    if not relevant:
        yield draft.append(prompts.declined(question))
    elif mode != "generate" or writer is None:
        yield from _quoted(evidence, draft)
    if relevant and writer is None and mode == "generate":
        notes.append(prompts.cannot_write(question))
    if writer is not None:
        quoted = len(draft.text)
        sampling = sampling or _sampling(mode)
        pieces = prompts.write(question, found.hits, writer, sampling, seed, notes)
        take = transcribe if mode == "generate" else admit
        yield from take(prompts.told(pieces), found.hits, draft)
        draft.cut = mode == "generate" and pieces.finish_reason == "length"
        written = bool(draft.text[quoted:].strip())
        if not draft.text.strip():
            draft.text = ""
            notes.append(prompts.wrote_nothing(question))
            yield from _quoted(evidence, draft)
    if written and speakers.note:
        notes.append(speakers.note)
    yield _whole(
        question,
        found,
        draft,
        mode="generate" if written else "extract",
        abstained=not relevant,
        notes=tuple(notes),
        timings_ms={**found.timings_ms, "answer": round((time.perf_counter() - began) * 1000, 1)},
        models=speakers.names,
    )


def _whole(
    question: str,
    found: SearchResult,
    draft: Draft,
    *,
    mode: Literal["generate", "extract"],
    abstained: bool,
    notes: tuple[str, ...],
    timings_ms: dict[str, float],
    models: dict[str, str],
) -> Answer:
    return Answer(
        question=question,
        answer=draft.text,
        mode=mode,
        abstained=abstained,
        confidence=None,
        citations=tuple(draft.citations),
        finish_reason="length" if draft.cut else "stop",
        unsupported=tuple(draft.unsupported),
        passages=found.hits,
        notes=notes,
        timings_ms=timings_ms,
        models=models,
    )


def _quoted(evidence: Sequence[Evidence], draft: Draft) -> Iterator[str]:
    for chosen in choose(evidence):
        yield draft.quote(chosen)


def _sampling(mode: AnswerMode) -> "Sampling":
    """Greedy; short where the quotation has already answered."""
    from generator import Sampling

    return Sampling(max_tokens=200 if mode == "generate" else 80, repetition_penalty=1.1)


def choose(evidence: Sequence[Evidence]) -> list[Evidence]:
    """The sentences to quote: the best, and what comes near it without saying the same again.

    A short best sentence is followed by the one behind it, for the sense often runs on.
    """
    chosen: list[Evidence] = []
    said: set[str] = set()
    for candidate in evidence:
        if chosen and candidate.score < _NEAR * chosen[0].score:
            break
        words = set(content_words(candidate.text))
        if chosen and len(words - said) <= OLD * len(words):
            continue
        chosen.append(candidate)
        said |= words
        if len(chosen) == _SENTENCES:
            break
    if chosen and chosen[0].end - chosen[0].start < _SHORT:
        after = _after(chosen[0], evidence)
        if after is not None and after not in chosen:
            chosen.insert(1, after)
    return chosen


def _after(one: Evidence, evidence: Sequence[Evidence]) -> Evidence | None:
    later = [e for e in evidence if e.hit is one.hit and e.start >= one.end]
    return min(later, key=lambda e: e.start, default=None)
