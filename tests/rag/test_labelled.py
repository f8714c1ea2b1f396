"""Tables of examples: what is read, and what is said of those that cannot be."""

from pathlib import Path

import pytest

from rag.errors import NotFound, Unreadable, UsageError
from rag.labelled import read_rows


def _written(folder: Path, name: str, text: str, encoding: str = "utf-8") -> Path:
    file = folder / name
    file.write_bytes(text.encode(encoding))
    return file


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", 'text,label\n"tea, green",good\nmilk,bad\n'),
        ("a.csv", 'text;label\r\n"tea, green";good\r\nmilk;bad\r\n'),
        ("a.tsv", "label\ttext\ngood\ttea, green\n\nbad\tmilk\n"),
        ("a.jsonl", '{"text": "tea, green", "label": "good"}\n\n{"text": "milk", "label": "bad"}'),
    ],
)
def test_tables_are_read_by_their_columns(tmp_path: Path, name: str, text: str) -> None:
    rows = read_rows(_written(tmp_path, name, text), needs=["text", "label"])
    assert rows.texts("text") == ["tea, green", "milk"]
    assert rows.column("label") == ["good", "bad"]


def test_old_korean_encodings_and_a_mark_in_front_are_read(tmp_path: Path) -> None:
    text = "text,label\n좋은 영화였다고 생각합니다,좋음\n지루해서 나왔습니다,나쁨\n"
    for name, encoding in (("a.csv", "cp949"), ("b.csv", "utf-8-sig")):
        rows = read_rows(_written(tmp_path, name, text, encoding), needs=["text", "label"])
        assert rows.column("label") == ["좋음", "나쁨"]


def test_numbers_of_json_stay_numbers_and_separators_are_text(tmp_path: Path) -> None:
    file = _written(tmp_path, "a.jsonl", '{"text": "a\u2028b", "label": 2}\n{"text": "c"}\n')
    rows = read_rows(file, needs=["text"])
    assert rows.column("label") == [2, ""]
    assert rows.texts("text") == ["a\u2028b", "c"]


def test_a_missing_column_names_those_that_are_there(tmp_path: Path) -> None:
    file = _written(tmp_path, "a.csv", "review,stars\nfine,4\n")
    with pytest.raises(UsageError, match=r"no column 'text'; its columns are: review, stars"):
        read_rows(file, needs=["text"])


def test_empty_texts_are_counted_with_their_line(tmp_path: Path) -> None:
    file = _written(tmp_path, "a.csv", "text,label\nfine,a\n ,b\n,c\n")
    with pytest.raises(Unreadable, match=r"2 of 3 rows have no text.*'text'.*line 3"):
        read_rows(file, needs=["text"]).texts("text")


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.csv", "", "holds no rows"),
        ("a.csv", "text,label\n", "holds no rows"),
        ("a.csv", "text,label\na,b,c\n", r"line 2: 3 cells, and the first line names 2 columns"),
        ("a.jsonl", '{"text": "a"}\n{"text": \n', "line 2: not JSON"),
        ("a.jsonl", '["a"]\n', "line 1: must be an object, such as"),
        ("a.jsonl", "[" * 100_000, "line 1: not JSON"),
        ("a.jsonl", r'{"text": "a", "label": "\ud800"}', "line 1: half of a character"),
        ("a.xlsx", "text", ".xlsx is no table; read are .csv, .tsv, .jsonl"),
        ("a.csv", "\x00\x01\x02\x03" * 50, "binary data"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, name: str, text: str, told: str) -> None:
    with pytest.raises(Unreadable, match=told):
        read_rows(_written(tmp_path, name, text), needs=[])


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no\.csv: no such file"):
        read_rows(tmp_path / "no.csv", needs=[])
