"""Pairs that people made: JSONL files, a pair a line."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from encoder.pairs import Graded, Pair
from transformer.errors import TrainingError


def read_pairs(file: Path) -> list[Pair]:
    """Lines of {"query", "positive", "negatives"}; negatives may be missing.

    Raises:
        TrainingError: a line is no such object; its number is named.
    """
    return [
        Pair(_text(row, "query", at), _text(row, "positive", at), _texts(row, "negatives", at))
        for at, row in _rows(file)
    ]


def read_graded(file: Path) -> list[Graded]:
    """Lines of {"left", "right", "grade"}.

    Raises:
        TrainingError: a line is no such object; its number is named.
    """
    return [
        Graded(_text(row, "left", at), _text(row, "right", at), _number(row, "grade", at))
        for at, row in _rows(file)
    ]


def _rows(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    with file.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            at = f"{file}, line {number}"
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise TrainingError(f"{at} is not JSON: {error}") from error
            if not isinstance(row, dict):
                raise TrainingError(f"{at} must hold a JSON object")
            yield at, row


def _text(row: dict[str, Any], name: str, at: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        raise TrainingError(f'{at}: "{name}" must be a text, and is {value!r}')
    return _whole(value, name, at)


def _texts(row: dict[str, Any], name: str, at: str) -> tuple[str, ...]:
    values = row.get(name, [])
    if not isinstance(values, list) or not all(isinstance(v, str) and v.strip() for v in values):
        raise TrainingError(f'{at}: "{name}" must be a list of texts, and is {values!r}')
    return tuple(_whole(value, name, at) for value in values)


def _whole(text: str, name: str, at: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:  # JSON can write what no text holds
        raise TrainingError(f'{at}: "{name}" holds half of a character: {error}') from error
    return text


def _number(row: dict[str, Any], name: str, at: str) -> float:
    value = row.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TrainingError(f'{at}: "{name}" must be a number, and is {value!r}')
    if not abs(value) <= sys.float_info.max:  # nor is NaN
        raise TrainingError(f'{at}: "{name}" must be finite, and is {value!r}')
    return float(value)
