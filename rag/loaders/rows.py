"""Tables as text: a row a line, each cell beside the name of its column.

A chunk is a slice of the document's text, so the header has to stand in every row: a chunk from the
middle of a long table would otherwise be bare values.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

_LONGEST = 100  # characters of a column's name; a longer cell is content
_VALUE = re.compile(r"(?:[A-Z]{3})?\W*\d[\d.,:/\s-]*\W*\w{0,3}\W*")  # 3.5, 18 %, EUR 38, 7300원
_PERIOD = re.compile(r"(?:19|20)\d\d(?:년|년도|[-./ ]?\w{1,3})?|\d{1,2} ?(?:월|분기|회|차|주차)")


class Place(NamedTuple):
    """One column of one row. A cell that spans columns takes several."""

    text: str
    is_first: bool


def places(text: str, columns: int) -> list[Place]:
    return [Place(text, column == 0) for column in range(columns)]


def values(line: Sequence[Place]) -> list[str]:
    """Gives the texts of a row of values, each once, in the first of its columns."""
    return [place.text if place.is_first else "" for place in line]


def column_names(header: Sequence[Sequence[Place]]) -> list[str]:
    """Joins the names that stand above each other: `2024` over `income` is `2024 income`."""
    width = max(map(len, header), default=0)
    columns = (
        [line[column].text for line in header if column < len(line)] for column in range(width)
    )
    return [" ".join(dict.fromkeys(name for name in column if name)) for column in columns]


def row_lines(rows: Sequence[Sequence[str]], header: Sequence[str]) -> list[str]:
    """Gives a line for each row that has content: `header: value | header: value`.

    Cells are one line of text each. Those past the end of the header, or under a column without a
    name, stand alone; an empty header gives bare values.
    """
    lines = (_row_line(row, header) for row in rows)
    return [line for line in lines if line]


def _row_line(row: Sequence[str], header: Sequence[str]) -> str:
    cells = []
    for column, cell in enumerate(row):
        name = header[column].rstrip(": ") if column < len(header) else ""
        if cell:
            cells.append(f"{name}: {cell}" if name else cell)
    return " | ".join(cells)


def can_be_header(rows: Sequence[Sequence[str]]) -> bool:
    """Says whether the first row could name the columns: short, different, and no values."""
    names = [cell for cell in rows[0] if cell]
    if len(rows) < 2 or len(set(names)) < len(names) or max(map(len, names), default=0) > _LONGEST:
        return False
    values = [name for name in names if _VALUE.fullmatch(name)]
    # A column may be named by a year or a month, but then another one says what the rows are.
    return len(values) < len(names) and all(_PERIOD.fullmatch(value) for value in values)


def first_row_is_header(rows: Sequence[Sequence[str]]) -> bool:
    """Judges a table that does not mark its header, such as one drawn in a word processor.

    Two columns of words are more often a form, whose first column names the values.
    """
    if not can_be_header(rows):
        return False
    return _stands_over_values(rows) or (len(rows[0]) > 2 and all(rows[0]))


def _stands_over_values(rows: Sequence[Sequence[str]]) -> bool:
    """Some column has a digit in every cell but the first: then the first one names it."""
    return any(
        not _has_digit(column[0]) and all(_has_digit(cell) for cell in column[1:])
        for column in zip(*rows, strict=False)
    )


def _has_digit(cell: str) -> bool:
    return any(c.isdigit() for c in cell)
