"""The cells of a sheet as tables: where one begins, what names its columns, a line for each row."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from rag.loaders.errors import UnsupportedFile
from rag.loaders.rows import (
    Place,
    can_be_header,
    column_names,
    first_row_is_header,
    places,
    row_lines,
)

MOST_CELLS = 2_000_000  # filled ones in a file of sheets
_SAMPLE = 50  # rows by which a header is judged
_MOST_HEADERS = 4  # rows of names above each other
_MOST_SPREAD = 200_000  # cells into which the merged cells of a sheet are written
_WIDEST_SAMPLE = 200  # columns of a row that is judged


def check_size(n_cells: int) -> None:
    """Raises UnsupportedFile for more filled cells than are read."""
    if n_cells > MOST_CELLS:
        raise UnsupportedFile(
            f"the file has more than {MOST_CELLS:,} filled cells: split it, "
            "or keep a table of that size in a database"
        )


class Span(NamedTuple):
    """A merged cell: 0-based, the last row and column included."""

    top: int
    left: int
    bottom: int
    right: int


@dataclass(slots=True)
class Row:
    number: int  # 0-based
    cells: dict[int, str]  # by column, only those with text, one line each
    is_bold: bool = False  # all of its text
    covered: set[int] = field(default_factory=set)  # columns under a cell that begins further left
    inner: list[str] = field(default_factory=list)  # lines of tables in its cells

    @property
    def width(self) -> int:
        """How many cells with text of its own it has."""
        return len(self.cells.keys() - self.covered)


def sheet_tables(
    rows: Sequence[Row], spans: Sequence[Span] = (), frozen: int = 0
) -> list[list[str]]:
    """Gives the lines of each table of a sheet; `frozen` counts the rows that stay on top.

    An empty row ends a table. What follows without names of its own, under the same columns, is
    read as its next part.
    """
    _spread(rows, spans)
    tables: list[list[str]] = []
    names: dict[int, str] = {}
    for block in _blocks(rows):
        for part in _side_by_side(block):
            table = _Table(part, frozen)
            header = table.names or (names if table.fits(names) else {})
            if header:
                names = header
            tables.append(table.lines(header))
    return [table for table in tables if table]


def _spread(rows: Sequence[Row], spans: Sequence[Span]) -> None:
    """Writes a merged cell's text into all rows and columns that it covers."""
    numbers = [row.number for row in rows]
    left = _MOST_SPREAD
    for span in spans:
        top = bisect_left(numbers, span.top)
        if top == len(rows) or numbers[top] != span.top or span.left not in rows[top].cells:
            continue
        text = rows[top].cells[span.left]
        for row in rows[top : bisect_left(numbers, span.bottom + 1)]:
            left -= span.right - span.left + 1
            if left < 0:
                return
            columns = range(span.left, span.right + 1)
            row.cells |= {column: text for column in columns if column not in row.cells}
            row.covered |= set(columns[1:])


def _blocks(rows: Sequence[Row]) -> list[list[Row]]:
    blocks: list[list[Row]] = [[*rows[:1]]] if rows else []
    for above, row in pairwise(rows):
        if row.number > above.number + 1:
            blocks.append([])
        blocks[-1].append(row)
    return blocks


def _side_by_side(block: list[Row]) -> list[list[Row]]:
    """Splits at empty columns, but only tables that name their columns each: a gap may be style."""
    used = sorted(set().union(*(row.cells for row in block)))
    starts = [0, *(place + 1 for place, (a, b) in enumerate(pairwise(used)) if b > a + 1)]
    groups = [used[start:end] for start, end in pairwise([*starts, len(used)])]
    if len(groups) == 1 or any(len(group) < 2 for group in groups):
        return [block]
    parts = [[_cut(row, group[0], group[-1]) for row in block] for group in groups]
    parts = [[row for row in part if row.cells or row.inner] for part in parts]
    return parts if all(_Table(part, 0).names for part in parts) else [block]


def _cut(row: Row, first: int, last: int) -> Row:
    cells = {column: text for column, text in row.cells.items() if first <= column <= last}
    inner = row.inner if first <= min(row.cells, default=first) <= last else []
    return Row(row.number, cells, row.is_bold, row.covered & cells.keys(), inner)


class _Table:
    """A block of rows: lines above it, names of its columns, and its rows."""

    def __init__(self, rows: list[Row], frozen: int) -> None:
        is_wide = any(row.width > 1 for row in rows)
        start = 0
        first = min(min(row.cells, default=0) for row in rows)
        while is_wide and _is_caption(rows[start], first):
            start += 1
        self._captions = rows[:start]
        body = rows[start:]
        self._columns = set(body[0].cells).union(*(row.cells for row in body[1:_SAMPLE]))
        n_headers = _count_headers(body, sorted(self._columns)[:_WIDEST_SAMPLE], frozen)
        self._headers = body[:n_headers]
        self._rows = body[n_headers:]
        self.names = _names(self._headers)

    def fits(self, names: dict[int, str]) -> bool:
        return len(self._columns) > 1 and self._columns <= names.keys()

    def lines(self, names: dict[int, str]) -> list[str]:
        lines: list[str] = []
        for row in self._captions:
            lines += row_lines([list(row.cells.values())[:1]], ()) + row.inner
        for row in self._headers:
            lines += row.inner  # names stand beside their values, not in lines of their own
        for row in self._rows:
            columns = sorted(row.cells.keys() - row.covered)
            texts = [row.cells[column] for column in columns]
            lines += row_lines([texts], [names.get(column, "") for column in columns]) + row.inner
        return lines


def _is_caption(row: Row, first: int) -> bool:
    """A cell alone in its row, unless it spans some of the columns: then it names them."""
    return row.width == 1 and (not row.covered or first in row.cells)


def _count_headers(rows: list[Row], columns: list[int], frozen: int) -> int:
    count = 1
    while count < min(len(rows) - 1, _MOST_HEADERS) and rows[count - 1].covered:
        count += 1  # a name over several columns has other names below it
    sample = rows[count : count + _SAMPLE]
    names = _names(rows[:count])
    dense = [[names.get(c, "") for c in columns]]
    dense += [[row.cells.get(c, "") for c in columns] for row in sample]
    if not sample or not can_be_header(dense):
        return 0
    is_bold = all(row.is_bold for row in rows[:count]) and not all(row.is_bold for row in sample)
    is_frozen = rows[count - 1].number < frozen
    return count if is_bold or is_frozen or first_row_is_header(dense) else 0


def _names(rows: list[Row]) -> dict[int, str]:
    columns = sorted(set().union(*(row.cells for row in rows)))
    lines: list[list[Place]] = [
        [place for column in columns for place in places(row.cells.get(column, ""), 1)]
        for row in rows
    ]
    return dict(zip(columns, column_names(lines), strict=True))
