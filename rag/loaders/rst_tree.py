"""The tree that docutils makes of a text, as blocks of the text that a reader sees."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from rag.loaders.building import TextBuilder
from rag.loaders.cleaning import one_line
from rag.loaders.rows import Place, column_names, places, row_lines, values

Node = Any  # a node of docutils, which comes without types
Directive = Callable[[str, int], tuple[str, Node | str | None]]

_ROLE = re.compile(r":[\w:+.-]+:`(?P<text>[^`]*)`(?:_{0,2})|`(?P<plain>[^`]*)`:[\w:+.-]+:")
_TARGET = re.compile(r"\s*<[^<>]*>$")
_SHORTENED = re.compile(r"^[~!](?:[\w.]*\.)?")  # `~module.name` shows `name`
# fmt: off
_UNSEEN = frozenset((
    "colspec", "comment", "decoration", "meta", "pending", "raw", "substitution_definition",
    "target",
))
_BOXES = frozenset((
    "attention", "caution", "danger", "error", "hint", "important", "note", "tip", "warning",
))
# fmt: on
_LITERAL = frozenset(("literal_block", "doctest_block", "math_block", "line_block"))
_PLAIN = frozenset(("paragraph", "rubric", "caption", "attribution", "subtitle", "term"))


class Rendering:
    """Reads the nodes of a document into a text.

    Args:
        directive: Reads the source of a directive that docutils did not take, at a depth.
    """

    def __init__(self, directive: Directive) -> None:
        self.builder = TextBuilder()
        self._directive = directive
        self._substitutions: dict[str, str] = {}
        self._depth = 0  # of directives inside each other
        self._level = 0  # of the open sections
        self._mark = ""  # of a list item whose first line is still to come
        self._tight = False  # whether the next block follows without a blank line

    def read(self, document: Node) -> None:
        for name, definition in document.substitution_defs.items():
            self._substitutions[name.lower()] = definition.astext()
        self._read_all(document.children)

    def _read_all(self, children: Sequence[Node]) -> None:
        for child in children:
            self._read(child)

    def _read(self, node: Node) -> None:
        kind = node.tagname
        if kind in _UNSEEN:
            return
        if kind == "section":
            self._level += 1
            self._read_all(node.children)
            self._level -= 1
        elif kind == "title":
            self._title(node)
        elif kind in _LITERAL:
            self._add(self._lines(node))
        elif kind in _PLAIN:
            self._add(one_line(self._inline(node)))
            self._tight = kind == "term"
        elif kind in ("bullet_list", "enumerated_list"):
            self._list(node)
        elif kind == "table":
            self._table(node)
        elif kind in ("field", "option_list_item", "docinfo"):
            self._pair(node)
        elif kind in ("footnote", "citation"):
            self._mark = f"[{node.children[0].astext()}] " if node.children else ""
            self._read_all(node.children[1:])
        elif kind in _BOXES:
            self._mark = f"{kind.capitalize()}: "
            self._read_all(node.children)
        elif kind == "image":
            self._add(node.get("alt", ""))
        elif kind == "system_message":
            self._refused(node)
        elif kind == "problematic" or not node.children:
            self._add(self._inline(node))
        else:
            self._read_all(node.children)

    def _title(self, node: Node) -> None:
        title = one_line(self._inline(node))
        # A box, a table or a topic has a title too, and that one divides nothing.
        if title and node.parent.tagname == "section" and not self._depth:
            self.builder.heading(self._level, title)
            self._tight = False
        else:
            self._add(title)

    def _list(self, node: Node) -> None:
        number = node.get("start", 1) if node.tagname == "enumerated_list" else None
        for place, item in enumerate(node.children):
            self._mark = "- " if number is None else f"{number + place}. "
            self._tight = self._tight or place > 0
            self._read_all(item.children)
        self._mark, self._tight = "", False

    def _pair(self, node: Node) -> None:
        name, *content = node.children
        text = one_line(" ".join(self._inline(part) for part in content))
        self._add(f"{self._inline(name)}: {text}".rstrip(": "))
        self._tight = node.next_node(descend=False, siblings=True) is not None

    def _table(self, node: Node) -> None:
        for title in (child for child in node.children if child.tagname == "title"):
            self._add(one_line(self._inline(title)))
            self._tight = True
        heads = [row for head in node.findall(_is("thead")) for row in head.children]
        bodies = [row for body in node.findall(_is("tbody")) for row in body.children]
        names = column_names(self._grid(heads))
        body = [values(line) for line in self._grid(bodies)]
        for line in row_lines(body, names) or row_lines([names], ()):
            self._add(line)
            self._tight = True
        self._tight = False

    def _grid(self, rows: Sequence[Node]) -> list[list[Place]]:
        return [
            [
                place
                for entry in row.children
                for place in places(one_line(self._inline(entry)), entry.get("morecols", 0) + 1)
            ]
            for row in rows
        ]

    def _refused(self, message: Node) -> None:
        """Shows what docutils did not take: a directive, or a title out of order."""
        for block in message.children:
            if block.tagname != "literal_block":
                continue
            source = block.astext()
            if not source.lstrip().startswith(".. "):
                self._add(re.sub(r"^([^\w\s])\1+$", "", source, flags=re.M).strip())
                continue
            title, content = self._directive(source, self._depth)
            self._add(title)
            if isinstance(content, str):
                self._add(content)
            elif content is not None:
                self._depth += 1
                self._read_all(content.children)
                self._depth -= 1

    def _inline(self, node: Node) -> str:
        """Gives the words of a node; blocks inside it are held apart by spaces."""
        match node.tagname:
            case "#text":
                return str(node.astext())
            case "problematic":
                return _ROLE.sub(_role, node.astext())
            case "substitution_reference":
                text = str(node.astext())
                return self._substitutions.get(text.lower(), text)
            case "footnote_reference" | "citation_reference":
                return f"[{node.astext()}]" if node.astext() else ""
            case "image":
                return str(node.get("alt", ""))
            case kind if kind in _UNSEEN or kind == "system_message":
                return ""
        separator = " " if node.children and node.children[0].tagname in _PLAIN else ""
        return separator.join(self._inline(child) for child in node.children)

    def _lines(self, node: Node) -> str:
        if node.tagname == "line_block":
            return "\n".join(
                self._lines(line) if line.tagname == "line_block" else self._inline(line)
                for line in node.children
            )
        return self._inline(node)

    def _add(self, text: str) -> None:
        if text.strip():
            self.builder.add(self._mark + text.rstrip(), apart=not self._tight)
            self._mark, self._tight = "", False


def _is(tagname: str) -> Callable[[Node], bool]:
    return lambda node: node.tagname == tagname


def _role(role: re.Match[str]) -> str:
    text = role["text"] if role["text"] is not None else role["plain"]
    return _SHORTENED.sub("", _TARGET.sub("", text) or text)
