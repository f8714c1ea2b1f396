"""HWP 5 and HWPX documents made in memory: paragraphs, tables in tables, notes."""

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias
from xml.sax.saxutils import escape

from tests.rag.loaders.compound_files import compound

STYLES = ("바탕글", "개요 1", "개요 2")
LOCKED, SEALED, SCRIPTED = 2, 4, 8  # flags of the file header: password, distribution, script
# fmt: off
(_PROPERTIES, _MAPPINGS, _FACE, _CHARS, _SHAPE, _STYLE) = (0x10, 0x11, 0x13, 0x15, 0x19, 0x1A)
(_PARAGRAPH, _TEXT, _RUNS, _CONTROL, _LIST, _TABLE) = (0x42, 0x43, 0x44, 0x47, 0x48, 0x4D)
# fmt: on


@dataclass(frozen=True)
class Cell:
    blocks: "Sequence[Block]"
    columns: int = 1
    rows: int = 1
    is_header: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of cells; a cell that a span covers is left out."""

    rows: Sequence[Sequence["Cell | str"]]


@dataclass(frozen=True)
class Note:
    text: str
    note: str
    kind: str = "footnote"  # or endnote, header, footer


@dataclass(frozen=True)
class Styled:
    text: str
    style: int = 0  # an index into STYLES
    breaks: bool = False


Block: TypeAlias = "str | Styled | Table | Note"


@dataclass(frozen=True)
class _Placed:
    cell: Cell
    row: int
    column: int


def _placed(table: Table) -> list[_Placed]:
    covered: set[tuple[int, int]] = set()
    placed = []
    for y, row in enumerate(table.rows):
        x = 0
        for given in row:
            cell = Cell([given]) if isinstance(given, str) else given
            while (y, x) in covered:
                x += 1
            covered |= {(y + dy, x + dx) for dy in range(cell.rows) for dx in range(cell.columns)}
            placed.append(_Placed(cell, y, x))
    return placed


def _width(placed: list[_Placed]) -> int:
    return max(p.column + p.cell.columns for p in placed)


# HWP 5 ---------------------------------------------------------------------------------------


@dataclass
class _Records:
    parts: list[bytes] = field(default_factory=list)

    def add(self, tag: int, level: int, content: bytes) -> None:
        size = min(len(content), 0xFFF)
        self.parts.append(struct.pack("<I", tag | level << 10 | size << 20))
        if size == 0xFFF:
            self.parts.append(struct.pack("<I", len(content)))
        self.parts.append(content)

    def packed(self) -> bytes:
        deflate = zlib.compressobj(wbits=-15)
        return deflate.compress(b"".join(self.parts)) + deflate.flush()


def hwp(
    *sections: Sequence[Block], flags: int = 0, streams: Mapping[str, bytes] = MappingProxyType({})
) -> bytes:
    content = {
        "FileHeader": struct.pack("<32sII216x", b"HWP Document File", 0x05000500, 1 | flags),
        "DocInfo": _doc_info(len(sections)),
    }
    for number, section in enumerate(sections):
        records = _Records()
        _add_blocks(records, 0, section)
        content[f"BodyText/Section{number}"] = records.packed()
    return compound({**content, **streams})


def _doc_info(n_sections: int) -> bytes:
    records = _Records()
    records.add(_PROPERTIES, 0, struct.pack("<7H3I", n_sections, 1, 1, 1, 1, 1, 1, 0, 0, 0))
    counts = [0, *[1] * 7, 1, 1, 0, 0, 0, 1, len(STYLES), 0, 0, 0]
    records.add(_MAPPINGS, 0, struct.pack("<18I", *counts))
    for _ in range(7):
        records.add(_FACE, 1, b"\0" + _string("함초롬바탕"))
    records.add(_CHARS, 1, struct.pack("<7H7B7b7B7bIIbb4IH", *[0] * 7, *[100] * 7, *[0] * 7,
                *[100] * 7, *[0] * 7, 1000, 0, 0, 0, 0, 0, 0, 0, 0))  # fmt: skip
    records.add(_SHAPE, 1, struct.pack("<I6i3H4h3I", 0, *[0] * 6, 0, 0, 0, *[0] * 4, 0, 0, 160))
    for name in STYLES:
        english = {"바탕글": "Normal"}.get(name, name.replace("개요", "Outline"))
        end = struct.pack("<BBhHH", 0, 0, 1042, 0, 0)
        records.add(_STYLE, 1, _string(name) + _string(english) + end)
    return records.packed()


def _string(text: str) -> bytes:
    encoded = text.encode("utf-16-le")
    return struct.pack("<H", len(encoded) // 2) + encoded


def _add_blocks(records: _Records, level: int, blocks: Sequence[Block]) -> None:
    for block in blocks:
        if isinstance(block, Table):
            _add_paragraph(records, level, "", control=(11, b"tbl "))
            _add_table(records, level + 1, block)
        elif isinstance(block, Note):
            code = {"footnote": (17, b"fn  "), "endnote": (17, b"en  "), "header": (16, b"head"),
                    "footer": (16, b"foot")}[block.kind]  # fmt: skip
            _add_paragraph(records, level, block.text, control=code)
            records.add(_CONTROL, level + 1, code[1][::-1] + bytes(16))
            records.add(_LIST, level + 2, struct.pack("<HHI", 1, 0, 0) + bytes(8))
            _add_blocks(records, level + 2, [block.note])
        else:
            styled = block if isinstance(block, Styled) else Styled(block)
            _add_paragraph(records, level, styled.text, styled.style, breaks=styled.breaks)


def _add_paragraph(
    records: _Records,
    level: int,
    text: str,
    style: int = 0,
    *,
    control: tuple[int, bytes] | None = None,
    breaks: bool = False,
) -> None:
    tab = struct.pack("<H12xH", 9, 9)
    units = tab.join(part.encode("utf-16-le") for part in text.split("\t"))
    if control is not None:
        code, name = control
        units += struct.pack("<H4s8xH", code, name[::-1], code)
    units += struct.pack("<H", 13)
    head = (len(units) // 2, 0, 0, style, 4 * breaks, 1, 0, 0, 0)
    records.add(_PARAGRAPH, level, struct.pack("<IIHBBHHHI", *head))
    records.add(_TEXT, level + 1, units)
    records.add(_RUNS, level + 1, struct.pack("<II", 0, 0))


def _add_table(records: _Records, level: int, table: Table) -> None:
    placed = _placed(table)
    records.add(_CONTROL, level, b" lbt" + bytes(42))
    counts = [sum(p.row == row for p in placed) for row in range(len(table.rows))]
    head = struct.pack("<IHHH4H", 4, len(table.rows), _width(placed), 0, 0, 0, 0, 0)
    end = struct.pack(f"<{len(counts)}HHH", *counts, 0, 0)
    records.add(_TABLE, level + 1, head + end)
    for p in placed:
        where = (p.column, p.row, p.cell.columns, p.cell.rows)
        flags = p.cell.is_header << 18
        cell = struct.pack("<HHI4HII4HH", len(p.cell.blocks), 0, flags, *where, *[0] * 7)
        records.add(_LIST, level + 1, cell)
        _add_blocks(records, level + 1, p.cell.blocks)


# HWPX ----------------------------------------------------------------------------------------

_SPACES = " ".join(
    f'xmlns:{prefix}="http://www.hancom.co.kr/hwpml/2011/{name}"'
    for prefix, name in [("hs", "section"), ("hp", "paragraph"), ("hc", "core"), ("hh", "head")]
)
_CONTAINER = (
    '<ocf:container xmlns:ocf="urn:oasis:names:tc:opendocument:xmlns:container"><ocf:rootfiles>'
    '<ocf:rootfile full-path="Contents/content.hpf" media-type="application/hwpml-package+xml"/>'
    "</ocf:rootfiles></ocf:container>"
)


def hwpx(*sections: Sequence[Block], title: str = "", **members: str) -> bytes:
    bodies = {
        f"Contents/section{number}.xml": section_xml("".join(map(_block_xml, section)))
        for number, section in enumerate(sections)
    }
    return hwpx_package(bodies, title, **members)


def section_xml(body: str) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?><hs:sec {_SPACES}>{body}</hs:sec>'


def hwpx_package(bodies: dict[str, str], title: str = "", **members: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/hwp+zip", zipfile.ZIP_STORED)
        archive.writestr("version.xml", "<v/>")
        archive.writestr("META-INF/container.xml", _CONTAINER)
        archive.writestr("Contents/content.hpf", _contents(list(bodies), title))
        archive.writestr("Contents/header.xml", _header())
        for name, content in (bodies | members).items():
            archive.writestr(name, content)
    return file.getvalue()


def _contents(bodies: list[str], title: str) -> str:
    items = "".join(
        f'<opf:item id="s{i}" href="{name}" media-type="application/xml"/>'
        for i, name in enumerate(bodies)
    )
    spine = "".join(f'<opf:itemref idref="s{i}"/>' for i in range(len(bodies)))
    return (
        '<opf:package xmlns:opf="http://www.idpf.org/2007/opf/"><opf:metadata>'
        f"<opf:title>{escape(title)}</opf:title></opf:metadata><opf:manifest>"
        '<opf:item id="header" href="Contents/header.xml" media-type="application/xml"/>'
        f"{items}</opf:manifest><opf:spine>{spine}</opf:spine></opf:package>"
    )


def _header() -> str:
    styles = "".join(
        f'<hh:style id="{i}" type="PARA" name="{name}" paraPrIDRef="0" charPrIDRef="0"/>'
        for i, name in enumerate(STYLES)
    )
    return (
        f'<hh:head {_SPACES} version="1.4" secCnt="1"><hh:refList>'
        '<hh:charProperties itemCnt="1"><hh:charPr id="0" height="1000"/></hh:charProperties>'
        f'<hh:paraProperties itemCnt="1"><hh:paraPr id="0"/></hh:paraProperties>'
        f'<hh:styles itemCnt="{len(STYLES)}">{styles}</hh:styles></hh:refList></hh:head>'
    )


def _block_xml(block: Block) -> str:
    if isinstance(block, Table):
        return paragraph_xml(_table_xml(block))
    if isinstance(block, Note):
        name = {"footnote": "footNote", "endnote": "endNote"}.get(block.kind, block.kind)
        inner = f"<hp:subList>{paragraph_xml(text_xml(block.note))}</hp:subList>"
        control = f"<hp:ctrl><hp:{name}>{inner}</hp:{name}></hp:ctrl>"
        return paragraph_xml(text_xml(block.text) + control)
    styled = block if isinstance(block, Styled) else Styled(block)
    return paragraph_xml(text_xml(styled.text), styled.style, breaks=styled.breaks)


def paragraph_xml(run: str, style: int = 0, *, breaks: bool = False) -> str:
    return (
        f'<hp:p paraPrIDRef="0" styleIDRef="{style}" pageBreak="{int(breaks)}">'
        f'<hp:run charPrIDRef="0">{run}</hp:run></hp:p>'
    )


def text_xml(text: str) -> str:
    return f"<hp:t>{escape(text)}</hp:t>"


def _table_xml(table: Table) -> str:
    placed = _placed(table)
    rows = "".join(
        f"<hp:tr>{''.join(_cell_xml(p) for p in placed if p.row == y)}</hp:tr>"
        for y in range(len(table.rows))
    )
    return f'<hp:tbl rowCnt="{len(table.rows)}" colCnt="{_width(placed)}">{rows}</hp:tbl>'


def _cell_xml(p: _Placed) -> str:
    return (
        f'<hp:tc header="{int(p.cell.is_header)}"><hp:subList>'
        f"{''.join(map(_block_xml, p.cell.blocks))}</hp:subList>"
        f'<hp:cellAddr colAddr="{p.column}" rowAddr="{p.row}"/>'
        f'<hp:cellSpan colSpan="{p.cell.columns}" rowSpan="{p.cell.rows}"/></hp:tc>'
    )
