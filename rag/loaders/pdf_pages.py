"""What PDFium sees on the pages of a file: lines with the height of their type, and the outline."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from rag.loaders.cleaning import one_line
from rag.loaders.joining import HYPHEN
from rag.loaders.pdf_columns import Gutter, Piece, find_gutter, in_columns, pieces_of

_NO_UNICODE = "\x00"  # a glyph that names no character
_LINE_ENDS = frozenset((0x0A, 0x0D))
_ODD_CODES = _LINE_ENDS | frozenset((0xFFFD, 0xFFFE, 0xFFFF))
_LARGER = 1.12  # type of a heading against that of the text
_LONGEST_HEADING = 120  # characters
_MOST_HEADINGS = 0.25  # of all lines; where more are set large, size does not mark headings
_MOST_REPEATS = 2  # pages; a line that stands on more of them is a running title
_LEVELS = 4
_NUMBERING = r"(?:[\dA-Z]+(?:\.\d+)*[.)]?\s+)?"


@dataclass(frozen=True, slots=True)
class Line:
    text: str  # ends in HYPHEN where the page shows one; keeps a space at its end
    height: float  # of the type, in points


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    level: int  # 1 is the outermost
    title: str
    page: int  # index of the page that it points to


def read_lines(page: Any) -> list[Line]:
    """Gives the lines of a page (a pypdfium2 page) in the order of the file; those of two columns
    drawn side by side in the order in which they are read."""
    text_page = page.get_textpage()
    try:
        found = [(start, text) for start, text in _split(_characters(text_page)) if text.strip()]
        return [
            Line(text, _height(text_page, start + len(text) - len(text.lstrip())))
            for start, text in _in_reading_order(text_page, found)
        ]
    finally:
        text_page.close()


def _in_reading_order(text_page: Any, lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    pieces = [
        piece
        for index, (start, text) in enumerate(lines)
        for piece in pieces_of(index, _boxes(text_page, start, len(text)))
    ]
    gutter = find_gutter(pieces, [len(text.split()) for _, text in lines])
    if gutter is None:
        return lines
    parts = [part for line in lines for part in _cut(text_page, *line, gutter)]
    placed = [(part, _extent(text_page, index, *part)) for index, part in enumerate(parts)]
    known = [(part, extent) for part, extent in placed if extent]
    order = in_columns([extent for _, extent in known], gutter)
    return [known[index][0] for index in order] + [part for part, extent in placed if not extent]


def _boxes(text_page: Any, start: int, length: int) -> list[tuple[float, float, float, float]]:
    try:
        return [text_page.get_rect(n) for n in range(text_page.count_rects(start, length))]
    except pdfium.PdfiumError:
        return []


def _cut(text_page: Any, start: int, text: str, gutter: Gutter) -> list[tuple[int, str]]:
    """Cuts a line that runs through both columns where it crosses the gutter."""
    extent = _extent(text_page, 0, start, text)
    if extent is None or not (extent.left < gutter.left and extent.right > gutter.right):
        return [(start, text)]
    for offset in range(1, len(text)):
        if text[offset].isspace() or not text[offset - 1].isspace():
            continue
        before = _extent(text_page, 0, start, text[:offset])
        after = _extent(text_page, 0, start + offset, text[offset:])
        if before and after and before.right <= gutter.left + 1 and after.left >= gutter.right - 1:
            return [(start, text[:offset]), (start + offset, text[offset:])]
    return [(start, text)]


def _extent(text_page: Any, index: int, start: int, text: str) -> Piece | None:
    boxes = _boxes(text_page, start, len(text))
    if not boxes:
        return None
    lefts, bottoms, rights, tops = zip(*boxes, strict=True)
    return Piece(index, min(lefts), max(rights), min(bottoms), max(tops))


def _characters(text_page: Any) -> str:
    """Gives a page's text with an offset for each of PDFium's characters.

    The library's own functions do not: they write a glyph without a Unicode value and a hyphen at
    a line's end as the same U+FFFE, or drop both.
    """
    handle, unicode_of = text_page.raw, pdfium_c.FPDFText_GetUnicode
    codes = [unicode_of(handle, index) for index in range(text_page.count_chars())]
    return "".join(
        chr(code) if code not in _ODD_CODES else _odd(text_page, index, code)
        for index, code in enumerate(codes)
    )


def _odd(text_page: Any, index: int, code: int) -> str:
    # Some files draw line ends as glyphs; those that end a line are PDFium's own.
    if code in _LINE_ENDS:
        return chr(code) if pdfium_c.FPDFText_IsGenerated(text_page, index) else " "
    return _NO_UNICODE


def _split(text: str) -> Iterator[tuple[int, str]]:
    """Gives the lines with their offsets. PDFium draws the two lines at a hyphen together."""
    for found in re.finditer(f"[^\r\n{HYPHEN}]*{HYPHEN}?", text):
        line = found[0]
        # On Windows a character beyond U+FFFF comes as two surrogates.
        yield found.start(), line.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _height(text_page: Any, index: int) -> float:
    try:
        _, bottom, _, top = text_page.get_charbox(index, loose=True)
    except pdfium.PdfiumError:
        return 0.0
    return float(round(2 * (top - bottom)) / 2)


def read_outline(document: Any) -> list[OutlineEntry]:
    entries = []
    for bookmark in document.get_toc():
        target = bookmark.get_dest()
        page = target.get_index() if target else None
        title = one_line(bookmark.get_title())
        if title and page is not None:
            entries.append(OutlineEntry(bookmark.level + 1, title, page))
    return entries


def heading_levels(
    pages: Sequence[Sequence[Line]], outline: Sequence[OutlineEntry]
) -> list[list[int | None]]:
    """Gives for each line of each page the level of the heading that it is, None for text.

    The outline says so where the file has one, else the size of the type.
    """
    found = _by_outline(pages, outline) if outline else _by_size(pages)
    return [
        [found.get((number, index)) for index in range(len(page))]
        for number, page in enumerate(pages)
    ]


def _by_outline(
    pages: Sequence[Sequence[Line]], outline: Sequence[OutlineEntry]
) -> dict[tuple[int, int], int]:
    found: dict[tuple[int, int], int] = {}
    for entry in outline:
        pattern = re.compile(_NUMBERING + re.escape(entry.title), re.I)
        lines = pages[entry.page] if entry.page < len(pages) else ()
        for place in ((entry.page, index) for index in range(len(lines))):
            if place not in found and pattern.fullmatch(one_line(lines[place[1]].text)):
                found[place] = entry.level
                break
    return found


def _by_size(pages: Sequence[Sequence[Line]]) -> dict[tuple[int, int], int]:
    sizes: Counter[float] = Counter()
    repeats: Counter[str] = Counter()
    for page in pages:
        repeats.update({line.text.strip() for line in page})
        for line in page:
            if line.height > 0:
                sizes[line.height] += len(line.text)
    body = max(sizes, key=lambda height: sizes[height], default=0.0)
    found = {
        (number, index): line.height
        for number, page in enumerate(pages)
        for index, line in enumerate(page)
        if line.height >= max(_LARGER * body, 1) and _reads_like_heading(line.text.strip(), repeats)
    }
    if len(found) > _MOST_HEADINGS * sum(map(len, pages)):
        return {}
    ranks = {height: rank for rank, height in enumerate(sorted(set(found.values()), reverse=True))}
    return {place: min(ranks[height], _LEVELS - 1) + 1 for place, height in found.items()}


def _reads_like_heading(text: str, repeats: Counter[str]) -> bool:
    return (
        len(text) <= _LONGEST_HEADING
        and any(c.isalpha() for c in text)
        and text[-1] not in ".,;:" + HYPHEN
        and repeats[text] <= _MOST_REPEATS
    )
