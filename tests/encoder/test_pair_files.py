"""Files of pairs: what is read, and which line is wrong."""

from pathlib import Path

import pytest

from encoder import pair_files
from encoder.pairs import Graded, Pair
from transformer.errors import TrainingError


def _file(folder: Path, *lines: str) -> Path:
    path = folder / "pairs.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_pairs_are_read_with_and_without_negatives(tmp_path: Path) -> None:
    file = _file(
        tmp_path,
        '{"query": "어디?", "positive": "여기", "negatives": ["저기", "거기"]}',
        "",
        '{"query": "who", "positive": "she", "more": 1}',
    )
    expected = [Pair("어디?", "여기", ("저기", "거기")), Pair("who", "she")]
    assert pair_files.read_pairs(file) == expected


def test_graded_pairs_are_read(tmp_path: Path) -> None:
    file = _file(tmp_path, '{"left": "a", "right": "b", "grade": 3}')
    assert pair_files.read_graded(file) == [Graded("a", "b", 3.0)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"pairs\.jsonl, line 2 is not JSON"),
        ("[1]", "line 2 must hold a JSON object"),
        ('{"positive": "b"}', 'line 2: "query" must be a text, and is None'),
        ('{"query": "a", "positive": " "}', 'line 2: "positive" must be a text'),
        ('{"query": "a", "positive": "b", "negatives": "c"}', '"negatives" must be a list of'),
        ('{"query": "a", "positive": "b", "negatives": [1]}', '"negatives" must be a list of'),
        (r'{"query": "a\ud800", "positive": "b"}', '"query" holds half of a character'),
        (r'{"query": "a", "positive": "b", "negatives": ["\udfff"]}', '"negatives" holds half'),
        ("[" * 100_000, "line 2 is not JSON"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    file = _file(tmp_path, '{"query": "a", "positive": "b"}', line)
    with pytest.raises(TrainingError, match=message):
        pair_files.read_pairs(file)


def test_a_grade_must_be_a_number(tmp_path: Path) -> None:
    wrong = dict.fromkeys(('"4"', "true", "null"), "a number")
    wrong |= dict.fromkeys(("NaN", "-Infinity", "9" * 400), "finite")
    for grade, told in wrong.items():
        file = _file(tmp_path, f'{{"left": "a", "right": "b", "grade": {grade}}}')
        with pytest.raises(TrainingError, match=f'line 1: "grade" must be {told}'):
            pair_files.read_graded(file)
