"""HTML tables as rows of cells: spans resolved, headers found."""

from dataclasses import dataclass

from selectolax.lexbor import LexborNode

from rag.loaders.html_tree import HEADINGS, children, inner_text
from rag.loaders.rows import Place, column_names, first_row_is_header, places, row_lines, values

_MOST_COLUMNS = 100  # that one cell may span; browsers allow 1,000
_MOST_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class _Cell:
    text: str
    is_header: bool
    columns: int
    rows: int


def is_data_table(table: LexborNode) -> bool:
    """False for a table that only arranges the page: one cell wide, or with blocks inside it."""
    if table.attributes.get("role") in ("presentation", "none"):
        return False
    if _holds_blocks(table):
        return False
    return any(len(row) > 1 for row, _ in _rows(table))


def _holds_blocks(table: LexborNode) -> bool:
    """Looks no further than the first one: tables may be nested thousands deep."""
    stack = children(table)
    while stack:
        node = stack.pop()
        if node.tag == "table" or node.tag in HEADINGS:
            return True
        stack += children(node)
    return False


def table_lines(table: LexborNode) -> list[str]:
    """Gives the caption, if there is one, and a line for each row of data."""
    rows = _rows(table)
    n_headers = _count_header_rows(rows)
    grid = _grid([row for row, _ in rows])
    names = column_names(grid[:n_headers])
    body = [values(line) for line in grid[n_headers:]]
    if not n_headers and all(_is_labelled(row) for row, _ in rows):
        lines = [_labelled_line(*line) for line in body]
    elif not n_headers and first_row_is_header(body):
        lines = row_lines(body[1:], body[0])
    else:
        lines = row_lines(body, names) or row_lines([names], ())
    captions = [inner_text(child) for child in children(table) if child.tag == "caption"]
    return [line for line in captions + lines if line]


def _rows(table: LexborNode) -> list[tuple[list[_Cell], bool]]:
    """Gives the cells of each row, and whether the row stands in the table's head."""
    rows = []
    for part in children(table):
        inside = [part] if part.tag == "tr" else children(part)
        for row in inside:
            if row.tag == "tr":
                cells = [_cell(cell) for cell in children(row) if cell.tag in ("td", "th")]
                rows.append((cells, part.tag == "thead"))
    return rows


def _cell(node: LexborNode) -> _Cell:
    return _Cell(
        text=inner_text(node),
        is_header=node.tag == "th",
        columns=_span(node.attributes.get("colspan"), _MOST_COLUMNS),
        rows=_span(node.attributes.get("rowspan"), _MOST_ROWS),
    )


def _span(value: str | None, most: int) -> int:
    value = (value or "").strip()
    return min(max(int(value), 1), most) if value.isascii() and value.isdigit() else 1


def _count_header_rows(rows: list[tuple[list[_Cell], bool]]) -> int:
    count = 0
    for cells, in_head in rows:
        if not (in_head or (len(cells) > 1 and all(cell.is_header for cell in cells))):
            break
        count += 1
    return count


def _is_labelled(cells: list[_Cell]) -> bool:
    return len(cells) == 2 and cells[0].is_header and not cells[1].is_header


def _labelled_line(label: str, *cells: str) -> str:
    return ": ".join(cell for cell in (label.rstrip(": "), *cells) if cell)


def _grid(rows: list[list[_Cell]]) -> list[list[Place]]:
    """Lays cells out in columns. A cell that spans rows counts in each of them, so that every line
    says whose values it holds."""
    grid = []
    covered: dict[int, tuple[Place, int]] = {}  # columns under a cell from above, rows left
    for row in rows:
        line: list[Place] = []
        cells = iter(row)
        while True:
            if len(line) in covered:
                place, left = covered.pop(len(line))
                if left > 1:
                    covered[len(line)] = (place, left - 1)
                line.append(place)
            elif (cell := next(cells, None)) is not None:
                for place in places(cell.text, cell.columns):
                    if cell.rows > 1:
                        covered[len(line)] = (place, cell.rows - 1)
                    line.append(place)
            else:
                break
        grid.append(line)
    return grid
