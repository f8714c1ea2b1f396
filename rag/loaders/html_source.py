"""What has to be done to HTML before it is parsed: XHTML's empty elements, endless nesting."""

import re
from collections.abc import Iterator
from html import unescape

from rag.loaders.cleaning import one_line

# fmt: off
_VOID = frozenset((
    "area", "base", "br", "col", "embed", "frame", "hr", "img", "input", "link", "meta", "param",
    "source", "track", "wbr",
))
# Their end tags may be left out, so that opening them again and again does not nest.
_CLOSES_ITSELF = _VOID | frozenset((
    "body", "colgroup", "dd", "dt", "head", "html", "li", "optgroup", "option", "p", "rp", "rt",
    "tbody", "td", "tfoot", "th", "thead", "tr",
))
# fmt: on
_EMPTY_ELEMENT = re.compile(r"<([A-Za-z][\w.:-]*)(\s[^<>]*)?/>")
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]*)")
_UNSEEN = re.compile(r"<(?:(script|style|template)\b|!--)", re.I)
_ANY_TAG = re.compile(r"</?[A-Za-z!?][^<>]*>")
_DEEPEST = 10_000  # the parser's time grows with the square: 200,000 levels take minutes


def unfold_xhtml(source: str) -> str:
    """Writes `<title/>` as `<title></title>`: HTML knows no such short form, and would read the
    rest of the page as the title."""
    return _EMPTY_ELEMENT.sub(_unfold, source)


def _unfold(tag: re.Match[str]) -> str:
    name, attributes = tag[1], tag[2] or ""
    return tag[0] if name.lower() in _VOID else f"<{name}{attributes}></{name}>"


def is_too_deep(source: str) -> bool:
    if source.count("<") <= _DEEPEST:
        return False
    depth = 0
    for tag in _TAG.finditer(source):
        if tag[2].lower() not in _CLOSES_ITSELF:
            depth = max(0, depth - 1) if tag[1] else depth + 1
            if depth > _DEEPEST:
                return True
    return False


def without_tags(source: str) -> str:
    """Gives the words of a page that cannot be parsed."""
    words = unescape(_ANY_TAG.sub(" ", " ".join(_seen(source))))
    return "\n".join(filter(None, map(one_line, words.split("\n"))))


def _seen(source: str) -> Iterator[str]:
    """Gives what stands between scripts, styles and comments; one left open hides the rest."""
    place = 0
    while opening := _UNSEEN.search(source, place):
        yield source[place : opening.start()]
        end = re.compile(f"</{opening[1]}\\s*>" if opening[1] else "-->", re.I)
        closing = end.search(source, opening.end())
        if closing is None:
            return
        place = closing.end()
    yield source[place:]
