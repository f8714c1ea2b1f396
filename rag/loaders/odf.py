"""ODT, ODS and ODP, the formats of LibreOffice: text, sheets and slides in one `content.xml`."""

import re
import zipfile
from collections.abc import Callable, Iterable

from rag.loaders.building import TextBuilder
from rag.loaders.cleaning import one_line, warn_unreadable
from rag.loaders.docx_tree import Element, child, local_name, value
from rag.loaders.errors import BrokenFile, LoadError
from rag.loaders.odf_tree import Found, paragraph_text, table_lines, text_boxes
from rag.loaders.packages import LOCKED, ODF, open_package, open_part
from rag.loaders.reading_order import in_reading_order
from rag.loaders.titles import is_sensible
from rag.loaders.xlsx import warn_uncomputed
from rag.records import ExtractedText, Section

_MEDIA_TYPE = "application/vnd.oasis.opendocument."
_PASSED_OVER = frozenset(("annotation", "forms", "notes", "table-of-content", "tracked-changes"))
_LENGTH = re.compile(r"(-?\d+(?:\.\d+)?)(cm|mm|in|pt)")
_IN_MM = {"cm": 10.0, "mm": 1.0, "in": 25.4, "pt": 0.353}
_LINE = 6  # mm: shapes that begin within it stand side by side


def read_odt(data: bytes, stem: str) -> ExtractedText:
    """Raises BrokenFile for what is no text document, UnsupportedFile for one that is too large."""
    return _read(data, stem, "text", _Reading.add_blocks)


def read_ods(data: bytes, stem: str) -> ExtractedText:
    """Raises BrokenFile for what is no spreadsheet, UnsupportedFile for one that is too large."""
    return _read(data, stem, "spreadsheet", _Reading.add_sheets)


def read_odp(data: bytes, stem: str) -> ExtractedText:
    """Raises BrokenFile for what is no presentation, UnsupportedFile for one that is too large."""
    return _read(data, stem, "presentation", _Reading.add_slides)


def _read(
    data: bytes, stem: str, kind: str, add: "Callable[[_Reading, Element], None]"
) -> ExtractedText:
    archive = open_package(data, ODF)
    reading = _Reading()
    try:
        _check_not_locked(archive)
        body = child(_tree(archive, "content.xml"), "body", kind)
        if body is None:
            raise BrokenFile(f"the file is an OpenDocument file, but holds no {kind}")
        add(reading, body)
        reading.add_notes()
        title = _title(archive)
    except LoadError:
        raise
    except Exception as error:  # zipfile and lxml raise whatever the damage leads to
        raise BrokenFile("the file is damaged: it cannot be opened as OpenDocument") from error
    builder = reading.builder
    if not is_sensible(title):
        headings = [s.heading[0] for s in builder.sections if s.heading and kind != "spreadsheet"]
        title = headings[0] if headings else stem
    warnings = warn_unreadable(builder.unreadable) + warn_uncomputed(reading.found.uncomputed)
    return builder.finish(title, _MEDIA_TYPE + kind, warnings)


def _title(archive: zipfile.ZipFile) -> str:
    root = _tree(archive, "meta.xml")
    titles = root.iter("{*}title") if root is not None else ()
    return next((one_line(title.text or "") for title in titles), "")


def _check_not_locked(archive: zipfile.ZipFile) -> None:
    manifest = open_part(archive, "META-INF/manifest.xml")
    if manifest is not None:
        with manifest:
            if b"encryption-data" in manifest.read():
                raise BrokenFile(LOCKED)


def _tree(archive: zipfile.ZipFile, name: str) -> Element | None:
    from lxml import etree

    file = open_part(archive, name)
    if file is None:
        return None
    with file:
        parser = etree.XMLParser(resolve_entities=False, no_network=True)
        return etree.parse(file, parser).getroot()


class _Reading:
    """Puts the blocks of a document into a text."""

    def __init__(self) -> None:
        self.builder = TextBuilder()
        self.found = Found()

    def add_blocks(self, parent: Element) -> None:
        self._add(parent, mark="")

    def add_sheets(self, body: Element) -> None:
        for sheet in _children(body, "table"):
            tables = table_lines(sheet, self.found)
            name = one_line(value(sheet, "name") or "")
            if tables and name:
                self.builder.heading(1, name)
            for lines in tables:
                self.builder.add("\n".join(lines))

    def add_slides(self, body: Element) -> None:
        for number, slide in enumerate(_children(body, "page"), start=1):
            start, n_sections = self.builder.end, len(self.builder.sections)
            shapes = in_reading_order(_shapes(slide), _place, line=_LINE)
            titles = [s for s in shapes if value(s, "class") == "title"]
            for shape in titles:
                texts = (paragraph_text(p, self.found) for p in shape.iter("{*}p"))
                if title := " ".join(filter(None, texts)):
                    self.builder.heading(1, title)
            for shape in [s for s in shapes if s not in titles]:
                self._add(shape, mark="")
            for notes in _children(slide, "notes"):
                self._add(notes, mark="")
            end = self.builder.end
            begin = start + 2 if 0 < start < end else start  # after the blank line
            if end > start and len(self.builder.sections) == n_sections:
                self.builder.sections.append(Section(begin, ()))
            self.builder.page(number, begin)

    def add_notes(self) -> None:
        for note in self.found.notes:  # a note in a note joins the end of the list
            self._add(note, mark="")

    def _add(self, parent: Element, *, mark: str, is_apart: bool = True) -> None:
        for block in parent:
            name = local_name(block)
            if name == "h":
                self._add_heading(block)
            elif name == "p":
                if text := paragraph_text(block, self.found):
                    self.builder.add(mark + text, apart=is_apart)
                    mark = "  " if mark else ""
                for box in text_boxes(block):
                    self._add(box, mark="")
            elif name == "list":
                for place, item in enumerate(_children(block, "list-item", "list-header")):
                    self._add(item, mark="- ", is_apart=place == 0 and not mark)
            elif name == "table":
                for lines in table_lines(block, self.found):
                    self.builder.add("\n".join(lines))
            elif name and name not in _PASSED_OVER:
                self._add(block, mark=mark)

    def _add_heading(self, heading: Element) -> None:
        level = value(heading, "outline-level") or ""
        if text := paragraph_text(heading, self.found):
            self.builder.heading(int(level) if level.isdecimal() else 1, text)


def _children(parent: Element, *names: str) -> list[Element]:
    return [element for element in parent if local_name(element) in names]


def _shapes(parent: Element) -> Iterable[Element]:
    """Gives the shapes of a slide, also those in groups."""
    for element in parent:
        name = local_name(element)
        if name == "g":
            yield from _shapes(element)
        elif name and name not in _PASSED_OVER:
            yield element


def _place(shape: Element) -> tuple[float, float]:
    return _millimetres(value(shape, "x")), _millimetres(value(shape, "y"))


def _millimetres(length: str | None) -> float:
    found = _LENGTH.fullmatch(length or "")
    return float(found[1]) * _IN_MM[found[2]] if found else 0.0
