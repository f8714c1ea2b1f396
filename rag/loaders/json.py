"""JSON: each value beside its path, each record of a list on lines of its own.

Numbers are kept as they are written and a key that stands twice is kept twice: what a parser makes
of them is not what the file says.
"""

import json
import re
from collections.abc import Iterator

from rag.loaders.building import TextBuilder
from rag.loaders.cleaning import one_line, warn_unreadable
from rag.loaders.decoding import decode
from rag.loaders.errors import BrokenFile
from rag.records import ExtractedText

_LONGEST_ROW = 600  # characters of a record on one line; a longer one is a block
_NAMED_LINES = 10  # broken lines that a warning names
_MOST_LINES = 20  # that one record may take
_BETWEEN = re.compile(r"[\s,\x1e]*")  # between the values of a file that holds several


class _Object(tuple[tuple[str, object], ...]):
    """An object as its pairs, in order."""

    __slots__ = ()


_DECODER = json.JSONDecoder(
    object_pairs_hook=_Object, parse_int=str, parse_float=str, parse_constant=str, strict=False
)


def read_json(data: bytes, stem: str) -> ExtractedText:
    """Reads one value, or several after each other. What is no JSON is read as plain text."""
    decoded = decode(data)
    try:
        values = list(_values(decoded.text))
        blocks = list(_blocks(values[0] if len(values) == 1 else values))
    except json.JSONDecodeError as error:
        where = f"{error.msg.lower()} in line {error.lineno}, column {error.colno}"
        return _plain(decoded.text, stem, (*decoded.warnings, f"no valid JSON ({where})"))
    except RecursionError:
        return _plain(decoded.text, stem, (*decoded.warnings, "nested too deep"))
    return _finish(blocks, stem, "application/json", decoded.warnings)


def read_json_lines(data: bytes, stem: str) -> ExtractedText:
    """Reads a value a line. Raises BrokenFile where no line holds one."""
    decoded = decode(data)
    records, broken = _lines(decoded.text)
    warnings = decoded.warnings
    if not records and broken:
        records, warnings = _several(decoded.text, broken), warnings
    elif broken:
        named = ", ".join(map(str, broken[:_NAMED_LINES])) + (", …" * (len(broken) > _NAMED_LINES))
        warnings += (
            f"{len(broken)} of {len(broken) + len(records)} lines could not be read as JSON "
            f"and were left out: line {named}",
        )
    blocks = [block for record in records for block in _record(record)]
    return _finish(blocks, stem, "application/jsonl", warnings)


def _values(text: str) -> Iterator[object]:
    place = _after_gap(text, 0)
    while place < len(text):
        value, place = _DECODER.raw_decode(text, place)
        yield value
        place = _after_gap(text, place)


def _after_gap(text: str, place: int) -> int:
    gap = _BETWEEN.match(text, place)
    return gap.end() if gap else place


def _lines(text: str) -> tuple[list[object], list[int]]:
    """Gives the values, and the numbers of the lines that hold none."""
    records: list[object] = []
    broken = []
    lines = text.split("\n")
    place = 0
    while place < len(lines):
        n_lines = 1
        if lines[place].strip():
            record, n_lines = _line(lines[place : place + _MOST_LINES])
            if n_lines:
                records.append(record)
            else:
                broken.append(place + 1)
        place += max(n_lines, 1)
    return records, broken


def _line(lines: list[str]) -> tuple[object, int]:
    """Gives the value of a line and how many lines it takes, 0 where there is none.

    A string may hold a line separator, which reads as the end of a line.
    """
    source = ""
    for count, line in enumerate(lines, start=1):
        if count > 1 and line.lstrip().startswith(("{", "[")):
            break
        source += line if count == 1 else "\n" + line
        try:
            record = _DECODER.decode(source)
            list(_record(record))
        except json.JSONDecodeError:
            continue
        except RecursionError:
            break
        return record, count
    return None, 0


def _several(text: str, broken: list[int]) -> list[object]:
    """Reads values that are spread over lines, as a file of another suffix would hold them."""
    try:
        return list(_values(text))
    except (json.JSONDecodeError, RecursionError) as error:
        raise BrokenFile(
            f"none of the {len(broken)} lines of the file holds a JSON value: "
            "give it the suffix .json or .txt"
        ) from error


def _blocks(value: object) -> Iterator[str]:
    if isinstance(value, list) and any(isinstance(each, _Object | list) for each in value):
        for each in value:
            yield from _record(each)
    else:
        yield from _nested("", value)


def _record(value: object) -> Iterator[str]:
    """Gives a record as one row where it is short, else as a block of lines."""
    lines = list(_nested("", value))
    row = " | ".join(lines)
    if "\n" in row or len(row) > _LONGEST_ROW or _holds_records(value):
        row = "\n".join(lines)
    if row:
        yield row


def _nested(path: str, value: object) -> Iterator[str]:
    """Gives a line for each value that says something: `path: value`."""
    if isinstance(value, _Object):
        for key, each in value:
            name = one_line(key)
            yield from _nested(f"{path}.{name}" if path else name, each)
    elif isinstance(value, list):
        yield from _list(path, value)
    else:
        text = _scalar(value)
        if text:
            yield f"{path}: {text}" if path else text


def _list(path: str, values: list[object]) -> Iterator[str]:
    plain = [_scalar(value) for value in values if not isinstance(value, _Object | list)]
    named = ", ".join(filter(None, plain))
    if named:
        yield f"{path}: {named}" if path else named
    for value in values:
        if isinstance(value, _Object | list):
            for row in _record(value):
                yield f"{path}: {row}" if path else row


def _holds_records(value: object) -> bool:
    parts = [each for _, each in value] if isinstance(value, _Object) else []
    return any(isinstance(p, list) and any(isinstance(e, _Object) for e in p) for p in parts)


def _scalar(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case _:
            return str(value).strip()


def _plain(text: str, stem: str, warnings: tuple[str, ...]) -> ExtractedText:
    warnings = (*warnings[:-1], f"{warnings[-1]}: read as plain text")
    return ExtractedText(text, stem, "application/json", warnings=warnings)


def _finish(
    blocks: list[str], stem: str, media_type: str, warnings: tuple[str, ...]
) -> ExtractedText:
    builder = TextBuilder()
    was_row = True
    for block in blocks:
        is_row = "\n" not in block
        builder.add(block, apart=not (is_row and was_row))
        was_row = is_row
    return builder.finish(stem, media_type, warnings + warn_unreadable(builder.unreadable))
