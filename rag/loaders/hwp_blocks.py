"""What dochan found in a Hangul document, put into a text: paragraphs, headings, tables, notes."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

from rag.loaders.building import TextBuilder
from rag.loaders.cleaning import one_line
from rag.loaders.grids import Row, Span, sheet_tables

if TYPE_CHECKING:
    from dochan.model.document import Document, Paragraph
    from dochan.model.header_footer import Footnote
    from dochan.model.table import Cell, Table

    Block: TypeAlias = object  # one of the classes of dochan.model


class BlockReader:
    """Reads blocks in order; notes wait for `add_notes`. What repeats on each page is left out."""

    def __init__(self) -> None:
        self.builder = TextBuilder()
        self._notes: list[Footnote] = []

    def add_document(self, document: "Document") -> None:
        for section in document.sections:
            self._add(section.elements)
        for note in self._notes:  # a note in a note joins the end of the list
            self._add(note.paragraphs)

    def _add(self, blocks: "Iterable[Block]") -> None:
        from dochan.model.document import Paragraph
        from dochan.model.equation import Equation
        from dochan.model.header_footer import Footnote
        from dochan.model.image import Image
        from dochan.model.table import Table

        for block in blocks:
            match block:
                case Paragraph():
                    self._add_paragraph(block)
                case Table():
                    self._add(block.caption)
                    self._add_table(block)
                case Footnote():
                    self._keep_note(block)
                case Image():
                    self._add(block.caption)
                case Equation():
                    self._add_line(block.script)

    def _add_paragraph(self, paragraph: "Paragraph") -> None:
        text = _text(paragraph)
        if text and paragraph.is_heading:
            self.builder.heading(paragraph.heading_level, text)
        else:
            self._add_line(text)

    def _add_line(self, text: str) -> None:
        if one_line(text):
            self.builder.add(one_line(text))

    def _add_table(self, table: "Table") -> None:
        if all(len(row) <= max(1, row[0].col_span) for row in table.rows if row):
            for row in table.rows:  # a frame around blocks, not a table of values
                for cell in row:
                    self._add(cell.paragraphs)
        else:
            for lines in self._lines(table):
                self.builder.add("\n".join(lines))

    def _lines(self, table: "Table") -> list[list[str]]:
        """Gives the lines of the table, and of each further one that an empty row sets off."""
        rows, spans = [], []
        for y, cells in enumerate(table.rows):
            row = Row(y, {}, is_bold=all(map(_is_bold, cells)))
            for x, cell in enumerate(cells):  # what a span covers has a place, but no blocks
                self._read_cell(cell, row, x)
                if (cell.row_span, cell.col_span) != (1, 1) and not cell.is_merged_away:
                    spans.append(Span(y, x, y + cell.row_span - 1, x + cell.col_span - 1))
            if row.cells or row.inner:
                rows.append(row)
        return sheet_tables(rows, spans)

    def _read_cell(self, cell: "Cell", row: Row, column: int) -> None:
        """Puts a cell's paragraphs on one line; the rows of its tables follow the row."""
        from dochan.model.document import Paragraph
        from dochan.model.equation import Equation
        from dochan.model.header_footer import Footnote
        from dochan.model.table import Table

        texts = []
        for block in cell.paragraphs:
            match block:
                case Paragraph():
                    texts.append(_text(block))
                case Equation():
                    texts.append(one_line(block.script))
                case Footnote():
                    self._keep_note(block)
                case Table():
                    row.inner += [line for lines in self._lines(block) for line in lines]
        text = " ".join(filter(None, texts))
        if text:
            row.cells[column] = text

    def _keep_note(self, note: "Footnote") -> None:
        if note.type in ("footnote", "endnote"):
            self._notes.append(note)


def _text(paragraph: "Paragraph") -> str:
    """Leaves out the numbers that stand for notes."""
    return one_line("".join(run.text for run in paragraph.runs if not run.note_ref))


def _is_bold(cell: "Cell") -> bool:
    runs = [run for block in cell.paragraphs for run in getattr(block, "runs", ())]
    return all(run.bold for run in runs if run.text.strip())
