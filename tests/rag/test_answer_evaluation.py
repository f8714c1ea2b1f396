"""A measurement in words and as JSON, where the library has a calibrated confidence."""

from dataclasses import replace
from pathlib import Path

from rag.answer_asking import Setting
from rag.answer_evaluation import AnswerEvaluation
from rag.answer_evaluation_file import evaluation, read_outcomes, row
from rag.answer_evaluation_text import evaluation as told
from rag.answer_figures import compare, grouped
from rag.answer_marks import Cited, Mark, Outcome
from rag.answer_questions import Question
from tests.rag.judged_files import lines

SETTING = Setting("auto", "smollm2")
CITED = Cited("/a.md", "It is so.", 0, 9, True, misquoted=False)


def outcome(number: int, confidence: float, *, answerable: bool = True) -> Outcome:
    answers = ("so",) if answerable else ()
    question = Question(str(number), f"question {number}", answers, None, answerable, "en")
    values: dict[Mark, float] = {"right": 1.0, "f1": 0.123456, "seconds": 1.234567}
    return Outcome(question, "It is so.", "extract", False, confidence, (CITED,), 2, values)


ROWS = (outcome(1, 0.9), outcome(2, 0.7), outcome(3, 0.8, answerable=False))


def measurement(*outcomes: Outcome) -> AnswerEvaluation:
    compared = compare(ROWS, outcomes, against="extract")
    return AnswerEvaluation(
        "q.jsonl", "default", "e5-small", SETTING, outcomes, grouped(outcomes), compared, ("so",)
    )


def test_the_area_stands_in_both() -> None:
    body = evaluation(measurement(*ROWS))
    area = body["groups"][0]["auroc"]
    assert (area["n"], area["area"]) == (3, 0.5)
    assert area["low"] <= 0.5 <= area["high"]
    text = told(measurement(*ROWS))
    assert "AUROC of confidence   0.500 [" in text
    assert text.startswith("q.jsonl: 3 questions to the library 'default', e5-small, auto, smollm2")
    assert text.endswith("note: so")
    assert "seconds a question ↓     1.235 →    1.235   +0.000" in text


def test_a_row_is_read_as_it_was_written(tmp_path: Path) -> None:
    failed = Outcome.failed(ROWS[0].question, "broken")
    other = row(Setting("extract", None), ROWS[1])
    written = [*(row(SETTING, one) for one in (failed, *ROWS[1:])), other]
    assert read_outcomes(lines(tmp_path / "rows.jsonl", written)) == (failed, *ROWS[1:])


def test_answers_that_begin_alike_are_shown_where_they_part() -> None:
    now = replace(ROWS[0], answer=f"{'It is so. ' * 20}The end.", values={"right": 1.0, "f1": 0.5})
    text = told(measurement(now, *ROWS[1:]))
    assert "      then: It is so.\n      now:  It is so. It is so." in text
    then = replace(now, answer=f"{'It is so. ' * 20}No end.", values={"right": 0.0})
    made = replace(measurement(now), comparison=compare([then], [now], against="extract"))
    first, second = (line for line in told(made).splitlines() if "end." in line)
    assert first.startswith("      then: …")
    assert first.endswith("is so. No end.")
    assert second.endswith("is so. The end.")
    assert len(second) < 60


def test_many_failures_are_counted_and_the_first_named() -> None:
    failed = [Outcome.failed(outcome(n, 0.5).question, f"broken {n}") for n in range(4, 16)]
    text = told(measurement(*ROWS, *failed))
    assert "12 of 15 questions failed:" in text
    assert "line 4: question 4  [broken 4]" in text
    assert "broken 14" not in text
    assert "and 2 more: --json or --out name them all" in text
