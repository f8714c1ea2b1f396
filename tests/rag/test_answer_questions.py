"""Files of questions: what is enough, and how a bad line is named."""

from pathlib import Path

import pytest

from rag.answer_questions import read_questions
from rag.errors import UsageError
from tests.rag.judged_files import lines


def test_a_question_is_enough(tmp_path: Path) -> None:
    file = lines(tmp_path / "questions.jsonl", [{"question": "how long?"}, {"question": "며칠?"}])
    first, second = read_questions(file)

    assert (first.id, first.question, first.answers, first.document) == ("1", "how long?", (), None)
    assert (first.answerable, first.language) == (None, "en")
    assert second.language == "ko"
    assert read_questions(tmp_path) == (first, second)


def test_all_that_is_known_is_read(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"question": "q", "answers": ["24 months", " "], "document": "a.md", "language": "en"},
        {"question": "q", "document": "a.md", "answerable": None},
        {"question": "q", "answers": [], "document": None, "answerable": False, "more": 1},
    ]
    file = lines(tmp_path / "own.jsonl", rows)
    file.write_text("\ufeff\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    found = read_questions(file)

    assert [one.id for one in found] == ["2", "3", "4"]
    assert found[0].answers == ("24 months",)
    assert [one.answerable for one in found] == [True, True, False]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"line 2 is no JSON \(.*\): mend it"),
        ("[1]", "line 2 is no JSON object: write"),
        ("{}", "line 2: question is missing or empty: write it or take the line out"),
        ('{"question": " "}', "line 2: question is missing or empty"),
        ('{"question": 7}', "line 2: question is 7: write a text"),
        ('{"question": "q", "document": ["a"]}', r"line 2: document is \['a'\]: write a text"),
        ('{"question": "q", "answers": "a"}', "line 2: answers must be a list of texts"),
        ('{"question": "q", "answers": [1]}', "line 2: answers must be a list of texts"),
        ('{"question": "q", "answerable": "no"}', "answerable is 'no': write true or false"),
        (
            '{"question": "q", "answers": ["a"], "answerable": false}',
            "line 2: answerable is false, yet there are 1 answers: take one",
        ),
    ],
)
def test_a_bad_line_is_named_with_its_remedy(tmp_path: Path, line: str, message: str) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text(f'{{"question": "q"}}\n{line}\n', encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        read_questions(file)


def test_a_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.jsonl is not there: write"):
        read_questions(tmp_path / "nowhere.jsonl")
    with pytest.raises(UsageError, match=r"questions\.jsonl is not there"):
        read_questions(tmp_path)
    empty, latin = tmp_path / "empty.jsonl", tmp_path / "latin.jsonl"
    empty.write_text("\n\n", encoding="utf-8")
    latin.write_bytes('{"question": "Wie lange gilt das für Öl?"}'.encode("latin-1"))
    with pytest.raises(UsageError, match="holds no question: write at least one"):
        read_questions(empty)
    with pytest.raises(UsageError, match=r"is not UTF-8 \(byte \d+\): save it"):
        read_questions(latin)
