"""Markdown: the source as written, with its tables as rows; its headings become sections."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from rag.loaders.cleaning import one_line
from rag.loaders.decoding import decode
from rag.loaders.rows import row_lines
from rag.records import ExtractedText, Section

# Between dashes YAML, between plus signs TOML.
_FRONT_MATTER = re.compile(
    r"\A(?P<fence>---|\+\+\+)[ \t]*\n(?P<fields>.*?)^(?:(?P=fence)|\.\.\.)[ \t]*$", re.S | re.M
)
_FRONT_TITLE = re.compile(r"^title[ \t]*[:=][ \t]*(?P<title>\S.*)$", re.I | re.M)
_PICTURE_DATA = re.compile(r"(data:[\w.+-]+/[\w.+-]+)(?:;[\w=.-]+)*;base64,[A-Za-z0-9+/=%\s]{32,}")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of the document; `text[start:end]` are its lines."""

    level: int  # 1 is outermost
    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Source:
    """A Markdown text with its headings, in order."""

    text: str
    headings: tuple[Heading, ...]


def read_markdown(data: bytes, stem: str) -> ExtractedText:
    decoded = decode(data)
    source = read_source(without_pictures(decoded.text))
    first = next((heading.name for heading in source.headings if heading.level == 1), None)
    return ExtractedText(
        text=source.text,
        title=_front_title(source.text) or first or stem,
        media_type="text/markdown",
        sections=_sections(source.headings),
        warnings=decoded.warnings,
    )


def read_source(text: str) -> Source:
    """Finds the headings as a parser sees them, none in a fence, and writes tables as rows."""
    blocks = MarkdownIt("commonmark").enable("table").disable("inline")
    # Else the line that closes the front matter would underline its last field as a heading.
    tokens = blocks.parse(_FRONT_MATTER.sub(lambda m: "\n" * m[0].count("\n"), text, count=1))
    lines: list[str | None] = [*text.split("\n")]
    for opening, table in _tables(tokens):
        first, end = opening.map or (0, 0)
        while end > first + 1 and not (lines[end - 1] or "").strip():
            end -= 1
        lines[first:end] = ["\n".join(_rows(table)), *[None] * (end - first - 1)]
    starts = [0, *accumulate(0 if line is None else len(line) + 1 for line in lines)]
    kept = "\n".join(line for line in lines if line is not None)
    return Source(kept, tuple(_headings(tokens, starts, len(kept))))


def without_pictures(text: str) -> str:
    """Leaves out the bytes of pictures that stand in the text."""
    return _PICTURE_DATA.sub(r"\1", text) if ";base64," in text else text


def _headings(tokens: Sequence[Token], starts: Sequence[int], length: int) -> Iterator[Heading]:
    inline = MarkdownIt("commonmark")
    for opening, content in pairwise(tokens):
        # A heading inside a quotation or a list item does not divide the document.
        if opening.type == "heading_open" and opening.level == 0 and opening.map:
            name = one_line(_plain(inline.parseInline(content.content)))
            if name:
                start, end = starts[opening.map[0]], min(starts[opening.map[1]], length)
                yield Heading(int(opening.tag[1:]), name, start, end)


def _tables(tokens: Sequence[Token]) -> Iterator[tuple[Token, Sequence[Token]]]:
    """Gives each outermost table: the token that opens it, and those inside."""
    opening = None
    for place, token in enumerate(tokens):
        if token.type == "table_open" and token.level == 0 and token.map:
            opening = place
        elif token.type == "table_close" and token.level == 0 and opening is not None:
            yield tokens[opening], tokens[opening + 1 : place]
            opening = None


def _rows(table: Sequence[Token]) -> list[str]:
    rows: list[list[str]] = []
    for token in table:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(one_line(token.content))
    return row_lines(rows[1:], rows[0]) or row_lines(rows[:1], ())


def _plain(tokens: Sequence[Token]) -> str:
    """Gives the words of inline content without marks, addresses and pictures."""
    pieces = []
    for token in tokens:
        if token.children:
            pieces.append(_plain(token.children))
        elif token.type in ("text", "code_inline"):
            pieces.append(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            pieces.append(" ")
    return "".join(pieces)


def _sections(headings: Sequence[Heading]) -> tuple[Section, ...]:
    path: list[Heading] = []
    sections = []
    for heading in headings:
        path = [outer for outer in path if outer.level < heading.level]
        path.append(heading)
        sections.append(Section(heading.start, tuple(outer.name for outer in path)))
    return tuple(sections)


def _front_title(text: str) -> str | None:
    front = _FRONT_MATTER.match(text)
    title = front and _FRONT_TITLE.search(front["fields"])
    return one_line(title["title"].strip("\"' ")) if title else None
