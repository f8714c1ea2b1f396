"""A grounded writer looks for the answer among the best sentences of the passages.

It is asked as it was taught (`rag.quoting`), and all that it can say is to quote one of these
sentences, whole, or to decline. So nothing is misquoted, and where a quotation stands is known.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeGuard

from rag import prompts, quoting
from rag.evidence import Evidence
from rag.records import Hit
from rag.statements import Span, spans

if TYPE_CHECKING:
    from generator import Writer
    from rag.remote import RemoteWriter

_OFFERED = 8  # sentences that the writer chooses from
_LONGEST = 600  # characters of one: what is longer is a list or a table
_AROUND = 1  # sentences on either side of an offered one that the writer reads too
_VOTE = 0.05  # of the writer beside the score of evidence, where a good one has about 1


@dataclass(frozen=True, slots=True)
class Picked:
    """Evidence with the writer's vote."""

    evidence: tuple[Evidence, ...]  # best first
    decline_probability: float  # that none of the offered sentences answers


def is_grounded(writer: "Writer | RemoteWriter | None") -> "TypeGuard[Writer]":
    """Whether a writer was taught to quote or to decline; an engine elsewhere was not."""
    return writer is not None and writer.grounded


def pick(
    question: str, evidence: Sequence[Evidence], writer: "Writer"
) -> Generator[str, None, Picked]:
    """Let the writer vote on the best of the evidence; gives "" between passes, to be stopped at.

    Args:
        question: in a language that the writer speaks
        evidence: best first, and some; no two of a hit overlap
        writer: a grounded one

    Raises:
        TooLong: the question alone is over the context.
        EngineError: the model cannot be asked in its own form, or its numbers are broken.
    """
    offered = [e for e in evidence if e.end - e.start <= _LONGEST][:_OFFERED]
    hits = sorted({e.hit.rank: e.hit for e in offered}.values(), key=lambda hit: hit.rank)
    lines = {quoting.quotation(hits.index(e.hit) + 1, e.text): e for e in reversed(offered)}
    passages = [
        prompts.passage(number, hit, _excerpt(hit, offered))
        for number, hit in enumerate(hits, start=1)
    ]
    reserve = writer.reserve([quoting.DECLINED, *lines])
    with prompts.asking():
        asked = quoting.question(question)
        fitted = writer.fit(prompts.system(writer), asked, passages, reserve)
        # A passage that has no room takes its sentences along.
        lines = {line: e for line, e in lines.items() if hits.index(e.hit) < len(fitted.passages)}
        quoted = yield from writer.quote(fitted.messages, [quoting.DECLINED, *lines], decline=0)
    votes = dict(zip(map(id, lines.values()), quoted.shares[1:], strict=True))
    return Picked(_voted(evidence, votes), quoted.shares[0])


def _excerpt(hit: Hit, offered: Sequence[Evidence]) -> str:
    """What of a hit the writer reads: the offered sentences with what stands around them.

    It was taught on passages of so many sentences, and what is not read takes no time.
    """
    offset, text = hit.chunk.start, hit.chunk.text
    mine = [e for e in offered if e.hit is hit]
    first, last = min(e.start for e in mine) - offset, max(e.end for e in mine) - offset
    for start, end in _beside(spans(text), first, last):
        if end - start <= _LONGEST:
            first, last = min(first, start), max(last, end)
    return text[first:last]


def _beside(sentences: Sequence[Span], first: int, last: int) -> list[Span]:
    """The sentences next to a stretch of a text, before and behind it."""
    before = [span for span in sentences if span[1] <= first]
    behind = [span for span in sentences if span[0] >= last]
    return [*before[-_AROUND:], *behind[:_AROUND]]


def _voted(evidence: Sequence[Evidence], votes: dict[int, float]) -> tuple[Evidence, ...]:
    """The evidence by its score and the writer's vote: of what it quotes, how much is this."""
    quoted = sum(votes.values()) or 1.0
    scored = [
        replace(e, score=e.score + _VOTE * votes[id(e)] / quoted) if id(e) in votes else e
        for e in evidence
    ]
    return tuple(sorted(scored, key=lambda e: -e.score))
