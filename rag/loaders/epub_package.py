"""What an EPUB book says of itself: its title, the order of its chapters, its table of contents."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from selectolax.lexbor import LexborHTMLParser

from rag.loaders.cleaning import one_line
from rag.loaders.decoding import decode
from rag.loaders.epub_parts import Parts
from rag.loaders.errors import BrokenFile, LoadError
from rag.loaders.html_source import unfold_xhtml
from rag.loaders.zip_names import DAMAGE

# These only disguise fonts.
_FONT_METHODS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_NCX = "application/x-dtbncx+xml"


@dataclass(frozen=True, slots=True)
class Item:
    """A file of the book."""

    path: str  # in the archive
    media_type: str
    properties: str


@dataclass(frozen=True, slots=True)
class Package:
    title: str
    spine: tuple[Item, ...]  # in reading order
    contents: dict[str, str]  # the name of each chapter's file in the table of contents


def read_package(parts: Parts) -> Package:
    """Raises BrokenFile where the archive is no book, or its chapters are encrypted."""
    try:
        place = next(_named(parts.xml("META-INF/container.xml"), "rootfile")).get("full-path", "")
        root = parts.xml(place)
    except (KeyError, StopIteration) as error:
        raise BrokenFile("the file is a ZIP archive, but no EPUB book") from error
    items = {
        item.get("id", ""): Item(
            resolved(place, item.get("href", "")),
            item.get("media-type", ""),
            item.get("properties", ""),
        )
        for item in _named(root, "item")
    }
    order = [ref.get("idref") for ref in _named(root, "itemref")]
    # Each once: a list that names a chapter again and again would make a text without end.
    spine = list(dict.fromkeys(items[name] for name in order if name in items))
    _refuse_locked(parts, {item.path for item in spine})
    title = next((one_line("".join(node.itertext())) for node in _named(root, "title")), "")
    navigation = [item for item in items.values() if "nav" in item.properties.split()]
    maps = [item for item in items.values() if item.media_type == _NCX]
    contents = _contents(parts, navigation, maps)
    return Package(title, tuple(item for item in spine if item not in navigation), contents)


def resolved(place: str, reference: str) -> str:
    """Gives the path in the archive of what a file at `place` refers to."""
    path = unquote(reference.partition("#")[0])
    return posixpath.normpath(posixpath.join(posixpath.dirname(place), path))


def _refuse_locked(parts: Parts, chapters: set[str]) -> None:
    try:
        root = parts.xml("META-INF/encryption.xml")
    except KeyError:
        return
    for data in _named(root, "EncryptedData"):
        method = next((each.get("Algorithm", "") for each in _named(data, "EncryptionMethod")), "")
        paths = {unquote(each.get("URI", "")) for each in _named(data, "CipherReference")}
        if method not in _FONT_METHODS and paths & chapters:
            raise BrokenFile(
                "the book is protected against copying (DRM): its text can be read only by the "
                "program that it was bought for"
            )


def _contents(parts: Parts, navigation: list[Item], maps: list[Item]) -> dict[str, str]:
    """Gives the first name of each file: that of the chapter, not of the sections in it."""
    names: dict[str, str] = {}
    for item, entries in [(i, _links) for i in navigation] + [(i, _points) for i in maps]:
        try:
            for reference, name in entries(parts, item):
                if name:
                    names.setdefault(resolved(item.path, reference), name)
        except (KeyError, LoadError, *DAMAGE):
            continue
    return names


def _links(parts: Parts, item: Item) -> Iterator[tuple[str, str]]:
    tree = LexborHTMLParser(unfold_xhtml(decode(parts.read(item.path)).text))
    lists = tree.css("nav")
    tables = [each for each in lists if "toc" in (each.attributes.get("epub:type") or "").split()]
    for table in tables or lists[:1]:
        for link in table.css("a"):
            yield link.attributes.get("href") or "", one_line(link.text())


def _points(parts: Parts, item: Item) -> Iterator[tuple[str, str]]:
    for point in _named(parts.xml(item.path), "navPoint"):
        label = next((one_line("".join(text.itertext())) for text in _named(point, "text")), "")
        yield next((each.get("src", "") for each in _named(point, "content")), ""), label


def _named(root: Any, name: str) -> Iterator[Any]:
    """Gives the elements of a name, whatever its namespace."""
    return iter(root.iter(f"{{*}}{name}"))
