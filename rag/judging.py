"""Evidence as answers are made of it: whole sentences, the best of which the judge has read."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rag.evidence import Evidence, find_evidence
from rag.records import SearchResult
from rag.subjects import with_subjects

if TYPE_CHECKING:
    from encoder import Embedder
    from encoder.judge import Judge

_READ = 12  # sentences that are judged: a sixth of a second on two cores
_AROUND = 160  # characters of what stands before a sentence
_WEIGHT = 0.1  # of the log-odds beside the score of evidence, where a good one has about 1


def judged_evidence(
    question: str, found: SearchResult, *, embedder: "Embedder | None", judge: "Judge | None"
) -> list[Evidence]:
    """What the hits say that may answer the question, best first.

    Args:
        question: as asked
        found: its hits, best first
        embedder: None where it does not speak the question's language; then there is no judge
        judge: of the embedder; None where none comes with it
    """
    return judged(question, with_subjects(find_evidence(question, found, embedder=embedder)), judge)


def judged(question: str, evidence: Sequence[Evidence], judge: "Judge | None") -> list[Evidence]:
    """The best of the evidence as the judge orders it, then the rest as it was.

    Args:
        question: in a language that the judge's encoder speaks
        evidence: best first
        judge: None leaves it all as it is
    """
    if judge is None or not evidence:
        return list(evidence)
    read = evidence[:_READ]
    odds = judge.log_odds(question, [_shown(each) for each in read]).tolist()
    weighed = [
        replace(each, answers=surely, score=each.score + _WEIGHT * surely)
        for each, surely in zip(read, odds, strict=True)
    ]
    return [*sorted(weighed, key=lambda each: -each.score), *evidence[_READ:]]


def presented(sentence: str, heading: str, before: str) -> str:
    """The sentence first, then what it is about: its headings and the end of what stands before."""
    around = " ".join(part for part in (heading.strip(), _end_of(before.strip())) if part)
    return f"{sentence} | {around}" if around else sentence


def _shown(evidence: Evidence) -> str:
    chunk = evidence.hit.chunk
    heading = " ".join(dict.fromkeys((chunk.document.title, *chunk.heading[-1:])))
    before = chunk.text[: evidence.start - chunk.start]
    return presented(_one_line(evidence.text), heading, _one_line(before))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _end_of(text: str) -> str:
    """Whole words, unless the last one alone is longer."""
    if len(text) <= _AROUND:
        return text
    end = text[-_AROUND:]
    return end.partition(" ")[2] or end
