import json

import pytest

from rag.loaders.errors import BrokenFile
from rag.loaders.json import read_json, read_json_lines


def _text(source: str) -> str:
    return read_json(source.encode(), "stem").text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (
            '{"name": "등대", "place": {"city": "속초", "at": [38.2, 128.6]}}',
            "name: 등대\nplace.city: 속초\nplace.at: 38.2, 128.6",
        ),
        (
            '[{"id": 1, "name": "lamp"}, {"id": 2, "name": "rope", "size": {"m": 30}}]',
            "id: 1 | name: lamp\nid: 2 | name: rope | size.m: 30",
        ),
        (
            '{"items": [{"sku": "A-1", "n": 2}, {"sku": "B-2"}]}',
            "items: sku: A-1 | n: 2\nitems: sku: B-2",
        ),
        (
            '[{"text": "two\\nlines", "by": "Kim"}, {"by": "Lee"}]',
            "text: two\nlines\nby: Kim\n\nby: Lee",
        ),
        (
            '{"n": 12345678901234567890123.50, "e": 1e400, "x": NaN, "y": -Infinity}',
            "n: 12345678901234567890123.50\ne: 1e400\nx: NaN\ny: -Infinity",
        ),
        (f'{{"n": {"9" * 5000}}}', f"n: {'9' * 5000}"),
        ('{"a": 1, "a": 2}', "a: 1\na: 2"),
        ('{"none": null, "empty": "", "no": false, "zero": 0, "list": []}', "no: false\nzero: 0"),
        ('{"a": 1}{"a": 2}\n{"a": 3}', "a: 1\na: 2\na: 3"),
        ('"\\ud83c\\udf3e"', "🌾"),
        ('[["a", 1], ["b", 2]]', "a, 1\nb, 2"),
        ("\ufeff[1, 2]", "1, 2"),
    ],
)
def test_values_stand_beside_their_paths(source: str, text: str) -> None:
    assert _text(source) == text


def test_a_long_record_is_a_block() -> None:
    records = [{"name": "a", "note": "word " * 200}, {"name": "b", "note": "x"}]

    text = _text(json.dumps(records))

    assert text.startswith("name: a\nnote: word")
    assert text.endswith("word\n\nname: b | note: x")


def test_half_a_letter_is_counted() -> None:
    assert read_json(b'{"a": "x\\ud800y"}', "stem").warnings == ("1 unreadable character",)


@pytest.mark.parametrize(
    "shape", ["[" * 50_000 + "1" + "]" * 50_000, '{"a":' * 900 + "1" + "}" * 900]
)
def test_deep_nesting_is_no_crash(shape: str) -> None:
    document = read_json(shape.encode(), "stem")

    assert "1" in document.text
    assert document.warnings in ((), ("nested too deep: read as plain text",))


def test_what_is_no_json_is_read_as_text_and_says_where_it_breaks() -> None:
    document = read_json(b'{\n  // colour\n  "a": "mauve"\n}', "stem")

    assert '"mauve"' in document.text
    assert "no valid JSON" in document.warnings[0]
    assert "in line 2, column 3): read as plain text" in document.warnings[0]


def test_an_encoding_of_old_is_found() -> None:
    assert read_json('{"이름": "나비가 난다"}'.encode("cp949"), "stem").text == "이름: 나비가 난다"


def test_lines_that_are_broken_are_counted_and_the_others_kept() -> None:
    document = read_json_lines(b'{"a": 1}\nbroken\n\n{"a": 2}\r\n{"a": \n', "stem")

    assert document.text == "a: 1\na: 2"
    assert document.media_type == "application/jsonl"
    assert document.warnings == (
        "2 of 4 lines could not be read as JSON and were left out: line 2, 5",
    )


def test_records_over_several_lines_are_read_under_the_suffix_of_lines() -> None:
    assert read_json_lines(b'{\n"a": 1\n}\n{\n"a": 2\n}', "stem").text == "a: 1\na: 2"


def test_no_line_of_json_at_all_is_a_reason() -> None:
    with pytest.raises(BrokenFile, match=r"none of the 2 lines .* give it the suffix"):
        read_json_lines(b"one\ntwo", "stem")


def test_a_line_separator_in_a_string_ends_no_record() -> None:
    source = '{"a": "one\u2028two", "b": 1}\nbroken\n{"a": 2}\n'

    document = read_json_lines(source.encode(), "stem")

    assert document.text == "a: one\ntwo\nb: 1\n\na: 2"
    assert document.warnings[0].endswith("left out: line 3")
