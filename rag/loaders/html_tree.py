"""Walking an HTML tree: what is seen of it, in which order."""

import re
from collections.abc import Callable, Iterator
from typing import Literal

from selectolax.lexbor import LexborNode

from rag.loaders.cleaning import one_line

Step = Literal["enter", "leave"]

HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
# fmt: off
# Blocks that a reader sees set off by space, and those that only begin a new line.
PARAGRAPHS = HEADINGS | frozenset((
    "article", "aside", "blockquote", "body", "dl", "figure", "footer", "form", "header", "hr",
    "main", "nav", "ol", "p", "pre", "section", "table", "ul",
))
LINES = frozenset((
    "address", "br", "button", "caption", "center", "dd", "details", "dialog", "div", "dt",
    "fieldset", "figcaption", "label", "legend", "li", "summary", "tbody", "td", "tfoot", "th",
    "thead", "tr",
))

_UNSEEN = frozenset((
    "audio", "canvas", "datalist", "embed", "head", "iframe", "noscript", "object", "script",
    "select", "style", "svg", "template", "textarea", "title", "video", "-comment",
))
# fmt: on
_HIDING_STYLE = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.I)


def walk(
    root: LexborNode, is_leaf: Callable[[LexborNode], bool] = lambda _: False
) -> Iterator[tuple[Step, LexborNode]]:
    """Goes through the visible nodes in document order, without entering a leaf's children.

    A loop, not a recursion: a page may be nested thousands of elements deep.
    """
    stack: list[tuple[Step, LexborNode]] = [("enter", root)]
    while stack:
        step, node = stack.pop()
        if step == "enter" and not _is_visible(node):
            continue
        yield step, node
        if step == "enter":
            stack.append(("leave", node))
            if not is_leaf(node):
                stack.extend(("enter", child) for child in reversed(children(node)))


def children(node: LexborNode) -> list[LexborNode]:
    found = []
    child = node.first_child
    while child is not None:
        found.append(child)
        child = child.next
    return found


def inner_text(root: LexborNode) -> str:
    """Gives what is seen of an element on one line; blocks within it are held apart by spaces."""
    pieces = []
    for step, node in walk(root):
        if node.tag in PARAGRAPHS or node.tag in LINES:
            pieces.append(" ")
        elif step == "enter" and node.tag == "-text":
            pieces.append(own_text(node))
    return one_line("".join(pieces))


def own_text(node: LexborNode) -> str:
    return node.text(deep=False)


def _is_visible(node: LexborNode) -> bool:
    tag = node.tag or ""
    if tag in _UNSEEN:
        return False
    if tag.startswith("-"):
        return True
    attributes = node.attributes
    if "hidden" in attributes or (tag == "dialog" and "open" not in attributes):
        return False
    return not _HIDING_STYLE.search(attributes.get("style") or "")
