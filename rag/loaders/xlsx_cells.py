"""The cells of one sheet, read as a stream: memory grows with what is filled, not with its size."""

import re
from dataclasses import dataclass, field
from typing import IO
from xml.parsers import expat

from rag.loaders.cleaning import one_line
from rag.loaders.grids import Row, Span, check_size
from rag.loaders.number_formats import general, shown
from rag.loaders.xlsx_book import Book, Style, unescaped

_LAST_ROW, _LAST_COLUMN = 1_048_575, 16_383
_REFERENCE = re.compile(r"\$?([A-Za-z]{1,3})\$?(\d{1,7})")
_MIDNIGHT = re.compile(r"T00:00:00(?:\.0+)?Z?$")
_NUMBER = re.compile(r"\d{1,7}(?:\.\d*)?")
_PLAIN = Style("General", is_bold=False)


@dataclass(slots=True)
class Sheet:
    rows: list[Row] = field(default_factory=list)  # those with text, in order
    spans: list[Span] = field(default_factory=list)
    frozen: int = 0  # rows that stay on top
    uncomputed: int = 0  # formulas without a stored result


def read_sheet(file: IO[bytes], book: Book, n_before: int) -> Sheet:
    """Reads a sheet; `n_before` counts the filled cells of the sheets before it.

    Raises:
        UnsupportedFile: Together they are more than are read.
        ExpatError: The XML is damaged.
    """
    reading = _Reading(book, n_before)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = reading.start
    parser.EndElementHandler = reading.end
    parser.CharacterDataHandler = reading.text
    parser.ParseFile(file)
    rows = reading.rows
    reading.sheet.rows = [rows[number] for number in sorted(rows) if rows[number].cells]
    return reading.sheet


class _Reading:
    def __init__(self, book: Book, n_cells: int) -> None:
        self.sheet = Sheet()
        self.rows: dict[int, Row] = {}
        self._book = book
        self._n_cells = n_cells
        self._row, self._column = -1, -1
        self._cell: dict[str, str] = {}
        self._has_formula = False
        self._stored: str | None = None  # content of <v>
        self._inline = ""
        self._is_phonetic = False
        self._buffer: list[str] | None = None  # text of the element that is being read

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        if name == "c":
            self._cell = attributes
            self._has_formula, self._stored, self._inline = False, None, ""
            self._place(attributes.get("r", ""))
        elif name == "v" or (name == "t" and not self._is_phonetic):
            self._buffer = []
        elif name == "f":
            self._has_formula = True
        elif name == "rPh":
            self._is_phonetic = True
        elif name == "row":
            number = attributes.get("r", "")
            self._row = min(int(number) - 1, _LAST_ROW) if number.isdecimal() else self._row + 1
            self._column = -1
        elif name == "mergeCell":
            self.sheet.spans += _span(attributes.get("ref", ""))
        elif name == "pane" and attributes.get("state", "").startswith("frozen"):
            rows = attributes.get("ySplit", "")
            self.sheet.frozen = int(float(rows)) if _NUMBER.fullmatch(rows) else 0

    def text(self, text: str) -> None:
        if self._buffer is not None:
            self._buffer.append(text)

    def end(self, tag: str) -> None:
        name = tag.rpartition(":")[2]
        if name == "c":
            self._add()
        elif name == "rPh":
            self._is_phonetic = False
        elif self._buffer is not None and name in ("v", "t"):
            content = "".join(self._buffer)
            self._buffer = None
            if name == "v":
                self._stored = content
            else:
                self._inline += content

    def _place(self, reference: str) -> None:
        """Writers may leave out where a cell stands: then it is the next one."""
        found = _REFERENCE.fullmatch(reference)
        self._column = min(_column(found[1]) if found else self._column + 1, _LAST_COLUMN)
        if found:
            self._row = min(max(int(found[2]) - 1, 0), _LAST_ROW)

    def _add(self) -> None:
        style = self._style()
        text = self._shown(style)
        if not text:
            return
        self._n_cells += 1
        check_size(self._n_cells)
        row = self.rows.get(self._row)
        if row is None:
            row = self.rows[self._row] = Row(self._row, {}, is_bold=True)
        row.is_bold = row.is_bold and style.is_bold
        row.cells[self._column] = text

    def _style(self) -> Style:
        number = self._cell.get("s", "")
        styles = self._book.styles
        return styles[int(number)] if number.isdecimal() and int(number) < len(styles) else _PLAIN

    def _shown(self, style: Style) -> str:
        """Gives what the cell shows, on one line; nothing for what has no stored result."""
        kind = self._cell.get("t", "n")
        if kind == "inlineStr":
            return one_line(unescaped(self._inline))
        stored = (self._stored or "").strip()
        if not stored:
            is_computed = kind == "str" and self._stored is not None  # a formula that gives no text
            self.sheet.uncomputed += self._has_formula and not is_computed
            return ""
        match kind:
            case "s":
                texts = self._book.texts
                return texts[int(stored)] if stored.isdecimal() and int(stored) < len(texts) else ""
            case "b":
                return "TRUE" if stored in ("1", "true") else "FALSE"
            case "d":
                return _MIDNIGHT.sub("", stored)
            case "n":
                return self._number(stored, style.format)
        return one_line(unescaped(stored))

    def _number(self, stored: str, code: str) -> str:
        try:
            number = float(stored)
        except ValueError:
            return one_line(stored)
        if code == "General":
            return general(number)
        return one_line(shown(number, code, from_1904=self._book.from_1904))


def _column(letters: str) -> int:
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - 64
    return number - 1


def _span(reference: str) -> list[Span]:
    first, _, last = reference.partition(":")
    start, end = _REFERENCE.fullmatch(first), _REFERENCE.fullmatch(last)
    if not start or not end:
        return []
    return [Span(int(start[2]) - 1, _column(start[1]), int(end[2]) - 1, _column(end[1]))]
