"""The sample questions through the whole product: evidence found, answers right, declines fair."""

import json
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.passages import SAMPLES
from benchmarks.table import Row, Table
from rag import Answer, Assistant, Settings

_TOP = 3  # hits among which the right document must be


@dataclass(frozen=True, slots=True)
class Question:
    """A line of samples/questions.jsonl."""

    question: str
    answers: tuple[str, ...]  # strings of which one must stand in the answer
    document: str | None  # file name
    answerable: bool
    language: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one question."""

    question: Question
    document_found: bool  # among the documents of the first hits
    passage_holds_it: bool  # a gold string stands in a passage that was looked at
    answer_holds_it: bool
    declined: bool
    misquoted: int  # citations that do not stand in the stored text where they say
    citations: int
    seconds: float

    @property
    def failure(self) -> str | None:
        """What went wrong first, None where all is well."""
        if self.misquoted:
            return f"{self.misquoted} of {self.citations} citations are not where they say"
        if not self.question.answerable:
            return None if self.declined else "answered, although the library does not hold it"
        if self.declined:
            return "declined, although the library holds it"
        if self.answer_holds_it:
            return None
        if not self.document_found:
            return f"{self.question.document} is not in the top {_TOP}"
        lacking = "the answer lacks" if self.passage_holds_it else "the passages lack"
        return f"{lacking} {' | '.join(self.question.answers)}"


def read(file: Path) -> list[Question]:
    rows = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return [Question(**{**row, "answers": tuple(row["answers"])}) for row in rows]


def measure(*, models: Path, encoder: str, failures: bool) -> Table:
    """Shares by language, quoted answers only.

    Args:
        models: the folder of pulled models
        encoder: name or folder of the encoder
        failures: list the questions that went wrong
    """
    questions = read(SAMPLES / "questions.jsonl")
    with TemporaryDirectory() as home:
        settings = Settings(home=Path(home), models_dir=models, encoder=encoder)
        with Assistant.open(settings) as attest:
            attest.add(SAMPLES / "library")
            attest.ask(questions[0].question, mode="extract")  # warm
            outcomes = [_asked(question, attest) for question in questions]
    languages = sorted({outcome.question.language for outcome in outcomes})
    groups = [(name, [o for o in outcomes if o.question.language == name]) for name in languages]
    return Table(
        "answers",
        f"Answers: {len(questions)} questions on samples/library, {encoder}, mode extract",
        tuple(_row(name, group) for name, group in [*groups, ("all", outcomes)]),
        tuple(_failures(outcomes)) if failures else (),
    )


def _asked(question: Question, attest: Assistant) -> Outcome:
    began = time.perf_counter()
    answer = attest.ask(question.question, mode="extract")
    seconds = time.perf_counter() - began
    return Outcome(
        question,
        document_found=question.document
        in {Path(hit.chunk.document.path).name for hit in answer.passages[:_TOP]},
        passage_holds_it=_holds(question.answers, (hit.chunk.text for hit in answer.passages)),
        answer_holds_it=not answer.abstained and _holds(question.answers, [answer.answer]),
        declined=answer.abstained,
        misquoted=_misquoted(answer, attest),
        citations=len(answer.citations),
        seconds=seconds,
    )


def _holds(golds: Iterable[str], texts: Iterable[str]) -> bool:
    folded = [_folded(text) for text in texts]
    return any(_folded(gold) in text for gold in golds for text in folded)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def _misquoted(answer: Answer, attest: Assistant) -> int:
    """Citations that are not letter for letter in the stored text, or not word for word said."""
    wrong = 0
    for citation in answer.citations:
        stored = attest.text(citation.document.id)[citation.start : citation.end]
        said = answer.answer[citation.answer_start : citation.answer_end]
        # A line break of the document is a space in the answer.
        wrong += stored != citation.quote or stored.split() != said.split()
    return wrong


def _row(name: str, outcomes: Sequence[Outcome]) -> Row:
    answerable = [outcome for outcome in outcomes if outcome.question.answerable]
    unanswerable = [outcome for outcome in outcomes if not outcome.question.answerable]
    citations = sum(outcome.citations for outcome in outcomes)
    misquoted = sum(outcome.misquoted for outcome in outcomes)
    milliseconds = [1000 * outcome.seconds for outcome in outcomes]
    return {
        "name": name,
        "questions": len(outcomes),
        f"document_in_top_{_TOP}_pct": _percent(answerable, lambda o: o.document_found),
        "gold_in_passages_pct": _percent(answerable, lambda o: o.passage_holds_it),
        "gold_in_answer_pct": _percent(answerable, lambda o: o.answer_holds_it),
        "declined_rightly_pct": _percent(unanswerable, lambda o: o.declined),
        "declined_wrongly_pct": _percent(answerable, lambda o: o.declined),
        "citations_exact_pct": 100 * (citations - misquoted) / citations if citations else None,
        "p50_ms": float(np.percentile(milliseconds, 50)),
        "p95_ms": float(np.percentile(milliseconds, 95)),
    }


def _percent(outcomes: Sequence[Outcome], holds: Callable[[Outcome], bool]) -> float | None:
    return 100 * sum(map(holds, outcomes)) / len(outcomes) if outcomes else None


def _failures(outcomes: Iterable[Outcome]) -> Iterator[str]:
    for outcome in outcomes:
        if outcome.failure:
            yield f"{outcome.question.question}  [{outcome.failure}]"
