"""A table of every document, written down: CSV, XLSX, HTML, and the JSON of the edge."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rag.downloads import harmless, write_aside
from rag.errors import UsageError
from rag.every import Cell, Quote, Table
from rag.every_html import page
from rag.shapes import document_brief

SUFFIXES = (".csv", ".xlsx", ".html")
NOT_STATED = "not stated"
_UNREAD = ""  # a cell that was not looked at

_PLACE = ("document", "chunk", "start", "end", "page")


def check(file: Path) -> None:
    """Raises UsageError where a file's name says no format that a table is written in."""
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(
            f"{file.name}: a table is written as {', '.join(SUFFIXES)}, not as "
            f"{suffix or 'a file without a suffix'}"
        )


def write(table: Table, file: Path) -> None:
    """Write a table in the format that the file's name says; raises as `check` does."""
    check(file)
    match file.suffix.lower():
        case ".csv":
            content = as_csv(table)
        case ".xlsx":
            content = as_xlsx(table)
        case _:
            content = page(table).encode("utf-8")
    write_aside(file, content)


def as_csv(table: Table) -> bytes:
    """A line a document; behind each question's quotation stands its place.

    UTF-8 with a mark, by which spreadsheets know it. What they would take for a formula begins
    with a quotation mark.
    """
    text = io.StringIO()
    rows = csv.writer(text)
    head = ["document", "path"]
    for question in table.questions:
        head += [question, "place"]
    rows.writerow(map(harmless, head))
    for title, path, cells in _lines(table):
        line = [title, path]
        for cell in cells:
            line += [_said(cell), _place(cell)]
        rows.writerow(map(harmless, line))
    return text.getvalue().encode("utf-8-sig")


def as_xlsx(table: Table) -> bytes:
    """A sheet as the CSV has it without the places, and one with a line a quotation and its place.

    Every cell is text or a number, whatever it looks like.
    """
    import xlsxwriter

    content = io.BytesIO()
    safe = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    with xlsxwriter.Workbook(content, {"in_memory": True, **safe}) as book:
        head = book.add_format({"bold": True, "text_wrap": True, "valign": "top", "bottom": 1})
        wrapped = book.add_format({"text_wrap": True, "valign": "top"})
        quiet = book.add_format({"text_wrap": True, "valign": "top", "font_color": "#767676"})
        sheet = book.add_worksheet("Table")
        sheet.freeze_panes(1, 1)
        sheet.set_column(0, 0, 32)
        sheet.set_column(1, len(table.questions), 44)
        for column, text in enumerate(("document", *table.questions)):
            sheet.write_string(0, column, _fits(text), head)
        for line, (title, _path, cells) in enumerate(_lines(table), 1):
            sheet.write_string(line, 0, _fits(title), wrapped)
            for column, cell in enumerate(cells, 1):
                style = quiet if cell is None or cell.quote is None else wrapped
                sheet.write_string(line, column, _fits(_said(cell)), style)
        places = book.add_worksheet("Places")
        places.freeze_panes(1, 0)
        places.set_column(0, 2, 32)
        for column, text in enumerate(("path", "question", "quote", *_PLACE[1:], "score")):
            places.write_string(0, column, text, head)
        for line, (path, question, quote) in enumerate(_quotes(table), 1):
            for column, text in enumerate((path, question, quote.text)):
                places.write_string(line, column, _fits(text), wrapped)
            numbers = (quote.chunk_id, quote.start, quote.end, quote.page, round(quote.score, 3))
            for column, number in enumerate(numbers, 3):
                if number is not None:
                    places.write_number(line, column, number, wrapped)
    return content.getvalue()


def shape(table: Table) -> dict[str, Any]:
    """The JSON that `attest every --json` prints."""
    return {
        "questions": list(table.questions),
        "documents": [document_brief(row) for row in table.documents],
        "finished": table.finished,
        "cells": [
            {
                "question": cell.question,
                "document": cell.document,
                "stated": cell.quote is not None,
                "quote": None if cell.quote is None else _quote_shape(cell.quote),
            }
            for cell in table.cells
        ],
    }


def as_text(table: Table) -> str:
    """For a terminal: a block a document, a line a question."""
    if not table.documents:
        return "no documents to ask: add some with `attest add PATH`, or choose others"
    blocks = []
    for title, path, cells in _lines(table):
        lines = [f"{title} — {path}"]
        for question, cell in zip(table.questions, cells, strict=True):
            said = " ".join((_said(cell) or "not looked at").split())
            where = "" if cell is None or cell.quote is None else f"  ({_place(cell)})"
            lines += [f"  {question}", f"    {said}{where}"]
        blocks.append("\n".join(lines))
    stated = sum(cell.quote is not None for cell in table.cells)
    blocks.append(f"{stated} stated, {len(table.cells) - stated} not stated")
    return "\n\n".join(blocks)


def _lines(table: Table) -> Iterator[tuple[str, str, list[Cell | None]]]:
    """Title, path and cells of each document."""
    known = {(cell.question, cell.document): cell for cell in table.cells}
    for row in table.documents:
        cells = [known.get((place, row.id)) for place in range(len(table.questions))]
        yield row.title, row.path, cells


def _quotes(table: Table) -> Iterator[tuple[str, str, Quote]]:
    paths = {row.id: row.path for row in table.documents}
    for cell in table.cells:
        if cell.quote is not None:
            yield paths[cell.document], table.questions[cell.question], cell.quote


def _said(cell: Cell | None) -> str:
    if cell is None:
        return _UNREAD
    return NOT_STATED if cell.quote is None else cell.quote.text


def _place(cell: Cell | None) -> str:
    if cell is None or cell.quote is None:
        return ""
    quote = cell.quote
    page = "" if quote.page is None else f"page {quote.page}, "
    return f"{page}chunk {quote.chunk_id}, characters {quote.start}–{quote.end}"


def _quote_shape(quote: Quote) -> dict[str, Any]:
    return {
        "text": quote.text,
        "chunk_id": quote.chunk_id,
        "start": quote.start,
        "end": quote.end,
        "page": quote.page,
        "score": quote.score,
    }


def _fits(text: str) -> str:
    """Excel takes so many characters in a cell."""
    return text if len(text) <= 32_767 else text[:32_766] + "…"
