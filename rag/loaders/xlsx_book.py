"""The parts of a workbook that its sheets refer to: their names, shared texts, formats."""

import posixpath
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree

from rag.loaders.cleaning import one_line
from rag.loaders.docx_tree import Element, child, local_name, value
from rag.loaders.number_formats import BUILT_IN
from rag.loaders.packages import open_part

_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_UNREAD = frozenset(("rPh", "phoneticPr", "rPr"))  # furigana repeat what stands under them


@dataclass(frozen=True, slots=True)
class Style:
    format: str
    is_bold: bool


@dataclass(frozen=True, slots=True)
class Book:
    sheets: list[tuple[str, str]]  # name and part, in order; only those with cells
    texts: list[str]
    styles: list[Style]
    from_1904: bool
    title: str


def read_book(archive: zipfile.ZipFile) -> Book:
    """Raises KeyError or an error of lxml for a workbook that is damaged."""
    main = dict(_targets(archive, "").values()).get("officeDocument", "xl/workbook.xml")
    root = _tree(archive, main)
    if root is None:
        raise KeyError(main)
    targets = _targets(archive, main)
    sheets = []
    for sheet in _children(root, "sheets"):
        kind, part = targets.get(value(sheet, "id") or "", ("", ""))
        if kind == "worksheet":
            sheets.append((value(sheet, "name") or "", part))
    related = dict(targets.values())
    title = child(_tree(archive, "docProps/core.xml"), "title")
    return Book(
        sheets=sheets,
        texts=_shared_texts(archive, related.get("sharedStrings", "xl/sharedStrings.xml")),
        styles=_styles(_tree(archive, related.get("styles", "xl/styles.xml"))),
        from_1904=value(child(root, "workbookPr"), "date1904") in ("1", "true"),
        title=one_line(title.text or "") if title is not None else "",
    )


def unescaped(text: str) -> str:
    """Resolves `_x000D_`, which is how strings of a workbook write what XML cannot hold."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text


def _pieces(parent: Element) -> Iterator[str]:
    for element in parent:
        name = local_name(element)
        if name == "t":
            yield element.text or ""
        elif name not in _UNREAD:
            yield from _pieces(element)


def _shared_texts(archive: zipfile.ZipFile, name: str) -> list[str]:
    file = open_part(archive, name)
    if file is None:
        return []
    texts = []
    with file:
        for _, item in etree.iterparse(file, tag="{*}si", resolve_entities=False, no_network=True):
            texts.append(one_line(unescaped("".join(_pieces(item)))))
            item.clear()
            while item.getprevious() is not None:  # else the read ones stay in memory, if empty
                del item.getparent()[0]
    return texts


def _styles(root: Element | None) -> list[Style]:
    formats = dict(BUILT_IN)
    for format_ in _children(root, "numFmts"):
        number = value(format_, "numFmtId") or ""
        if number.isdigit():
            formats[int(number)] = value(format_, "formatCode") or "General"
    bold = [_is_on(child(font, "b")) for font in _children(root, "fonts")]
    styles = []
    for style in _children(root, "cellXfs"):
        number, font = value(style, "numFmtId") or "", value(style, "fontId") or ""
        code = formats.get(int(number), "General") if number.isdigit() else "General"
        is_bold = font.isdigit() and int(font) < len(bold) and bold[int(font)]
        styles.append(Style(code, is_bold))
    return styles


def _children(root: Element | None, name: str) -> list[Element]:
    parent = child(root, name)
    return [] if parent is None else [e for e in parent if local_name(e)]


def _is_on(switch: Element | None) -> bool:
    return switch is not None and value(switch) not in ("0", "false")


def _tree(archive: zipfile.ZipFile, name: str) -> Element | None:
    file = open_part(archive, name)
    if file is None:
        return None
    with file:
        parser = etree.XMLParser(resolve_entities=False, no_network=True)
        return etree.parse(file, parser).getroot()


def _targets(archive: zipfile.ZipFile, part: str) -> dict[str, tuple[str, str]]:
    """Gives the kind and the part of each relation of a part."""
    folder, name = posixpath.split(part)
    root = _tree(archive, posixpath.join(folder, "_rels", f"{name}.rels"))
    found = {}
    for relation in root if root is not None else ():
        kind = (value(relation, "Type") or "").rpartition("/")[2]
        target = (value(relation, "Target") or "").replace("\\", "/")
        found[value(relation, "Id") or ""] = (kind, posixpath.join("/", folder, target))
    return {
        key: (kind, posixpath.normpath(target).lstrip("/")) for key, (kind, target) in found.items()
    }
