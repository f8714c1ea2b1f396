"""CSV and TSV: each row a line, its cells beside the names of their columns."""

import csv
import io
import re
from collections import Counter
from itertools import islice
from statistics import median

from rag.loaders.cleaning import one_line
from rag.loaders.decoding import decode
from rag.loaders.rows import can_be_header, row_lines
from rag.records import ExtractedText

# In case of a tie the first: a comma stands in numbers and sentences too.
_DELIMITERS = "\t;|,"
_NAMED_DELIMITER = re.compile(r"\A\"?sep=(?P<delimiter>.)\"?[ \t]*(?:\n|\Z)", re.I)  # for Excel
_SAMPLE_ROWS = 50
_MOST_CAPTIONS = 5  # lines above the header
_SAMPLE = 64 * 1024  # characters of which the delimiter is judged
_LARGEST_CELL = 2**31 - 1  # the most that the csv module takes on every platform


def read_csv(data: bytes, stem: str) -> ExtractedText:
    return _read(data, stem, media_type="text/csv", delimiter=None)


def read_tsv(data: bytes, stem: str) -> ExtractedText:
    return _read(data, stem, media_type="text/tab-separated-values", delimiter="\t")


def _read(data: bytes, stem: str, *, media_type: str, delimiter: str | None) -> ExtractedText:
    decoded = decode(data)
    text = decoded.text
    named = _NAMED_DELIMITER.match(text)
    if named:
        text, delimiter = text[named.end() :], named["delimiter"]
    above, rows = _without_captions(_rows(text, delimiter or _delimiter(text)))
    has_header = bool(rows) and can_be_header(rows)
    lines = row_lines(rows[1:], rows[0]) if has_header else row_lines(rows, ())
    return ExtractedText("\n".join(above + lines), stem, media_type, warnings=decoded.warnings)


def _without_captions(rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Parts the lines above a table, such as its title or its date, from its rows."""
    widths = [sum(map(bool, row)) for row in rows[:_SAMPLE_ROWS]]
    above = []
    if widths and median(widths) > 1:
        for row in rows[:_MOST_CAPTIONS]:
            filled = [cell for cell in row if cell]
            if len(filled) > 1:
                break
            above += filled
    return above, rows[len(above) :]


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
    if 2 * len(rows) > len(unquoted):
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
