from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks import answers
from benchmarks.answers import failure, measure, read
from benchmarks.memory import _content
from benchmarks.passages import SAMPLES
from rag.answer_marks import Cited, Mark, Outcome
from rag.answer_questions import Question
from tests.builders import spelling_encoder
from tests.rag.judged_files import lines

ASKED = Question("1", "How long?", ("24 months",), "warranty.md", True, "en")
UNKNOWN = Question("2", "How tall?", (), None, False, "en")
HELD: Mapping[Mark, float] = {"gold_contained": 1, "gold_in_passages": 1}
FINE = Cited("/warranty.md", "24 months", 3, 12, True, misquoted=False)
MISQUOTED = Cited("/warranty.md", "42 months", 3, 12, False, misquoted=True)


def outcome(
    question: Question,
    values: Mapping[Mark, float] = HELD,
    *,
    declined: bool = False,
    citations: tuple[Cited, ...] = (FINE, FINE),
    rank: int | None = 1,
) -> Outcome:
    return Outcome(question, "24 months", "extract", declined, None, citations, rank, values)


LACKING: Mapping[Mark, float] = {"gold_contained": 0, "gold_in_passages": 1}


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (outcome(ASKED), None),
        (outcome(ASKED, citations=(FINE, MISQUOTED)), "1 of 2 citations are not where they say"),
        (outcome(ASKED, declined=True), "declined, although the library holds it"),
        (outcome(ASKED, LACKING), "the answer lacks 24 months"),
        (
            outcome(ASKED, {"gold_contained": 0, "gold_in_passages": 0}),
            "the passages lack 24 months",
        ),
        (outcome(ASKED, LACKING, rank=4), "warranty.md is not in the top 3"),
        (outcome(ASKED, LACKING, rank=None), "warranty.md is not in the top 3"),
        (outcome(UNKNOWN, {}, declined=True), None),
        (outcome(UNKNOWN, {}), "answered, although the library does not hold it"),
        (Outcome.failed(ASKED, "too long"), "too long"),
    ],
)
def test_a_failure_is_named_by_what_went_wrong_first(given: Outcome, named: str | None) -> None:
    assert failure(given) == named


def test_the_sample_questions_can_be_read() -> None:
    questions = read(SAMPLES / "questions.jsonl")
    assert {question.language for question in questions} == {"en", "ko"}
    assert all(bool(question.answers) == question.answerable for question in questions)


def test_the_product_is_measured_by_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "SAMPLES", tmp_path)
    note = tmp_path / "library" / "notes" / "warranty.md"
    note.parent.mkdir(parents=True)
    note.write_text("The warranty of the lamp lasts 24 months.", encoding="utf-8")
    asked = {"question": "How long does the warranty last?", "document": "warranty.md"}
    rows = [{**asked, "answers": ["24 months"]}, {**asked, "answers": ["99 months"]}]
    lines(tmp_path / "questions.jsonl", rows)
    encoder = spelling_encoder(tmp_path / "encoder")
    table = measure(models=tmp_path, encoder=str(encoder), failures=True)

    english, every = table.rows
    assert (english["name"], every["name"], every["questions"]) == ("en", "all", 2)
    assert english["document_in_top_3_pct"] == 100
    assert (english["gold_in_answer_pct"], english["gold_in_passages_pct"]) == (50, 50)
    assert english["declined_rightly_pct"] is None
    assert (english["declined_wrongly_pct"], english["citations_exact_pct"]) == (0, 100)
    assert table.notes == ("How long does the warranty last?  [the passages lack 99 months]",)


@pytest.mark.parametrize(
    ("line", "piece"),
    [
        (b'data: {"choices": [{"delta": {"role": "assistant", "content": ""}}]}\n', ""),
        (b'data: {"choices": [{"delta": {"content": "24"}}]}\n', "24"),
        (b'data: {"choices": [{"delta": {}}], "citations": []}\n', ""),
        (b"data: [DONE]\n", ""),
        (b"\n", ""),
    ],
)
def test_the_first_token_is_the_first_piece_of_text(line: bytes, piece: str) -> None:
    assert _content(line) == piece
