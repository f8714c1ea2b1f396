"""Plain readings of the sample documents, independent of the product's loaders."""

import re
import unicodedata
from html import unescape
from pathlib import Path

import pypdfium2
from docx import Document

NOISE = re.compile(r"<!--.*?-->|<(script|style)\b.*?</\1>", re.DOTALL)
TAG = re.compile(r"<[^>]+>")


def read(path: Path) -> str:
    """The text of a sample in NFC; table cells each on a line of their own or whole in a row."""
    match path.suffix:
        case ".pdf":
            text = _pdf(path)
        case ".docx":
            text = _docx(path)
        case ".html":
            text = unescape(TAG.sub(" ", NOISE.sub(" ", path.read_text(encoding="utf-8"))))
        case _:
            text = path.read_text(encoding="utf-8")
    return unicodedata.normalize("NFC", text)


def pages(path: Path) -> list[str]:
    with pypdfium2.PdfDocument(path) as document:
        return [page.get_textpage().get_text_bounded() for page in document]


def _pdf(path: Path) -> str:
    return "\n".join(pages(path)).replace("\r\n", "\n")


def _docx(path: Path) -> str:
    document = Document(str(path))
    cells = [cell.text for table in document.tables for row in table.rows for cell in row.cells]
    return "\n".join([paragraph.text for paragraph in document.paragraphs] + cells)
