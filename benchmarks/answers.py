"""The sample questions through the whole product: evidence found, answers right, declines fair."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np

from benchmarks.passages import SAMPLES
from benchmarks.table import Row, Table
from rag import Assistant, Settings
from rag.answer_evaluation import evaluate_answers
from rag.answer_marks import Mark, Outcome
from rag.answer_questions import read_questions as read

__all__ = ["failure", "measure", "read"]

T = TypeVar("T")

_TOP = 3  # hits among which the right document must be


def measure(*, models: Path, encoder: str, failures: bool) -> Table:
    """Shares by language, quoted answers only.

    Args:
        models: the folder of pulled models
        encoder: name or folder of the encoder
        failures: list the questions that went wrong
    """
    with TemporaryDirectory() as home:
        settings = Settings(home=Path(home), models_dir=models, encoder=encoder)
        with Assistant.open(settings) as attest:
            attest.add(SAMPLES / "library")
            made = evaluate_answers(attest, SAMPLES / "questions.jsonl", mode="extract")
    languages = sorted({outcome.question.language for outcome in made.outcomes})
    groups = [(name, _speaking(name, made.outcomes)) for name in languages]
    return Table(
        "answers",
        f"Answers: {len(made.outcomes)} questions on samples/library, {encoder}, mode extract",
        tuple(_row(name, group) for name, group in [*groups, ("all", made.outcomes)]),
        tuple(_failures(made.outcomes)) if failures else (),
    )


def failure(outcome: Outcome) -> str | None:
    """What went wrong first, None where all is well."""
    question, values = outcome.question, outcome.values
    if outcome.error is not None:
        return outcome.error
    if misquoted := sum(cited.misquoted for cited in outcome.citations):
        return f"{misquoted} of {len(outcome.citations)} citations are not where they say"
    if not question.answerable:
        return None if outcome.abstained else "answered, although the library does not hold it"
    if outcome.abstained:
        return "declined, although the library holds it"
    if values["gold_contained"]:
        return None
    if not _document_found(outcome):
        return f"{question.document} is not in the top {_TOP}"
    lacking = "the answer lacks" if values["gold_in_passages"] else "the passages lack"
    return f"{lacking} {' | '.join(question.answers)}"


def _speaking(language: str, outcomes: Sequence[Outcome]) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.question.language == language]


def _row(name: str, outcomes: Sequence[Outcome]) -> Row:
    answerable = [outcome for outcome in outcomes if outcome.question.answerable]
    citations = [cited for outcome in outcomes for cited in outcome.citations]
    milliseconds = [1000 * outcome.values["seconds"] for outcome in outcomes if not outcome.error]
    return {
        "name": name,
        "questions": len(outcomes),
        f"document_in_top_{_TOP}_pct": _percent(answerable, _document_found),
        "gold_in_passages_pct": _mean(answerable, "gold_in_passages"),
        "gold_in_answer_pct": _mean(answerable, "gold_contained"),
        "declined_rightly_pct": _mean([o for o in outcomes if not o.question.answerable], "right"),
        "declined_wrongly_pct": _mean(answerable, "false_declines"),
        "citations_exact_pct": _percent(citations, lambda cited: not cited.misquoted),
        "p50_ms": float(np.percentile(milliseconds, 50)),
        "p95_ms": float(np.percentile(milliseconds, 95)),
    }


def _document_found(outcome: Outcome) -> bool:
    return outcome.document_rank is not None and outcome.document_rank <= _TOP


def _mean(outcomes: Sequence[Outcome], mark: Mark) -> float | None:
    return _percent(outcomes, lambda outcome: outcome.values.get(mark, 0) > 0)


def _percent(those: Sequence[T], holds: Callable[[T], bool]) -> float | None:
    return 100 * sum(map(holds, those)) / len(those) if those else None


def _failures(outcomes: Iterable[Outcome]) -> Iterator[str]:
    for outcome in outcomes:
        if found := failure(outcome):
            yield f"{outcome.question.question}  [{found}]"
