"""A strip of heat, as an SVG that needs nothing else: words across, layers down."""

from collections.abc import Iterator, Sequence
from html import escape

from benchmarks.table import Row, Table

_CELL_W, _CELL_H, _LEFT, _TOP, _BELOW = 62, 26, 150, 54, 8
_HOT = "#b3261e"


def drawn(table: Table) -> str:
    """The rows of a table of numbers, each darker the larger it is; the darkest is the largest."""
    columns = table.columns[1:]
    most = max((_value(row, column) for row in table.rows for column in columns), default=0.0)
    if most <= 0:
        raise ValueError("there is nothing to draw: no number in the table is over 0")
    width = _LEFT + _CELL_W * len(columns) + _BELOW
    height = _TOP + _CELL_H * len(table.rows) + _BELOW
    parts = [
        *_heads(columns),
        *(c for i, row in enumerate(table.rows) for c in _cells(i, row, columns, most)),
    ]
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img">',
            f"<title>{escape(table.title)}</title>",
            "<style>text{font:13px sans-serif;fill:#333}</style>",
            f'<rect width="{width}" height="{height}" fill="#fff"/>',
            f'<text x="8" y="18">{escape(table.title)}</text>',
            *parts,
            "</svg>\n",
        )
    )


def _heads(columns: Sequence[str]) -> Iterator[str]:
    for place, column in enumerate(columns):
        x = _LEFT + _CELL_W * (place + 0.5)
        yield f'<text x="{x:g}" y="{_TOP - 8}" text-anchor="middle">{escape(column)}</text>'


def _cells(number: int, row: Row, columns: Sequence[str], most: float) -> Iterator[str]:
    y = _TOP + _CELL_H * number
    yield f'<text x="{_LEFT - 8}" y="{y + 17}" text-anchor="end">{escape(str(row["name"]))}</text>'
    for place, column in enumerate(columns):
        x, value = _LEFT + _CELL_W * place, _value(row, column)
        share = value / most
        ink = "#fff" if share > 0.6 else "#333"
        yield (
            f'<rect x="{x}" y="{y}" width="{_CELL_W - 2}" height="{_CELL_H - 2}" fill="{_HOT}" '
            f'fill-opacity="{share:.3f}"><title>{escape(column)}: {value:.1f}</title></rect>'
        )
        middle = x + (_CELL_W - 2) / 2
        yield (
            f'<text x="{middle:g}" y="{y + 17}" text-anchor="middle" style="fill:{ink}">'
            f"{value:.0f}</text>"
        )


def _value(row: Row, column: str) -> float:
    value = row.get(column)
    return float(value) if isinstance(value, int | float) else 0.0
