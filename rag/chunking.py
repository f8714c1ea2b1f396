"""Cuts a document into passages that the encoder reads whole.

A chunk is a slice of the text. It ends at the strongest boundary within reach: of a section or a
page, a paragraph, a line, a sentence, a word. Tokens are counted once for each sentence and added
up, and once for each finished chunk, which decides: a megabyte takes seconds, not minutes.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import accumulate, pairwise, takewhile

from semantic_text_splitter import TextSplitter

from index.records import Chunk
from rag.blocks import blocks
from rag.records import ExtractedText
from rag.sentences import sentences

Count = Callable[[str], int]

_USEFUL = 60  # tokens that a passage should have to stand for itself
# An encoder may read a word of a million letters as one unknown token. No passage gets that long.
_LETTERS_PER_TOKEN = 12
_FEW_LETTERS = 32
_PART_WIDTH = 112  # columns of a title or a heading in the encoded text
_PATH_WIDTH = 176  # columns of all of them together


class _Boundary(IntEnum):
    WORD = 0
    SENTENCE = 1
    LINE = 2
    PARAGRAPH = 3
    SECTION = 4


@dataclass(frozen=True, slots=True)
class _Unit:
    """What is not cut if it can be avoided: a sentence, a row of a table, else a part of one."""

    start: int
    end: int  # of the white space behind it
    tokens: int
    after: _Boundary
    block: int = -1  # the table or code that it belongs to; -1 for none


@dataclass(frozen=True, slots=True)
class _Passage:
    """A stretch of text under one heading on one page, of one section or several small ones."""

    units: tuple[_Unit, ...]
    heading: tuple[str, ...]
    page: int | None
    parent: tuple[str, ...]  # under which the sections that it may grow by stand
    is_bare: bool  # a heading without a text

    @property
    def tokens(self) -> int:
        return sum(unit.tokens for unit in self.units)


def encoded_text(title: str, heading: Sequence[str], text: str) -> str:
    """Gives what the encoder reads for a chunk: its place in the document, a newline, its text.

    The first line is `title › heading › inner heading`, without what repeats the title or already
    stands in the chunk's first lines. Long names are cut by words; the text never is.
    """
    own = {_plain(line) for line in text.lstrip().split("\n", 4)[:4]}
    parts: list[str] = []
    for part in (title, *heading):
        plain = _plain(part)
        if plain and plain not in own:
            own.add(plain)
            parts.append(_shortened(part, _PART_WIDTH))
    # The title says what it is about, the innermost heading where: what lies between goes first.
    while len(parts) > 2 and sum(map(_width, parts)) > _PATH_WIDTH:
        del parts[1]
    return f"{' › '.join(parts)}\n{text}" if parts else text


def chunk(
    document: ExtractedText, *, count: Count, size: int, overlap: int = 0
) -> tuple[Chunk, ...]:
    """Cuts a document into chunks; together they hold every character that is not white space.

    `count(encoded_text(document.title, chunk.heading, chunk.text)) <= size` holds for each of them.
    Leave the title empty where it only repeats the name of the file.

    Args:
        document: What a loader read.
        count: Gives the encoder's tokens of a text, special tokens included.
        size: The encoder's limit in these tokens.
        overlap: How many tokens of a chunk the next one may repeat, in whole sentences.

    Raises:
        ValueError: Size or overlap cannot be, or not even a letter fits beside the title.
    """
    if size <= 0:
        raise ValueError(f"size ({size}) must be at least 1 token")
    if not 0 <= overlap < size:
        raise ValueError(f"overlap ({overlap}) must be at least 0 and less than size ({size})")
    return tuple(_Cutter(document, count, size, overlap).chunks())


class _Cutter:
    """One document on its way into chunks."""

    def __init__(self, document: ExtractedText, count: Count, size: int, overlap: int) -> None:
        self._document = document
        self._text = document.text
        self._count = count
        self._size = size
        self._overlap = overlap
        self._special = count("")
        self._blocks = blocks(document.text)
        self._least = min(_USEFUL, size // 4)

    def chunks(self) -> Iterator[Chunk]:
        passages = _fold(self._passages(), _join_bare)
        for passage in _fold(passages, self._join_small):
            yield from self._pack(passage)

    def _passages(self) -> Iterator[_Passage]:
        """Gives a passage for each stretch of text without a heading or a page break inside."""
        sections, pages = self._document.sections, self._document.pages
        section_starts = [section.start for section in sections]
        page_starts = [page.start for page in pages]
        cuts = sorted({0, *section_starts, *page_starts, len(self._text)})
        for start, end in pairwise(cuts):
            section = bisect_right(section_starts, start) - 1
            page = bisect_right(page_starts, start) - 1
            heading = self._fitting(sections[section].heading) if section >= 0 else ()
            units = tuple(self._units(start, end, self._room(heading)))
            if units:
                yield _Passage(
                    units=units,
                    heading=heading,
                    page=pages[page].number if page >= 0 else None,
                    parent=heading[:-1],
                    is_bare=bool(heading) and _plain(self._text[start:end]) == _plain(heading[-1]),
                )

    def _fitting(self, heading: tuple[str, ...]) -> tuple[str, ...]:
        """Leaves out outer headings where they would take more than half of a chunk."""
        while heading and self._tokens(self._prefix(heading)) > self._size // 2:
            heading = heading[1:]
        return heading

    def _prefix(self, heading: Sequence[str]) -> str:
        return encoded_text(self._document.title, heading, "")

    def _room(self, heading: Sequence[str]) -> int:
        """Gives the tokens that are left for text beside the heading."""
        taken = self._special + self._tokens(self._prefix(heading))
        if taken >= self._size:
            raise ValueError(
                f"size ({self._size}) is too small for any text: "
                f"title, heading and special tokens take {taken} tokens"
            )
        return self._size - taken

    def _tokens(self, text: str) -> int:
        return max(self._count(text) - self._special, len(text) // _LETTERS_PER_TOKEN)

    def _units(self, start: int, end: int, room: int) -> Iterator[_Unit]:
        spans = [(start + a, start + b) for a, b in sentences(self._text[start:end])]
        begins = [*(begin for begin, _ in spans), end]
        for (begin, stop), following in zip(spans, begins[1:], strict=True):
            gap = self._text[stop:following].count("\n")
            after = _Boundary.SECTION if following == end else _boundary(gap)
            text = self._text[begin:following]
            # A text without a stop for megabytes is not worth counting as a whole.
            tokens = self._tokens(text) if len(text) <= _LETTERS_PER_TOKEN * room else room + 1
            unit = _Unit(begin, following, tokens, after, self._block_at(begin))
            yield from (unit,) if tokens <= room else self._parts(unit, self._tokens, room)

    def _block_at(self, place: int) -> int:
        block = bisect_right(self._blocks, (place, len(self._text))) - 1
        return block if block >= 0 and place < self._blocks[block][1] else -1

    def _parts(self, unit: _Unit, measure: Count, limit: int) -> list[_Unit]:
        """Cuts a unit between words, or inside a word where it must be."""
        parts: list[_Unit] = []
        start = unit.start
        letters = max(2 * limit, 2 * _FEW_LETTERS)
        for piece, tokens in _pieces(self._text[unit.start : unit.end], measure, limit, letters):
            end = start + len(piece)
            if piece.isspace() and parts:
                # A gap counts, so that it does not make a chunk of any length.
                parts[-1] = replace(parts[-1], end=end, tokens=parts[-1].tokens + tokens)
            else:
                parts.append(_Unit(start, end, tokens, _Boundary.WORD, unit.block))
            start = end
        parts[-1] = replace(parts[-1], after=unit.after)
        return parts

    def _join_small(self, one: _Passage, other: _Passage) -> _Passage | None:
        """Joins a passage too small to stand for itself with the next under the same heading."""
        heading = _shared(one.heading, other.heading)
        is_sibling = bool(one.parent) and _shared(one.parent, other.heading) == one.parent
        if one.tokens >= self._least or one.page != other.page or other.is_bare:
            return None
        if not heading or not (is_sibling or heading == one.heading):
            return None
        if one.tokens + other.tokens > self._room(heading):
            return None
        return replace(one, units=one.units + other.units, heading=heading)

    def _pack(self, passage: _Passage) -> Iterator[Chunk]:
        units = list(passage.units)
        room = self._room(passage.heading)
        totals = _running_totals(units)
        first = done = 0  # units at which the chunk begins, and that earlier chunks hold
        while done < len(units):
            stop = _best_end(units, totals, first, done, room=room, least=self._least)
            found = self._chunk(passage, units[first:stop])
            # What was counted apart may take more tokens together: the whole chunk decides.
            while found.tokens > self._size:
                if stop > done + 1:
                    stop -= 1
                elif first < done:
                    first += 1
                else:
                    units[done:stop] = self._forced_parts(passage, units[done])
                    totals = _running_totals(units)
                found = self._chunk(passage, units[first:stop])
            yield found
            done = stop
            first = _next_start(totals, first, done, room=room, overlap=self._overlap)

    def _chunk(self, passage: _Passage, units: Sequence[_Unit]) -> Chunk:
        whole = self._text[units[0].start : units[-1].end]
        text = whole.strip()
        start = units[0].start + len(whole) - len(whole.lstrip())
        tokens = self._count(encoded_text(self._document.title, passage.heading, text))
        return Chunk(text, start, start + len(text), passage.page, passage.heading, tokens)

    def _forced_parts(self, passage: _Passage, unit: _Unit) -> list[_Unit]:
        def whole(text: str) -> int:
            return self._count(encoded_text(self._document.title, passage.heading, text.strip()))

        parts = self._parts(unit, whole, self._size)
        if len(parts) == 1:
            text = self._text[unit.start : unit.end].strip()
            raise ValueError(
                f"size ({self._size}) is too small for any text: "
                f"{text[:20]!r} takes {whole(text)} tokens with title, heading and special tokens"
            )
        return parts


def _pieces(text: str, measure: Count, limit: int, letters: int) -> Iterator[tuple[str, int]]:
    """Cuts a text into pieces within the limit, each with its measure.

    A length in letters is tried and halved, so that each letter is measured a few times only. The
    last few are left to the splitter's own search: it cuts no cluster (an emoji joined of others,
    a letter with its marks) that fits whole.
    """
    for piece in _pieces_by_length(text, letters):
        size = measure(piece)
        if size <= limit:
            yield piece, size
        elif letters > _FEW_LETTERS:
            yield from _pieces(piece, measure, limit, letters // 2)
        else:
            splitter = TextSplitter.from_callback(measure, limit, trim=False)
            yield from ((part, measure(part)) for part in splitter.chunks(piece))


def _pieces_by_length(text: str, letters: int) -> Iterator[str]:
    splitter = TextSplitter(letters, trim=False)
    # The splitter's time grows with the square of the length, so it is given a window at a time.
    # The last piece, which the window's end cut off, begins the next window.
    window = 16 * letters
    start = 0
    while start < len(text):
        pieces = splitter.chunks(text[start : start + window])
        if start + window < len(text):
            pieces.pop()
        yield from pieces
        start += sum(map(len, pieces))


def _boundary(newlines: int) -> _Boundary:
    return (_Boundary.SENTENCE, _Boundary.LINE, _Boundary.PARAGRAPH)[min(newlines, 2)]


def _running_totals(units: Sequence[_Unit]) -> list[int]:
    return [0, *accumulate(unit.tokens for unit in units)]


def _best_end(
    units: Sequence[_Unit], totals: Sequence[int], first: int, done: int, *, room: int, least: int
) -> int:
    """Gives the index of the unit before which a chunk ends that begins with unit `first`.

    Of the ends that leave the chunk half full or more, and something useful for the next one, the
    strongest boundary wins, then the last. A table or code that would be cut there, and fits into
    a chunk of its own, is left to the next chunk.
    """
    furthest = max(bisect_right(totals, totals[first] + room) - 1, done + 1)
    if furthest == len(units):
        return furthest
    half_full = bisect_left(totals, totals[first] + room // 2)
    ends = range(max(half_full, done + 1), furthest + 1)
    useful = [end for end in ends if totals[-1] - totals[end] >= least]
    end = max(useful or ends, key=lambda end: (units[end - 1].after, end), default=furthest)
    return _before_block(units, totals, done, end, room)


def _before_block(
    units: Sequence[_Unit], totals: Sequence[int], done: int, end: int, room: int
) -> int:
    block = units[end].block if end < len(units) else -1
    if block < 0 or units[end - 1].block != block:
        return end
    begin = next((i for i in range(end, 0, -1) if units[i - 1].block != block), 0)
    stop = next((i for i in range(end, len(units)) if units[i].block != block), len(units))
    return begin if begin > done and totals[stop] - totals[begin] <= room else end


def _next_start(totals: Sequence[int], first: int, done: int, *, room: int, overlap: int) -> int:
    """Gives where the next chunk begins: later than this one, and so that a new unit fits in."""
    if done + 1 >= len(totals):
        return done
    reach = max(totals[done] - overlap, totals[done + 1] - room)
    return min(max(bisect_left(totals, reach), first + 1), done)


def _fold(
    passages: Iterable[_Passage],
    join: Callable[[_Passage, _Passage], _Passage | None],
) -> list[_Passage]:
    """Joins each passage to the one before it wherever `join` gives what they make together."""
    folded: list[_Passage] = []
    for passage in passages:
        joined = join(folded[-1], passage) if folded else None
        if joined is None:
            folded.append(passage)
        else:
            folded[-1] = joined
    return folded


def _join_bare(one: _Passage, other: _Passage) -> _Passage | None:
    """Joins a heading without text to the first section below it, which keeps its own heading."""
    is_below = _shared(one.heading, other.heading) == one.heading
    if one.is_bare and is_below and one.page == other.page:
        return replace(other, units=one.units + other.units)
    return None


def _shared(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    """Gives the heading path that two have in common."""
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return tuple(name for name, _ in pairs)


def _plain(line: str) -> str:
    """Gives a line as it is compared: without the marks of a heading, in small letters."""
    return " ".join(line.strip("#>*: \t\n").casefold().split())


def _shortened(name: str, width: int) -> str:
    """Cuts a name to the words that fit; a single long word is cut itself."""
    name = " ".join(name.split())
    if _width(name) <= width:
        return name
    kept = ""
    for word in name.split():
        if _width(f"{kept} {word}") >= width:
            break
        kept = f"{kept} {word}".strip()
    return f"{kept or name[: width // 2]}…"


def _width(text: str) -> int:
    """Gives columns: Hangul, hanja and kana take two, as they take about twice the tokens."""
    return len(text) if text.isascii() else len(text) + sum(c >= "\u1100" for c in text)
