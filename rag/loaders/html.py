"""HTML: what a reader sees of a page, block by block; headings become sections."""

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

from rag.loaders.building import TextBuilder
from rag.loaders.cleaning import clean, one_line, warn_unreadable
from rag.loaders.decoding import decode
from rag.loaders.errors import EmptyFile
from rag.loaders.html_source import is_too_deep, unfold_xhtml, without_tags
from rag.loaders.html_tables import is_data_table, table_lines
from rag.loaders.html_tree import HEADINGS, LINES, PARAGRAPHS, inner_text, own_text, walk
from rag.records import ExtractedText

_DECLARED = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)|<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w.:-]+)",
    re.I,
)
_MEDIA_TYPE = "text/html"
_HEAD = 4096  # bytes within which a page declares its encoding


def read_html(data: bytes, stem: str) -> ExtractedText:
    decoded = decode(data, declared=_declared(data))
    return read_page(decoded.text, stem, warnings=decoded.warnings)


def read_xhtml(data: bytes, stem: str, *, named: bool = True) -> ExtractedText:
    decoded = decode(data, declared=_declared(data))
    return read_page(unfold_xhtml(decoded.text), stem, named=named, warnings=decoded.warnings)


def read_page(
    source: str, stem: str, *, named: bool = True, warnings: tuple[str, ...] = ()
) -> ExtractedText:
    """Reads decoded HTML.

    Args:
        source: The page, or a part of one.
        stem: The title where the page has none.
        named: Whether the page's title goes into the text where no top heading is there.
        warnings: What decoding has to say.
    """
    if is_too_deep(source):
        text, _ = clean(without_tags(source))
        warnings += ("its elements are nested too deep: read without its headings and tables",)
        return ExtractedText(text, stem, _MEDIA_TYPE, warnings=warnings)
    tree = LexborHTMLParser(source)
    page = _Page()
    title_node = tree.css_first("head title")
    title = one_line(title_node.text()) if title_node is not None else ""
    body = tree.body if tree.body is not None else _without_frames(tree)
    if body is not None and inner_text(body):
        headline = next(filter(None, map(inner_text, body.css("h1"))), "")
        # Else the only name of the page would stand nowhere in the text that is searched.
        if title and not headline and named:
            page.builder.heading(1, title)
        title = title or headline
        page.read(body)
    warnings += warn_unreadable(page.builder.unreadable)
    return page.builder.finish(title or stem, _MEDIA_TYPE, warnings)


def _declared(data: bytes) -> str | None:
    declared = _DECLARED.search(data[:_HEAD])
    return (declared[1] or declared[2]).decode("ascii", "ignore") if declared else None


def _without_frames(tree: LexborHTMLParser) -> LexborNode | None:
    """Gives what a page of frames says to those who see none, else raises."""
    frames = [frame.attributes.get("src") or "" for frame in tree.css("frame")]
    fallback = tree.css_first("noframes")
    source = fallback.inner_html if fallback is not None else None
    body = LexborHTMLParser(source).body if source else None
    if frames and (body is None or not inner_text(body)):
        raise EmptyFile(
            f"the page only frames other files: add those ({', '.join(filter(None, frames))})"
        )
    return body


class _Page:
    """Gathers inline text until a block begins or ends, then writes it as a line of its own."""

    def __init__(self) -> None:
        self.builder = TextBuilder()
        self._inline: list[str] = []
        self._apart = True  # whether a paragraph has begun or ended since the last line
        self._lists: list[int | None] = []  # the open ones: the next number, None for bullets
        self._mark = ""  # of a list item whose first line is still to come

    def read(self, body: LexborNode) -> None:
        for step, node in walk(body, _is_leaf):
            tag = node.tag or ""
            if tag == "-text":
                self._inline += [own_text(node)] if step == "enter" else []
            elif tag in PARAGRAPHS or tag in LINES:
                self._write_line()
                self._apart |= tag in PARAGRAPHS and not (self._lists and tag in ("ol", "ul", "p"))
                if step == "enter":
                    self._open(tag, node)
                else:
                    self._close(tag)
        self._write_line()

    def _open(self, tag: str, node: LexborNode) -> None:
        if tag in HEADINGS:
            title = inner_text(node)
            if title:
                self.builder.heading(int(tag[1]), title)
        elif tag == "pre":
            self._write("\n".join(line.rstrip() for line in _raw(node).strip("\n").split("\n")))
        elif tag == "table" and _is_leaf(node):
            for line in table_lines(node):
                self._write(line)
        elif tag in ("ol", "ul"):
            self._lists.append(_first_number(node) if tag == "ol" else None)
        elif tag == "li":
            self._mark = self._next_mark()

    def _close(self, tag: str) -> None:
        if tag in ("ol", "ul"):
            self._lists.pop()
            self._apart |= not self._lists
        elif tag == "li":
            self._mark = ""

    def _next_mark(self) -> str:
        number = self._lists[-1] if self._lists else None
        if number is None:
            return "- "
        self._lists[-1] = number + 1
        return f"{number}. "

    def _write_line(self) -> None:
        self._write(one_line("".join(self._inline)))
        self._inline = []

    def _write(self, block: str) -> None:
        if block:
            self.builder.add(self._mark + block, apart=self._apart)
            self._apart, self._mark = False, ""


def _is_leaf(node: LexborNode) -> bool:
    tag = node.tag
    return tag in HEADINGS or tag == "pre" or (tag == "table" and is_data_table(node))


def _raw(pre: LexborNode) -> str:
    """Gives preformatted text with its own line breaks."""
    pieces = []
    for step, node in walk(pre):
        if step == "enter" and node.tag in ("-text", "br"):
            pieces.append("\n" if node.tag == "br" else own_text(node))
    return "".join(pieces)


def _first_number(node: LexborNode) -> int:
    start = node.attributes.get("start") or "1"
    return int(start) if start.isascii() and start.isdigit() else 1
