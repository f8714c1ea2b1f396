"""Tables of texts, with labels or without: CSV, TSV and JSON Lines."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rag.errors import NotFound, Unreadable, UsageError
from rag.loaders.decoding import decode
from rag.loaders.errors import LoadError

TABLES = (".csv", ".tsv", ".jsonl")
_DELIMITERS = ",\t;|"  # in case of a tie the first
_LARGEST_CELL = 2**31 - 1  # the most that the csv module takes on every platform


@dataclass(frozen=True, slots=True)
class Rows:
    """A table whose columns have names."""

    file: Path
    columns: tuple[str, ...]
    rows: tuple[dict[str, str | float], ...]
    places: tuple[int, ...]  # of each row: the line of the file that it ends on, or stands on

    def column(self, name: str) -> list[str | float]:
        """The cells of a column.

        Raises:
            UsageError: there is none of that name.
        """
        if name not in self.columns:
            known = ", ".join(self.columns) or "none"
            raise UsageError(f"{self.file} has no column {name!r}; its columns are: {known}")
        return [row.get(name, "") for row in self.rows]

    def texts(self, name: str) -> list[str]:
        """The cells of a column, each of which must hold a text.

        Raises:
            UsageError: there is none of that name.
            Unreadable: a cell is empty, or holds a number.
        """
        cells = self.column(name)
        wrong = [i for i, cell in enumerate(cells) if not isinstance(cell, str) or not cell.strip()]
        if wrong:
            raise Unreadable(
                f"{self.file}: {len(wrong)} of {len(cells)} rows have no text in the column "
                f"{name!r}, the first is on line {self.places[wrong[0]]}: fill them in or leave "
                "them out"
            )
        return [str(cell) for cell in cells]


def read_rows(file: Path, *, needs: Sequence[str]) -> Rows:
    """Read a table.

    Args:
        file: its suffix says how it is written
        needs: columns that it must have; of a CSV they also tell the delimiter

    Raises:
        NotFound: there is no such file.
        Unreadable: it is damaged, empty, or of another kind.
        UsageError: a column is missing; the message names those that are there.
    """
    if not file.is_file():
        raise NotFound(f"{file}: no such file")
    match file.suffix.lower():
        case ".jsonl":
            found = _json_lines(file)
        case ".csv" | ".tsv":
            found = _table(file, needs)
        case suffix:
            known = ", ".join(TABLES)
            raise Unreadable(f"{file}: {suffix or 'no suffix'} is no table; read are {known}")
    if not found.rows:
        raise Unreadable(f"{file} holds no rows")
    for name in needs:
        found.column(name)
    return found


def _json_lines(file: Path) -> Rows:
    try:  # as it stands: a separator of lines within a text is no end of a line here
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        text = _decoded(file)
    rows: list[dict[str, str | float]] = []
    places: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise Unreadable(f"{file}, line {number}: not JSON ({error})") from error
        if not isinstance(row, dict):
            raise Unreadable(f"{file}, line {number}: must be an object, such as {_EXAMPLE}")
        cells = {str(name): _cell(value) for name, value in row.items()}
        try:
            "".join([*cells, *map(str, cells.values())]).encode()
        except UnicodeEncodeError as error:  # JSON can write what no text holds
            raise Unreadable(f"{file}, line {number}: half of a character ({error})") from error
        rows.append(cells)
        places.append(number)
    columns = tuple(dict.fromkeys(name for row in rows for name in row))
    return Rows(file, columns, tuple(rows), tuple(places))


def _decoded(file: Path) -> str:
    try:
        return decode(file.read_bytes()).text
    except LoadError as error:
        raise Unreadable(f"{file}: {error}") from error


_EXAMPLE = '{"text": "…", "label": "…"}'


def _cell(value: object) -> str | float:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    return json.dumps(value, ensure_ascii=False)


def _table(file: Path, needs: Sequence[str]) -> Rows:
    csv.field_size_limit(_LARGEST_CELL)
    text = _decoded(file)
    marks = "\t" if file.suffix.lower() == ".tsv" else _DELIMITERS
    read = [list(_lines(file, text, mark)) for mark in marks]
    best = max(read, key=lambda lines: _fit(lines, needs))
    if not best:
        return Rows(file, (), (), ())
    columns = tuple(name.strip() for name in best[0][1])
    rows, places = [], []
    for number, cells in best[1:]:
        if any(cells):
            if len(cells) > len(columns):
                raise Unreadable(
                    f"{file}, line {number}: {len(cells)} cells, and the first line names "
                    f"{len(columns)} columns: put texts with the delimiter in quotation marks"
                )
            rows.append(dict[str, str | float](zip(columns, cells, strict=False)))
            places.append(number)
    return Rows(file, columns, tuple(rows), tuple(places))


def _lines(file: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        for cells in lines:
            yield lines.line_num, cells
    except csv.Error as error:
        raise Unreadable(f"{file}, line {lines.line_num}: {error}") from error


def _fit(lines: Sequence[tuple[int, list[str]]], needs: Sequence[str]) -> tuple[int, int]:
    names = [name.strip() for name in lines[0][1]] if lines else []
    return sum(name in names for name in needs), len(names)
