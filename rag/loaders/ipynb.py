"""Jupyter notebooks: texts with their headings, code, and what the code printed."""

import json
import re
from collections.abc import Iterator
from typing import Any

from rag.loaders.building import TextBuilder
from rag.loaders.cleaning import warn_unreadable
from rag.loaders.decoding import decode
from rag.loaders.errors import BrokenFile
from rag.loaders.html import read_page
from rag.loaders.markdown import read_source, without_pictures
from rag.records import ExtractedText

_MEDIA_TYPE = "application/x-ipynb+json"
_LONGEST_OUTPUT = 4_000  # characters of one output; a training log may have millions
_TERMINAL_CODE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_READABLE = ("text/plain", "text/markdown", "text/html")  # what is kept of an output, best first


def read_ipynb(data: bytes, stem: str) -> ExtractedText:
    decoded = decode(data)
    notebook = _Notebook()
    for cell in _cells(decoded.text):
        notebook.read(cell)
    builder, title = notebook.builder, notebook.title
    warnings = decoded.warnings + warn_unreadable(builder.unreadable)
    if notebook.shortened:
        warnings += (
            f"{notebook.shortened} long output{'s' * (notebook.shortened > 1)} "
            f"cut at {_LONGEST_OUTPUT:,} characters",
        )
    return builder.finish(title or stem, _MEDIA_TYPE, warnings)


def _cells(source: str) -> list[dict[str, Any]]:
    try:
        notebook = json.loads(source)
        sheets = notebook.get("worksheets") or [notebook]  # those of version 3
        return [cell for sheet in sheets for cell in sheet["cells"] if isinstance(cell, dict)]
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError) as error:
        raise BrokenFile("the file is damaged or no notebook: it has no list of cells") from error


class _Notebook:
    """Reads cells into a text."""

    def __init__(self) -> None:
        self.builder = TextBuilder()
        self.title = ""
        self.shortened = 0

    def read(self, cell: dict[str, Any]) -> None:
        source = _joined(cell.get("source", cell.get("input")))
        match cell.get("cell_type"):
            case "markdown":
                self._read_markdown(source)
            case "heading":  # of version 3
                self._heading(int(cell.get("level") or 1), source)
            case "code":
                self._add(source)
                outputs = cell.get("outputs")
                for output in outputs if isinstance(outputs, list) else ():
                    for text in _output(output):
                        self._add(self._bounded(text))
            case _:
                self._add(source)

    def _read_markdown(self, source: str) -> None:
        document = read_source(without_pictures(source))
        before = 0
        for heading in document.headings:
            self._add(document.text[before : heading.start])
            self._heading(heading.level, heading.name)
            before = heading.end
        self._add(document.text[before:])

    def _heading(self, level: int, name: str) -> None:
        if name.strip():
            self.title = self.title or name
            self.builder.heading(level, name)

    def _add(self, text: str) -> None:
        if text.strip():
            self.builder.add(text.strip("\n").rstrip())

    def _bounded(self, text: str) -> str:
        if len(text) <= _LONGEST_OUTPUT:
            return text
        self.shortened += 1
        return text[:_LONGEST_OUTPUT] + " …"


def _output(output: Any) -> Iterator[str]:
    if not isinstance(output, dict):
        return
    if output.get("output_type") in ("error", "pyerr"):
        yield f"{output.get('ename', '')}: {output.get('evalue', '')}"
        return
    data = output.get("data")
    kinds = data if isinstance(data, dict) else {}
    text = _joined(output.get("text"))
    if not text:
        kind = next((kind for kind in _READABLE if kind in kinds), None)
        text = _joined(kinds[kind]) if kind else ""
        text = read_page(text, "", named=False).text if kind == "text/html" else text
    yield without_pictures(_TERMINAL_CODE.sub("", text))


def _joined(lines: Any) -> str:
    """Gives a text that the file holds whole or as a list of lines."""
    return "".join(map(str, lines)) if isinstance(lines, list) else str(lines or "")
