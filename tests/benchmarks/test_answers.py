import pytest

from benchmarks.answers import Outcome, Question, read
from benchmarks.memory import _content
from benchmarks.passages import SAMPLES

ASKED = Question("How long?", ("24 months",), "warranty.md", answerable=True, language="en")
UNKNOWN = Question("How tall?", (), None, answerable=False, language="en")


def outcome(question: Question, **changes: bool | int) -> Outcome:
    good = {
        "document_found": True,
        "passage_holds_it": True,
        "answer_holds_it": True,
        "declined": False,
        "misquoted": 0,
        "citations": 2,
        "seconds": 1,
    }
    return Outcome(question, **{**good, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "failure"),
    [
        (outcome(ASKED), None),
        (outcome(ASKED, misquoted=1), "1 of 2 citations are not where they say"),
        (outcome(ASKED, declined=True), "declined, although the library holds it"),
        (outcome(ASKED, answer_holds_it=False), "the answer lacks 24 months"),
        (
            outcome(ASKED, answer_holds_it=False, passage_holds_it=False),
            "the passages lack 24 months",
        ),
        (
            outcome(ASKED, answer_holds_it=False, document_found=False),
            "warranty.md is not in the top 3",
        ),
        (outcome(UNKNOWN, declined=True), None),
        (outcome(UNKNOWN), "answered, although the library does not hold it"),
    ],
)
def test_a_failure_is_named_by_what_went_wrong_first(given: Outcome, failure: str | None) -> None:
    assert given.failure == failure


def test_the_sample_questions_can_be_read() -> None:
    questions = read(SAMPLES / "questions.jsonl")
    assert {question.language for question in questions} == {"en", "ko"}
    assert all(bool(question.answers) == question.answerable for question in questions)


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
