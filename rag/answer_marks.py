"""One answer, marked: what it says against what is right, what it cites, whether it declined.

Nothing here is judged by a model. Every mark is a number of one question, so that its mean over
questions has an interval and two runs can be compared question by question.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from index.analysis import tokens
from rag.answer_questions import Question
from rag.records import Answer, Citation

Mark = Literal[
    "right",
    "gold_contained",
    "exact_match",
    "f1",
    "f1_morphemes",
    "gold_in_passages",
    "citation_precision",
    "citation_recall",
    "document_precision",
    "supported",
    "misquoted",
    "declining",
    "false_declines",
    "missed_declines",
    "seconds",
]
MARKS: tuple[Mark, ...] = get_args(Mark)  # the first one decides which questions changed most
LESS_IS_BETTER = frozenset[Mark](("misquoted", "false_declines", "missed_declines", "seconds"))

DIGITS = 6  # of a value, so that one that was written and read is still the same

TextOf = Callable[[int], str]  # from a document's id to its stored text


@dataclass(frozen=True, slots=True)
class Cited:
    """A citation, looked up again."""

    document: str  # path
    quote: str
    start: int
    end: int
    right: bool | None  # of the right document and with a right answer; None: none is known
    misquoted: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a question."""

    question: Question
    answer: str
    mode: str
    abstained: bool
    confidence: float | None
    citations: tuple[Cited, ...]
    document_rank: int | None  # of the right document's first passage; None: not among them
    values: Mapping[Mark, float]  # 0 to 1, and seconds; a mark that does not apply is left out
    error: str | None = None  # why there is no answer

    @classmethod
    def failed(cls, question: Question, error: str) -> "Outcome":
        """Of a question that could not be answered at all."""
        return cls(question, "", "", False, None, (), None, {}, error)


def marked(
    question: Question, given: Answer, homes: frozenset[str], text_of: TextOf, *, seconds: float
) -> Outcome:
    """Mark an answer.

    Args:
        question: with what is known of its answer
        given: what was answered
        homes: paths of the document that holds the answer; empty where that is not known
        text_of: reads a stored text
        seconds: that the answer took
    """
    citations = tuple(_cited(one, given, question, homes, text_of) for one in given.citations)
    paths = [hit.chunk.document.path for hit in given.passages]
    values = {
        **_declining(question, given),
        **_wording(question, given),
        **_evidence(question, given, homes, citations),
        **_sentences(given),
        "seconds": seconds,
    }
    return Outcome(
        question,
        given.answer,
        given.mode,
        given.abstained,
        given.confidence,
        citations,
        next((rank for rank, path in enumerate(paths, 1) if path in homes), None),
        {mark: round(float(values[mark]), DIGITS) for mark in MARKS if mark in values},
    )


def holds(text: str, golds: Iterable[str]) -> bool:
    """Whether one of the golds stands in a text, but for case and white space.

    Digits at its edges must not run on: "5 days" does not stand in "15 days".
    """
    folded = _folded(text)
    return any(re.search(_whole(gold), folded) for gold in map(_folded, golds) if gold)


def _whole(gold: str) -> str:
    before = r"(?<!\d)" if gold[0].isdigit() else ""
    after = r"(?!\d)" if gold[-1].isdigit() else ""
    return before + re.escape(gold) + after


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def _cited(
    citation: Citation, given: Answer, question: Question, homes: frozenset[str], text_of: TextOf
) -> Cited:
    stored = text_of(citation.document.id)[citation.start : citation.end]
    said = given.answer[citation.answer_start : citation.answer_end]
    # A line break of the document is a space in the answer; a written answer has its own words.
    unlike = given.mode == "extract" and said.split() != citation.quote.split()
    right = None
    if question.answerable and (homes or question.answers):
        here = not homes or citation.document.path in homes
        right = here and (not question.answers or holds(citation.quote, question.answers))
    return Cited(
        citation.document.path,
        citation.quote,
        citation.start,
        citation.end,
        right,
        stored != citation.quote or unlike,
    )


def _declining(question: Question, given: Answer) -> dict[Mark, float]:
    match question.answerable:
        case None:
            return {}
        case True:
            return {"declining": not given.abstained, "false_declines": given.abstained}
        case False:
            return {
                "right": given.abstained,
                "declining": given.abstained,
                "missed_declines": not given.abstained,
            }


def _wording(question: Question, given: Answer) -> dict[Mark, float]:
    """Exact match and F1 as SQuAD has them; in Korean by characters as KorQuAD, and by morphemes.

    Morphemes are those that carry meaning, without particles and endings.
    """
    golds = question.answers
    if not golds:
        return {}
    from encoder.answer_scores import exact_match, f1

    said = "" if given.abstained else given.answer
    contained = holds(said, golds)
    korean = question.language == "ko"
    marks: dict[Mark, float] = {
        "right": contained,
        "gold_contained": contained,
        "exact_match": exact_match(said, golds),
        "f1": f1(said, golds, by="characters" if korean else "words"),
    }
    if korean:
        told, *right = (" ".join(tokens(text)) for text in (said, *golds))
        marks["f1_morphemes"] = f1(told, right, by="words")
    return marks


def _evidence(
    question: Question, given: Answer, homes: frozenset[str], citations: tuple[Cited, ...]
) -> dict[Mark, float]:
    marks: dict[Mark, float] = {}
    if question.answers:
        passages = (hit.chunk.text for hit in given.passages)
        marks["gold_in_passages"] = any(holds(text, question.answers) for text in passages)
    if citations:
        marks["misquoted"] = sum(one.misquoted for one in citations) / len(citations)
    if question.answerable and (homes or question.answers):
        right = [bool(one.right) for one in citations]
        marks["citation_recall"] = any(right)
        if right:
            marks["citation_precision"] = sum(right) / len(right)
        if right and homes:
            here = [one.document in homes for one in citations]
            marks["document_precision"] = sum(here) / len(here)
    return marks


def _sentences(given: Answer) -> dict[Mark, float]:
    """The share of an answer's sentences that rest on a citation."""
    resting = len({(one.answer_start, one.answer_end) for one in given.citations})
    told = resting + len(given.unsupported)
    return {"supported": resting / told} if told else {}
