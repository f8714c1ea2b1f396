"""The XML of a Word document: its blocks in order, the text of a paragraph, what styles mean.

Written on elements, not on python-docx's paragraphs: those leave out content controls, tracked
insertions and text boxes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from rag.loaders.cleaning import one_line

Element: TypeAlias = Any  # an lxml element; lxml has no types of its own

# fmt: off
# Elements that only wrap what they hold.
_WRAPPERS = frozenset((
    "AlternateContent", "Choice", "customXml", "ins", "moveTo", "sdt", "sdtContent", "smartTag",
))
# Deleted or moved text, field codes, the second copy of a drawing; boxes are blocks of their own.
_UNREAD = frozenset((
    "del", "delText", "Fallback", "instrText", "moveFrom", "pPr", "rPr", "rt", "txbxContent",
))
# fmt: on
_AS_TEXT = {"tab": " ", "ptab": " ", "br": " ", "cr": " ", "noBreakHyphen": "-"}
_HEADING_NAME = re.compile(r"(?:heading|제목) ?([1-9])", re.I)


def local_name(element: Element) -> str:
    """Gives the tag without its namespace; empty for comments and processing instructions."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def value(element: Element | None, name: str = "val") -> str | None:
    """Gives the attribute of that local name, whichever namespace the document uses."""
    if element is None:
        return None
    return next((v for key, v in element.items() if key.rpartition("}")[2] == name), None)


def child(element: Element | None, *path: str) -> Element | None:
    """Follows a path of child tags; None where it ends early."""
    for name in path:
        if element is None:
            return None
        element = next((e for e in element if local_name(e) == name), None)
    return element


def members(parent: Element, *names: str) -> Iterator[Element]:
    """Gives the children of these tags in order, also those inside wrapping elements."""
    for element in parent:
        name = local_name(element)
        if name in names:
            yield element
        elif name in _WRAPPERS:
            yield from members(element, *names)


def paragraph_text(paragraph: Element) -> str:
    return one_line("".join(_pieces(paragraph)))


def _pieces(parent: Element) -> Iterator[str]:
    for element in parent:
        name = local_name(element)
        if name == "t":
            yield element.text or ""
        elif name in _AS_TEXT:
            yield _AS_TEXT[name]
        elif name not in _UNREAD:
            yield from _pieces(element)


def text_boxes(paragraph: Element) -> Iterator[Element]:
    """Gives the containers of the text boxes that are anchored in a paragraph."""
    for element in paragraph:
        name = local_name(element)
        if name == "txbxContent":
            yield element
        elif name != "Fallback":
            yield from text_boxes(element)


@dataclass(frozen=True, slots=True)
class _Style:
    name: str
    parent: str | None
    properties: Element | None
    marks_first_row: bool


@dataclass(frozen=True, slots=True)
class Styles:
    """What a document's styles say about its paragraphs and tables."""

    _by_id: dict[str, _Style] = field(default_factory=dict)

    @classmethod
    def read(cls, root: Element) -> "Styles":
        found = {}
        for style in members(root, "style"):
            conditions = (value(part, "type") for part in members(style, "tblStylePr"))
            found[value(style, "styleId") or ""] = _Style(
                name=value(child(style, "name")) or "",
                parent=value(child(style, "basedOn")),
                properties=child(style, "pPr"),
                marks_first_row="firstRow" in conditions,
            )
        return cls(found)

    def heading_level(self, paragraph: Element) -> int | None:
        """Gives 1 for the outermost level (0 for the document's title), None for body text."""
        own = value(child(paragraph, "pPr", "outlineLvl"))
        if own is not None:
            return _outline(own)
        for style in self._chain(value(child(paragraph, "pPr", "pStyle"))):
            if style.name.lower() == "title":
                return 0
            outline = value(child(style.properties, "outlineLvl"))
            if outline is not None:
                return _outline(outline)
            named = _HEADING_NAME.fullmatch(style.name)
            if named:
                return int(named[1])
        return None

    def is_list_item(self, paragraph: Element) -> bool:
        properties = child(paragraph, "pPr")
        styles = self._chain(value(child(properties, "pStyle")))
        for holder in (properties, *(style.properties for style in styles)):
            number = value(child(holder, "numPr", "numId"))
            if number is not None:
                return number != "0"
        return False

    def marks_first_row(self, style_id: str | None) -> bool:
        return any(style.marks_first_row for style in self._chain(style_id))

    def _chain(self, style_id: str | None) -> Iterator[_Style]:
        """Gives a style and those that it is based on; a loop among them ends."""
        seen = set()
        while style_id in self._by_id and style_id not in seen:
            seen.add(style_id)
            style = self._by_id[style_id]
            yield style
            style_id = style.parent


def _outline(value: str) -> int | None:
    """Word counts outline levels from 0; 9 is body text."""
    return int(value) + 1 if value.isdigit() and int(value) < 9 else None
