"""CSV and TSV: each row a line, its cells beside the names of their columns."""

import csv
import io
from collections import Counter
from itertools import islice

from rag.loaders.cleaning import one_line
from rag.loaders.decoding import decode
from rag.loaders.rows import can_be_header, row_lines
from rag.records import ExtractedText

_DELIMITERS = ",;\t|"
_SAMPLE_ROWS = 50
_SAMPLE = 64 * 1024  # characters of which the delimiter is judged
_LARGEST_CELL = 2**31 - 1  # the most that the csv module takes on every platform


def read_csv(data: bytes, stem: str) -> ExtractedText:
    return _read(data, stem, media_type="text/csv", delimiter=None)


def read_tsv(data: bytes, stem: str) -> ExtractedText:
    return _read(data, stem, media_type="text/tab-separated-values", delimiter="\t")


def _read(data: bytes, stem: str, *, media_type: str, delimiter: str | None) -> ExtractedText:
    decoded = decode(data)
    rows = _rows(decoded.text, delimiter or _delimiter(decoded.text))
    has_header = bool(rows) and can_be_header(rows)
    lines = row_lines(rows[1:], rows[0]) if has_header else row_lines(rows, ())
    return ExtractedText("\n".join(lines), stem, media_type, warnings=decoded.warnings)


def _rows(text: str, delimiter: str) -> list[list[str]]:
    csv.field_size_limit(_LARGEST_CELL)
    try:
        rows = list(csv.reader(io.StringIO(text), delimiter=delimiter, strict=True))
    except csv.Error:
        rows = _misquoted_rows(text, delimiter)
    cells = ([one_line(cell) for cell in row] for row in rows)
    return [row for row in cells if any(row)]


def _misquoted_rows(text: str, delimiter: str) -> list[list[str]]:
    rows = list(csv.reader(io.StringIO(text), delimiter=delimiter))
    unquoted = list(csv.reader(io.StringIO(text), delimiter=delimiter, quoting=csv.QUOTE_NONE))
    # A quotation mark that is never closed swallows the rest of the file as one cell.
    if 2 * len(rows) >= len(unquoted):
        return rows
    return [[cell.strip('"') for cell in row] for row in unquoted]


def _delimiter(text: str) -> str:
    """Chooses the delimiter that cuts the most rows into the same number of cells."""
    sample = text[:_SAMPLE]
    if len(text) > _SAMPLE and "\n" in sample:
        sample = sample[: sample.rindex("\n")]
    return max(_DELIMITERS, key=lambda delimiter: _evenness(sample, delimiter))


def _evenness(sample: str, delimiter: str) -> float:
    csv.field_size_limit(_LARGEST_CELL)
    reader = csv.reader(io.StringIO(sample), delimiter=delimiter)
    widths = Counter(len(row) for row in islice(reader, _SAMPLE_ROWS) if row)
    cut = Counter({width: rows for width, rows in widths.items() if width > 1})
    return max(cut.values(), default=0) / max(widths.total(), 1)
