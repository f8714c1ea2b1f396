"""The XML of OpenDocument: paragraphs as text, tables as lines, notes apart."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from rag.loaders.cleaning import one_line
from rag.loaders.docx_tree import Element, local_name, value
from rag.loaders.grids import Row, Span, check_size, sheet_tables

# fmt: off
_GROUPS = frozenset((  # of rows
    "table-header-rows", "table-row-group", "table-rows",
))
# Notes and boxes are blocks of their own; furigana repeat what stands under them.
_UNREAD = frozenset((
    "annotation", "bookmark", "desc", "frame", "note", "ruby-text", "title", "tracked-changes",
))
# fmt: on
_AS_TEXT = frozenset(("line-break", "s", "soft-page-break", "tab"))
_MOST_REPEATED = 100  # times that a row or a cell with text is written out
_MIDNIGHT = re.compile(r"T00:00:00(?:\.0+)?$")


@dataclass(slots=True)
class Found:
    """What is met on the way through paragraphs and cells."""

    notes: list[Element] = field(default_factory=list)  # their bodies
    n_cells: int = 0  # that are filled
    uncomputed: int = 0  # formulas without a stored result


def paragraph_text(paragraph: Element, found: Found) -> str:
    return one_line("".join(_pieces(paragraph, found)))


def _pieces(parent: Element, found: Found) -> Iterator[str]:
    yield parent.text or ""
    for element in parent:
        name = local_name(element)
        if name == "note":
            found.notes += [body for body in element if local_name(body) == "note-body"]
        elif name in _AS_TEXT:
            yield " "
        elif name and name not in _UNREAD:
            yield from _pieces(element, found)
        yield element.tail or ""


def text_boxes(paragraph: Element) -> Iterator[Element]:
    """Gives the boxes that are anchored in a paragraph."""
    for element in paragraph:
        name = local_name(element)
        if name == "text-box":
            yield element
        elif name not in ("note", "annotation"):
            yield from text_boxes(element)


def table_lines(table: Element, found: Found) -> list[list[str]]:
    """Gives the lines of the table, and of each further one that an empty row sets off."""
    rows: list[Row] = []
    spans: list[Span] = []
    number = frozen = 0
    for element, is_header in _rows(table):
        row = Row(number, {})
        _read_cells(element, row, spans, found)
        times = _number(element, "number-rows-repeated")
        if row.cells or row.inner:
            found.n_cells += len(row.cells) * min(times, _MOST_REPEATED)
            check_size(found.n_cells)
            rows += [Row(number + n, dict(row.cells), inner=row.inner if n == 0 else [])
                     for n in range(min(times, _MOST_REPEATED))]  # fmt: skip
        number += times
        frozen = number if is_header else frozen
    return sheet_tables(rows, spans, frozen)


def _rows(parent: Element, *, is_header: bool = False) -> Iterator[tuple[Element, bool]]:
    for element in parent:
        name = local_name(element)
        if name == "table-row":
            yield element, is_header
        elif name in _GROUPS:
            yield from _rows(element, is_header=is_header or name == "table-header-rows")


def _read_cells(element: Element, row: Row, spans: list[Span], found: Found) -> None:
    column = 0
    for cell in element:
        name = local_name(cell)
        times = _number(cell, "number-columns-repeated")
        if name == "table-cell":
            text = _cell_text(cell, row, found)
            if text:
                row.cells |= dict.fromkeys(range(column, column + min(times, _MOST_REPEATED)), text)
            right = column + _number(cell, "number-columns-spanned") - 1
            bottom = row.number + _number(cell, "number-rows-spanned") - 1
            if (right, bottom) != (column, row.number):
                spans.append(Span(row.number, column, bottom, right))
        column += times if name in ("table-cell", "covered-table-cell") else 0


def _cell_text(cell: Element, row: Row, found: Found) -> str:
    """Gives what the cell shows, a date as ISO 8601 writes it; its tables become inner lines."""
    texts = []
    for block in cell.iter("{*}p", "{*}h", "{*}table"):
        if local_name(block) == "table":
            if _owner(block) is cell:
                row.inner += [line for lines in table_lines(block, found) for line in lines]
        elif _owner(block) is cell:
            texts.append(paragraph_text(block, found))
    text = " ".join(filter(None, texts))
    if value(cell, "formula") is not None and not text and value(cell, "value-type") is None:
        found.uncomputed += 1
    return _MIDNIGHT.sub("", value(cell, "date-value") or "") or text


def _owner(block: Element) -> Element | None:
    """Gives the cell that a block stands in; None for what stands in a comment or a note."""
    for parent in block.iterancestors():
        name = local_name(parent)
        if name in ("annotation", "note"):
            return None
        if name == "table-cell":
            return parent
    return None


def _number(element: Element, name: str) -> int:
    text = value(element, name) or ""
    return max(1, min(int(text), 10_000_000)) if text.isdecimal() else 1
