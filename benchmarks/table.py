"""What a benchmark found: rows for people, the same figures as JSON."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from benchmarks.rounds import Spread

Cell = str | float | int | Spread | None
Row = Mapping[str, Cell]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a title; a column is there when any row has it."""

    name: str  # its key in the JSON
    title: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(column for row in self.rows for column in row))


def show(table: Table, console: Console) -> None:
    grid = Grid(title=escape(table.title), title_justify="left", box=box.SIMPLE_HEAD)
    for position, column in enumerate(table.columns):
        grid.add_column(column.replace("_", " "), justify="right" if position else "left")
    for row in table.rows:
        grid.add_row(*(escape(_text(row.get(column))) for column in table.columns))
    console.print(grid)
    for note in table.notes:
        console.print(f"  {note}", markup=False, highlight=False, soft_wrap=True)


def as_json(table: Table) -> dict[str, Any]:
    return {
        "title": table.title,
        "rows": [{name: _plain(cell) for name, cell in row.items()} for row in table.rows],
        "notes": list(table.notes),
    }


def _plain(cell: Cell) -> Any:
    return asdict(cell) if isinstance(cell, Spread) else cell


def _text(cell: Cell) -> str:
    match cell:
        case None:
            return ""
        case Spread(low, middle, high):
            return f"{_number(middle)} ({_number(low)}–{_number(high)})"
        case float():
            return _number(cell)
        case _:
            return str(cell)


def _number(value: float) -> str:
    """Three digits that mean something, and never fewer than stand before the point."""
    return (
        f"{value:.2f}"
        if abs(value) < 10
        else f"{value:.1f}"
        if abs(value) < 100
        else f"{value:.0f}"
    )
