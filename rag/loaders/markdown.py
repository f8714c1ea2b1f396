"""Markdown: the source as written; its headings become sections."""

import re
from itertools import accumulate, pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from rag.loaders.cleaning import one_line
from rag.loaders.decoding import decode
from rag.records import ExtractedText, Section

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?P<fields>.*?)^(?:---|\.\.\.)[ \t]*$", re.S | re.M)
_FRONT_TITLE = re.compile(r"^title[ \t]*:[ \t]*(?P<title>\S.*)$", re.I | re.M)


def read_markdown(data: bytes, stem: str) -> ExtractedText:
    decoded = decode(data)
    headings = _headings(decoded.text)
    first = next((name for _, level, name in headings if level == 1), None)
    return ExtractedText(
        text=decoded.text,
        title=_front_title(decoded.text) or first or stem,
        media_type="text/markdown",
        sections=_sections(headings),
        warnings=decoded.warnings,
    )


def _headings(text: str) -> list[tuple[int, int, str]]:
    """Gives (offset, level, name) of each heading, as a parser sees them: none in a fence."""
    blocks = MarkdownIt("commonmark").enable("table").disable("inline")
    inline = MarkdownIt("commonmark")
    line_starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    # Else the line that closes the front matter would underline its last field as a heading.
    tokens = blocks.parse(_FRONT_MATTER.sub(lambda m: "\n" * m[0].count("\n"), text, count=1))
    headings = []
    for opening, content in pairwise(tokens):
        # A heading inside a quotation or a list item does not divide the document.
        if opening.type == "heading_open" and opening.level == 0 and opening.map:
            name = one_line(_plain(inline.parseInline(content.content)))
            if name:
                headings.append((line_starts[opening.map[0]], int(opening.tag[1:]), name))
    return headings


def _plain(tokens: list[Token]) -> str:
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


def _sections(headings: list[tuple[int, int, str]]) -> tuple[Section, ...]:
    path: list[tuple[int, str]] = []
    sections = []
    for start, level, name in headings:
        path = [(depth, outer) for depth, outer in path if depth < level]
        path.append((level, name))
        sections.append(Section(start, tuple(outer for _, outer in path)))
    return tuple(sections)


def _front_title(text: str) -> str | None:
    front = _FRONT_MATTER.match(text)
    title = front and _FRONT_TITLE.search(front["fields"])
    return one_line(title["title"].strip("\"' ")) if title else None
