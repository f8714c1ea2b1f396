"""Word tables as lines of text, each cell once, with the tables inside their cells."""

from dataclasses import dataclass

from rag.loaders.docx_tree import Element, Styles, child, members, paragraph_text, value
from rag.loaders.rows import Place, column_names, first_row_is_header, places, row_lines, values

_MOST_COLUMNS = 100


@dataclass(frozen=True, slots=True)
class _Row:
    line: list[Place]
    inner: list[Element]  # tables inside its cells
    is_header: bool


def table_lines(table: Element, styles: Styles) -> list[str]:
    """Gives a line for each row; the rows of an inner table follow the row that holds it."""
    rows: list[_Row] = []
    for row in members(table, "tr"):
        rows.append(_row(row, rows[-1].line if rows else []))
    n_headers = _count_header_rows(table, rows, styles)
    names = column_names([row.line for row in rows[:n_headers]])
    lines = []
    for index, row in enumerate(rows):
        # Names stand beside their values; they need a line only in a table without any.
        if index >= n_headers or n_headers == len(rows):
            lines += row_lines([values(row.line)], names if index >= n_headers else ())
        for inner in row.inner:
            lines += table_lines(inner, styles)
    return lines


def _row(row: Element, above: list[Place]) -> _Row:
    """Reads a row. A cell that spans rows counts in each, so that every line says whose values it
    holds."""
    before = value(child(row, "trPr", "gridBefore"))
    line = places("", _number(before, default=0))
    inner: list[Element] = []
    for cell in members(row, "tc"):
        columns = _number(value(child(cell, "tcPr", "gridSpan")), default=1)
        if _continues(cell):
            line += above[len(line) : len(line) + columns] or places("", columns)
        else:
            line += places(_cell_text(cell), columns)
            inner += members(cell, "tbl")
    return _Row(line, inner, is_header=_is_on(child(row, "trPr", "tblHeader")))


def _continues(cell: Element) -> bool:
    """Says whether the cell above spans this one too."""
    merge = child(cell, "tcPr", "vMerge")
    return merge is not None and value(merge) != "restart"


def _cell_text(cell: Element) -> str:
    """Gives a cell's own paragraphs on one line."""
    return " ".join(filter(None, map(paragraph_text, members(cell, "p"))))


def _count_header_rows(table: Element, rows: list[_Row], styles: Styles) -> int:
    marked = 0
    while marked < len(rows) and rows[marked].is_header:
        marked += 1
    if marked or len(rows) < 2:
        return marked
    by_style = styles.marks_first_row(value(child(table, "tblPr", "tblStyle"))) and _is_on(
        child(table, "tblPr", "tblLook"), "firstRow"
    )
    first, *others = (_is_bold(row) for row in members(table, "tr"))
    stands_out = first and not all(others)
    return int(by_style or stands_out or first_row_is_header([values(row.line) for row in rows]))


def _is_bold(row: Element) -> bool:
    """Says whether all text of a row is bold; a row without text is not."""
    weights = [
        _is_on(child(run, "rPr", "b"))
        for cell in members(row, "tc")
        for paragraph in members(cell, "p")
        for run in members(paragraph, "r")
        if paragraph_text(run)
    ]
    return bool(weights) and all(weights)


def _is_on(switch: Element | None, name: str = "val") -> bool:
    return switch is not None and (value(switch, name) or "1") not in ("0", "false", "off")


def _number(text: str | None, *, default: int) -> int:
    return min(int(text), _MOST_COLUMNS) if text is not None and text.isdigit() else default
