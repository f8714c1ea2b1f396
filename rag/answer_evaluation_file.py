"""Marked answers as JSON: the figures for programs, and a row a question that is read again."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.answer_asking import Setting
from rag.answer_figures import Changed, Compared, Comparison, Figure, Group
from rag.answer_marks import DIGITS, MARKS, Cited, Mark, Outcome
from rag.answer_questions import Question
from rag.errors import UsageError

if TYPE_CHECKING:
    from rag.answer_evaluation import AnswerEvaluation

Json = dict[str, Any]

EARLIER = (".json", ".jsonl")  # how the name of an earlier run's rows ends


def evaluation(made: "AnswerEvaluation") -> Json:
    """The JSON of a measurement. Shares are per cent."""
    return {
        "data": made.data,
        "collection": made.collection,
        "encoder": made.encoder,
        "mode": made.setting.mode,
        "generator": made.setting.generator,
        "questions": len(made.outcomes),
        "groups": [_group(group) for group in made.groups],
        "failed": [
            {"id": one.question.id, "question": one.question.question, "error": one.error}
            for one in made.failed
        ],
        "comparison": None if made.comparison is None else _comparison(made.comparison),
        "notes": list(made.notes),
    }


def row(setting: Setting, outcome: Outcome) -> Json:
    """What became of one question."""
    question = outcome.question
    return {
        "id": question.id,
        "mode": setting.mode,
        "generator": setting.generator,
        "question": question.question,
        "answers": list(question.answers),
        "document": question.document,
        "answerable": question.answerable,
        "language": question.language,
        "answer": outcome.answer,
        "answer_mode": outcome.mode,
        "abstained": outcome.abstained,
        "confidence": outcome.confidence,
        "document_rank": outcome.document_rank,
        "citations": [_cited(cited) for cited in outcome.citations],
        **{_named(mark): _shown(mark, value) for mark, value in outcome.values.items()},
        "error": outcome.error,
    }


def read_outcomes(file: Path) -> tuple[Outcome, ...]:
    """What a run wrote of each question; of a run in two settings, in the first of them.

    Raises:
        UsageError: it is not there, or no such file.
    """
    try:
        lines = file.read_text(encoding="utf-8-sig").split("\n")
        rows = [json.loads(line) for line in lines if line.strip()]
    except FileNotFoundError as error:
        raise UsageError(f"{file}: no such file, to be compared with") from error
    except ValueError as error:
        raise UsageError(f"{file} is no JSON, a line a question ({error}): {_REMEDY}") from error
    try:
        first = (rows[0]["mode"], rows[0]["generator"])
        return tuple(_read(one) for one in rows if (one["mode"], one["generator"]) == first)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f"{file} is not as `attest eval answers` writes it ({error!r}): {_REMEDY}"
        ) from error


_REMEDY = "write it with `attest eval answers … --out FILE.jsonl`"


def _read(body: Json) -> Outcome:
    question = Question(
        str(body["id"]),
        body["question"],
        tuple(body["answers"]),
        body["document"],
        body["answerable"],
        body["language"],
    )
    citations = [
        Cited(
            one["document"], one["quote"], one["start"], one["end"], one["right"], one["misquoted"]
        )
        for one in body["citations"]
    ]
    return Outcome(
        question,
        body["answer"],
        body["answer_mode"],
        body["abstained"],
        body["confidence"],
        tuple(citations),
        body["document_rank"],
        {mark: _value(mark, body[_named(mark)]) for mark in MARKS if _named(mark) in body},
        body["error"],
    )


def _cited(cited: Cited) -> Json:
    return {
        "document": cited.document,
        "quote": cited.quote,
        "start": cited.start,
        "end": cited.end,
        "right": cited.right,
        "misquoted": cited.misquoted,
    }


def _group(group: Group) -> Json:
    body: Json = {
        "language": group.language,
        "questions": group.questions,
        "answerable": group.answerable,
        "unanswerable": group.unanswerable,
        "failed": group.failed,
        "citations": group.citations,
        "misquotes": group.misquotes,
        "figures": [
            {"metric": mark, **_figure(mark, figure)} for mark, figure in group.figures.items()
        ],
        "auroc": None,
    }
    if (area := group.auroc) is not None:
        body["auroc"] = {
            "n": area.n,
            "area": round(area.mean, DIGITS),
            "low": round(area.low, DIGITS),
            "high": round(area.high, DIGITS),
        }
    return body


def _figure(mark: Mark, figure: Figure) -> Json:
    unit = _unit(mark)
    return {
        "n": figure.n,
        f"mean_{unit}": _shown(mark, figure.mean),
        f"low_{unit}": _shown(mark, figure.low),
        f"high_{unit}": _shown(mark, figure.high),
    }


def _comparison(made: Comparison) -> Json:
    return {
        "against": made.against,
        "groups": [
            {"language": group.language, "differences": _differences(group)}
            for group in made.groups
        ],
        "better": _changed(made.better),
        "worse": _changed(made.worse),
        "notes": list(made.notes),
    }


def _differences(group: Compared) -> list[Json]:
    bodies = []
    for mark, found in group.differences.items():
        n, before, after = group.means[mark]
        unit = _unit(mark)
        bodies.append(
            {
                "metric": mark,
                "n": n,
                f"before_{unit}": _shown(mark, before),
                f"after_{unit}": _shown(mark, after),
                f"difference_{unit}": _shown(mark, found.mean),
                f"low_{unit}": _shown(mark, found.low),
                f"high_{unit}": _shown(mark, found.high),
                "p": round(found.p, 5),
            }
        )
    return bodies


def _changed(pairs: Sequence[Changed]) -> list[Json]:
    return [
        {
            "id": pair.after.question.id,
            "question": pair.after.question.question,
            "answers": list(pair.after.question.answers),
            "answerable": pair.after.question.answerable,
            "before": pair.before.answer,
            "after": pair.after.answer,
        }
        for pair in pairs
    ]


def _named(mark: Mark) -> str:
    return mark if mark == "seconds" else f"{mark}_pct"


def _unit(mark: Mark) -> str:
    return "s" if mark == "seconds" else "pct"


def _shown(mark: Mark, value: float) -> float:
    return round(value, DIGITS) if mark == "seconds" else round(100 * value, DIGITS - 2)


def _value(mark: Mark, shown: float) -> float:
    return shown if mark == "seconds" else round(shown / 100, DIGITS)
