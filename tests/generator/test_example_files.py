"""Conversations out of files: two forms of a line, and what is refused with its place."""

import json
from pathlib import Path

import pytest

from generator import Message
from generator.data import Example
from generator.example_files import read_examples
from transformer.errors import TrainingError


def _file(folder: Path, *rows: object) -> Path:
    file = folder / "examples.jsonl"
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def test_a_question_with_passages_is_written_as_the_product_asks(tmp_path: Path) -> None:
    row = {"system": "S", "passages": ["p", "q"], "question": "why", "answer": "so", "kind": "x"}
    bare = {"question": "hello", "answer": "hi"}
    first, second = read_examples([_file(tmp_path, row, "", bare)])
    asked = (Message("system", "S"), Message("user", "p\n\nq\n\nwhy"))
    assert first == Example(asked, "so", ("p", "q"))
    assert second == Example((Message("user", "hello"),), "hi")


def test_of_a_conversation_the_last_answer_is_learned(tmp_path: Path) -> None:
    turns = [("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "d")]
    row = {"messages": [{"role": role, "content": content} for role, content in turns]}
    (found,) = read_examples([_file(tmp_path, row)])
    assert found == Example(tuple(Message(*turn) for turn in turns[:3]), "d")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "row",
    [
        {"question": "a"},
        {"question": "a", "answer": " "},
        {"question": "a", "answer": 3},
        {"question": "a", "answer": "\ud800"},
        {"messages": [{"role": "user", "content": "a"}]},
        {"messages": [{"role": "judge", "content": "a"}, {"role": "assistant", "content": "b"}]},
        [],
    ],
)
def test_what_is_no_example_is_named_with_its_line(tmp_path: Path, row: object) -> None:
    file = _file(tmp_path, {"question": "a", "answer": "b"}, row)
    with pytest.raises(TrainingError, match=r'examples\.jsonl, line 2 must hold \{"question"'):
        read_examples([file])


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"line 1 is not JSON"):
        read_examples([_file(tmp_path, "{")])
    with pytest.raises(TrainingError, match=r"gone\.jsonl: no such file; name examples with"):
        read_examples([tmp_path / "gone.jsonl"])
    odd = tmp_path / "odd.jsonl"
    odd.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TrainingError, match="save it as UTF-8"):
        read_examples([odd])
