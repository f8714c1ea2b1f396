"""From the words that tesseract found, with their places, to the lines of each page."""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from rag.loaders.cleaning import clean, one_line
from rag.loaders.pdf_columns import Gutter, Piece, find_gutter, in_columns, pieces_of

_COLUMNS = 12  # of the table: level, page, block, paragraph, line, word, left, top, …, text
_PAGE, _WORD = 1, 5  # levels


class _Word(NamedTuple):
    text: str
    place: tuple[int, int, int]  # block, paragraph, line
    left: float
    bottom: float  # upwards, as in PDF
    right: float
    top: float


def pages_of(table: str) -> list[str]:
    """Gives the text of each page of tesseract's table (TSV), columns one after the other."""
    pages: list[list[_Word]] = []
    for row in table.split("\n"):
        cells = row.split("\t", _COLUMNS - 1)
        if len(cells) != _COLUMNS or not cells[0].isdigit():
            continue
        if int(cells[0]) == _PAGE:
            pages.append([])
        elif int(cells[0]) == _WORD and pages and cells[-1].strip():
            pages[-1].append(_word(cells))
    return [_text(words) for words in pages]


def _word(cells: Sequence[str]) -> _Word:
    block, paragraph, line = map(int, cells[2:5])
    left, top, width, height = map(int, cells[6:10])
    text = one_line(clean(cells[11])[0])
    return _Word(text, (block, paragraph, line), left, -(top + height), left + width, -top)


def _text(words: Sequence[_Word]) -> str:
    lines = [list(line) for _, line in groupby(words, key=lambda word: word.place)]
    pieces = [
        piece
        for index, line in enumerate(lines)
        for piece in pieces_of(index, [(w.left, w.bottom, w.right, w.top) for w in line])
    ]
    gutter = find_gutter(pieces, [len(line) for line in lines])
    if gutter is not None:
        lines = _in_columns(lines, gutter)
    written = (" ".join(word.text for word in line if word.text) for line in lines)
    return "\n".join(filter(None, written))


def _in_columns(lines: Sequence[list[_Word]], gutter: Gutter) -> list[list[_Word]]:
    parts = [part for line in lines for part in _cut(line, gutter) if part]
    extents = [
        Piece(
            index,
            min(word.left for word in part),
            max(word.right for word in part),
            min(word.bottom for word in part),
            max(word.top for word in part),
        )
        for index, part in enumerate(parts)
    ]
    return [parts[index] for index in in_columns(extents, gutter)]


def _cut(line: list[_Word], gutter: Gutter) -> list[list[_Word]]:
    """Cuts a line at the gutter, unless a word of it stands there, as in a title over both."""
    left = [word for word in line if word.right <= gutter.left]
    right = [word for word in line if word.left >= gutter.right]
    return [left, right] if len(left) + len(right) == len(line) else [line]
