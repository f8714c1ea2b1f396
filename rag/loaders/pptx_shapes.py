"""The text on a slide, shape by shape in reading order: top to bottom, then left to right."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from rag.loaders.cleaning import one_line
from rag.loaders.docx_tree import Element, child, local_name, value
from rag.loaders.grids import Row, Span, sheet_tables
from rag.loaders.number_formats import shown
from rag.loaders.reading_order import in_reading_order
from rag.loaders.rows import row_lines

if TYPE_CHECKING:
    from pptx.chart.chart import Chart
    from pptx.shapes.base import BaseShape
    from pptx.table import Table

_LINE = 228_600  # a quarter of an inch, in EMU: shapes that begin within it stand side by side
_ON_EVERY_SLIDE = ("dt", "ftr", "sldNum")  # placeholders: date, footer, number
_MOST_POINTS = 1_000  # of a chart that are written out
_MOST_GROUPS = 50  # inside each other


def blocks(shapes: Any, title: "BaseShape | None") -> Iterator[list[str]]:
    """Gives the lines of each shape but the title. `shapes` are those of a slide or a group."""
    yield from _blocks(shapes, None if title is None else title.shape_id, depth=0)


def _blocks(shapes: Any, title: int | None, depth: int) -> Iterator[list[str]]:
    for shape in in_reading_order(shapes, _place, line=_LINE):
        if shape.shape_id == title or _is_on_every_slide(shape):
            continue
        if getattr(shape, "shapes", None) is not None:  # a group
            if depth < _MOST_GROUPS:
                yield from _blocks(shape.shapes, title, depth + 1)
        else:
            yield from _shape_blocks(shape)
    for (
        element
    ) in shapes._element:  # python-pptx passes over what has a second form for old readers
        if local_name(element) == "AlternateContent":
            choice = child(element, "Choice")
            yield _paragraphs(choice) if choice is not None else []


def _place(shape: "BaseShape") -> tuple[float, float]:
    return float(shape.left or 0), float(shape.top or 0)


def _is_on_every_slide(shape: "BaseShape") -> bool:
    marks = shape._element.iter("{*}ph") if shape.is_placeholder else ()
    return any(value(mark, "type") in _ON_EVERY_SLIDE for mark in marks)


def _shape_blocks(shape: Any) -> Iterator[list[str]]:
    if shape.has_text_frame:
        yield _paragraphs(shape._element)
    elif shape.has_table:
        yield from _table(shape.table)
    elif shape.has_chart:
        yield _chart(shape.chart)
    else:
        yield _diagram(shape)


def _paragraphs(parent: Element) -> list[str]:
    texts = (paragraph_text(paragraph) for paragraph in parent.iter("{*}p"))
    return [text for text in texts if text]


def paragraph_text(paragraph: Element) -> str:
    """Gives the runs, fields and formulas of a paragraph on one line."""
    pieces = (
        " " if local_name(element) in ("br", "tab") else element.text or ""
        for element in paragraph.iter("{*}t", "{*}br", "{*}tab")
    )
    return one_line("".join(pieces))


def _table(table: "Table") -> list[list[str]]:
    rows, spans = [], []
    for y, line in enumerate(table.rows):
        row = Row(y, {})
        for x, cell in enumerate(line.cells):
            if cell.is_spanned:
                continue
            text = " ".join(_paragraphs(cell._tc))
            if text:
                row.cells[x] = text
            if cell.is_merge_origin:
                spans.append(Span(y, x, y + cell.span_height - 1, x + cell.span_width - 1))
        if row.cells:
            rows.append(row)
    return sheet_tables(rows, spans, frozen=int(table.first_row))


def _chart(chart: "Chart") -> list[str]:
    title = [" ".join(_paragraphs(found)) for found in chart._chartSpace.iter("{*}title")][:1]
    try:
        lines = _chart_lines(chart)
    except (AttributeError, KeyError, TypeError, ValueError):
        lines = []  # of a kind that python-pptx does not know, such as a surface
    return [*filter(None, title), *lines]


def _chart_lines(chart: "Chart") -> list[str]:
    lines: list[str] = []
    for plot in chart.plots:
        names = ["", *(one_line(str(series.name or "")) for series in plot.series)]
        values = [list(islice(series.values, _MOST_POINTS)) for series in plot.series]
        categories = [one_line(str(name)) for name in islice(plot.categories, _MOST_POINTS)]
        lines += row_lines(list(_points(categories, values)), names)
    return lines


def _points(categories: list[str], values: Sequence[Sequence[float | None]]) -> Iterator[list[str]]:
    for index in range(max(map(len, values), default=0)):
        name = categories[index] if index < len(categories) else ""
        numbers = (series[index] if index < len(series) else None for series in values)
        yield [name, *("" if n is None else shown(n, "General") for n in numbers)]


def _diagram(shape: Any) -> list[str]:
    """Gives the texts of a SmartArt drawing, which stand in a part of their own."""
    from lxml import etree

    for element in shape._element.iter("{*}relIds"):
        relation = shape.part.rels.get(value(element, "dm"))
        if relation is None or relation.is_external:
            return []
        parser = etree.XMLParser(resolve_entities=False, no_network=True)
        return _paragraphs(etree.fromstring(relation.target_part.blob, parser))
    return []
