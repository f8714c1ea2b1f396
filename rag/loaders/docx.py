"""DOCX: paragraphs, headings, tables and text boxes in the order of the document, then notes."""

import io
from typing import TYPE_CHECKING

from rag.loaders.building import TextBuilder
from rag.loaders.cleaning import one_line, warn_unreadable
from rag.loaders.docx_tables import table_lines
from rag.loaders.docx_tree import (
    Element,
    Styles,
    local_name,
    members,
    paragraph_text,
    text_boxes,
    value,
)
from rag.loaders.errors import BrokenFile
from rag.loaders.packages import DOCX, open_package
from rag.loaders.titles import is_sensible
from rag.records import ExtractedText

if TYPE_CHECKING:
    from docx.document import Document

_MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def read_docx(data: bytes, stem: str) -> ExtractedText:
    """Raises BrokenFile for what is no Word document, UnsupportedFile for one that is too large."""
    import docx

    open_package(data, DOCX)
    try:
        document = docx.Document(io.BytesIO(data))
        reading = _Reading(document)
    except Exception as error:  # python-docx and lxml raise whatever the damage leads to
        raise BrokenFile("the file is damaged: it cannot be opened as a Word document") from error
    builder = reading.builder
    title = one_line(document.core_properties.title or "")
    if not is_sensible(title):
        title = builder.sections[0].heading[0] if builder.sections else stem
    return builder.finish(title, _MEDIA_TYPE, warn_unreadable(builder.unreadable))


class _Reading:
    """Reads the blocks of a document into a text."""

    def __init__(self, document: "Document") -> None:
        from docx.oxml import parse_xml

        self.builder = TextBuilder()
        self._styles = Styles.read(document.styles.element)
        self._after_item = False
        self._read(document.element.body)
        for relation in document.part.rels.values():
            kind = relation.reltype.rpartition("/")[2]
            if kind in ("footnotes", "endnotes") and not relation.is_external:
                self._read_notes(parse_xml(relation.target_part.blob))

    def _read(self, container: Element) -> None:
        for block in members(container, "p", "tbl"):
            if local_name(block) == "tbl":
                for place, line in enumerate(table_lines(block, self._styles)):
                    self.builder.add(line, apart=place == 0)
                self._after_item = False
            else:
                self._read_paragraph(block)
                for box in text_boxes(block):
                    self._read(box)

    def _read_paragraph(self, paragraph: Element) -> None:
        text = paragraph_text(paragraph)
        if not text:
            return
        level = self._styles.heading_level(paragraph)
        is_item = level is None and self._styles.is_list_item(paragraph)
        if level is not None:
            self.builder.heading(level, text)
        elif is_item:
            self.builder.add(f"- {text}", apart=not self._after_item)
        else:
            self.builder.add(text)
        self._after_item = is_item

    def _read_notes(self, root: Element) -> None:
        for note in members(root, "footnote", "endnote"):
            # Separator lines are notes with a type.
            if value(note, "type") in (None, "normal"):
                self._read(note)
