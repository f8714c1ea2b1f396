"""PDF: the text layer page by page; headings become sections."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from rag.loaders.building import TextBuilder
from rag.loaders.cleaning import clean, one_line, warn_unreadable
from rag.loaders.decoding import kind_of_binary
from rag.loaders.errors import BrokenFile, EmptyFile, UnsupportedFile
from rag.loaders.joining import Evidence, page_width, paragraphs
from rag.loaders.ocr import HOW_TO_TURN_ON, NotRecognised, Recogniser, as_picture
from rag.loaders.pdf_pages import Line, OutlineEntry, heading_levels, read_lines, read_outline
from rag.loaders.titles import is_sensible
from rag.records import ExtractedText

_MARK = b"%PDF-"
_HEAD = 1024  # bytes within which readers look for the mark
_MOST_FAILURES = 3  # that the warnings name
_ONE_AT_A_TIME = threading.Lock()  # PDFium is not thread-safe, not even across documents
_REASONS = {
    pdfium_c.FPDF_ERR_PASSWORD: (
        "the file is locked with a password: save a copy without a password (암호) and add that"
    ),
    pdfium_c.FPDF_ERR_SECURITY: "the file is encrypted in a way that cannot be read",
}


@dataclass(frozen=True, slots=True)
class _Content:
    """What was read of a file while PDFium was held."""

    title: str
    pages: list[list[Line]]
    outline: list[OutlineEntry]
    unreadable_pages: list[int]  # 1-based
    recognised_pages: list[int]  # 1-based
    warnings: tuple[str, ...]  # of the recognition


def read_pdf(data: bytes, stem: str, *, ocr: bool = False) -> ExtractedText:
    """Reads the text layer, and recognises the pages without one where `ocr` is on.

    Raises:
        BrokenFile: The file is locked or damaged.
        EmptyFile: No page has a text layer.
        UnsupportedFile: They are to be recognised, and the program for it is not installed.
    """
    if _MARK not in data[:_HEAD]:
        kind = kind_of_binary(data) or "something else"
        raise BrokenFile(f"the file is not a PDF but {kind}: give it the suffix of its own format")
    with _ONE_AT_A_TIME:
        content = _read(data, ocr=ocr)
    pages = content.pages
    empty = [n for n, page in enumerate(pages, start=1) if not any(map(_has_text, page))]
    if len(empty) == len(pages):
        raise EmptyFile(_why_empty(content, ocr=ocr))
    builder = _build(content)
    title = content.title
    if not is_sensible(title):
        title = builder.sections[0].heading[0] if builder.sections else stem
    return builder.finish(title, "application/pdf", _warnings(content, empty, builder.unreadable))


def _read(data: bytes, *, ocr: bool) -> _Content:
    try:
        document = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        damaged = "the file is damaged: it cannot be opened as a PDF"
        raise BrokenFile(_REASONS.get(error.err_code, damaged)) from error
    try:
        pages: list[list[Line]] = []
        unreadable = []
        for index in range(len(document)):
            try:
                page = document[index]
                pages.append(read_lines(page))
                page.close()
            except pdfium.PdfiumError:
                pages.append([])
                unreadable.append(index + 1)
        if len(unreadable) == len(pages):
            raise BrokenFile(f"the file is damaged: none of its {len(pages)} pages can be read")
        title = one_line(document.get_metadata_dict().get("Title", ""))
        recognised, warnings = _recognise(document, pages, unreadable) if ocr else ([], ())
        return _Content(title, pages, _outline(document), unreadable, recognised, warnings)
    finally:
        document.close()


def _outline(document: Any) -> list[OutlineEntry]:
    try:
        return read_outline(document)
    except pdfium.PdfiumError:
        return []


def _recognise(
    document: Any, pages: list[list[Line]], unreadable: list[int]
) -> tuple[list[int], tuple[str, ...]]:
    """Reads the pages without a text layer in place; gives their numbers and what went wrong."""
    without = [
        index
        for index, page in enumerate(pages)
        if index + 1 not in unreadable and not any(map(_has_text, page))
    ]
    if not without:
        return [], ()
    try:
        recogniser = Recogniser.find()
    except UnsupportedFile as error:
        if len(without) + len(unreadable) == len(pages):
            raise
        return [], (str(error),)
    recognised, failures = [], []
    for index in without:
        try:
            page = document[index]
            text = "\n".join(recogniser.read(as_picture(page)))
            page.close()
        except (NotRecognised, pdfium.PdfiumError) as error:
            failures.append(f"page {index + 1}: {error}")
            continue
        # Recognised type has no height: it makes no headings.
        pages[index] = [Line(line, 0.0) for line in text.split("\n") if line.strip()]
        recognised += [index + 1] if pages[index] else []
    return recognised, tuple(failures[:_MOST_FAILURES])


def _why_empty(content: _Content, *, ocr: bool) -> str:
    looks = f"no text layer: it looks scanned ({len(content.pages)} pages)"
    if not ocr:
        return f"{looks}; {HOW_TO_TURN_ON}"
    return "; ".join((looks, "no text was recognised in its pictures", *content.warnings))


def _build(content: _Content) -> TextBuilder:
    builder = TextBuilder()
    lines = [line.text for page in content.pages for line in page]
    evidence = Evidence.of(lines)
    levels = heading_levels(content.pages, content.outline)
    for number, page in enumerate(content.pages):
        full = page_width([line.text for line in page], lines)
        places = [
            builder.add(text, apart=apart) if level is None else builder.heading(level, text)
            for text, level, apart in _blocks(page, levels[number], evidence, full)
        ]
        builder.page(number + 1, places[0] if places else builder.end)
    return builder


def _blocks(
    page: list[Line], levels: list[int | None], evidence: Evidence, full: int
) -> Iterator[tuple[str, int | None, bool]]:
    """Gives (text, heading level, whether a blank line goes before) of each block of a page."""
    for level, run in groupby(zip(levels, page, strict=True), key=itemgetter(0)):
        lines = [line.text for _, line in run]
        if level is None:
            for index, paragraph in enumerate(paragraphs(lines, evidence, full=full)):
                yield paragraph, None, index == 0
        else:
            for line in lines:
                yield line, level, True


def _warnings(content: _Content, empty: list[int], unreadable: int) -> tuple[str, ...]:
    warnings = list(warn_unreadable(unreadable))
    without_text = [n for n in empty if n not in content.unreadable_pages]
    if without_text:
        warnings.append(f"no text on page {_name_numbers(without_text)}: scanned or blank")
    if content.recognised_pages:
        numbers = _name_numbers(content.recognised_pages)
        warnings.append(f"text recognised by OCR on page {numbers}: letters may be wrong")
    warnings += content.warnings
    if content.unreadable_pages:
        warnings.append(f"page {_name_numbers(content.unreadable_pages)} could not be read")
    return tuple(warnings)


def _has_text(line: Line) -> bool:
    return bool(clean(line.text)[0].strip())


def _name_numbers(numbers: Sequence[int]) -> str:
    """Writes ascending numbers with their runs drawn together: `2, 5-7`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)
