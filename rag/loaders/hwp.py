"""HWP 5 and HWPX, the formats of Hangul, whichever of the two the content is.

Read with dochan, which gives cells, spans, headings and notes of both formats alike and opens
documents for distribution. unhwp loses the notes of HWPX, takes inner tables out of their cells and
has no build for Linux on ARM; hwp2markdown, hwp-hwpx-parser and extract-hwp find no headings;
hwpforge refuses a document for one missing font. dochan is Python: no panic can end the process.
"""

import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from rag.loaders.building import TextBuilder
from rag.loaders.cleaning import one_line, warn_unreadable
from rag.loaders.errors import BrokenFile
from rag.loaders.packages import COMPOUND, HWPX, LOCKED, open_package, open_part
from rag.loaders.titles import is_sensible
from rag.records import ExtractedText

if TYPE_CHECKING:
    from dochan.model.document import Document

_HWP_TYPE = "application/x-hwp"
_HWPX_TYPE = "application/hwp+zip"
_OLD = b"HWP Document File V"  # HWP 3, of 1997 and before
_HEADER_STREAM = "FileHeader".encode("utf-16-le")
_LOCKED_SIGNS = ("암호", "DRM", "password", "encrypt")


def read_hwp(data: bytes, stem: str) -> ExtractedText:
    """Raises BrokenFile for what is locked, damaged, or no document of Hangul."""
    if data.startswith(b"PK"):
        return read_hwpx(data, stem)
    if data.startswith(_OLD):
        raise BrokenFile(
            "the file is of HWP 3, the format of Hangul 97 and before: "
            "open it in Hangul and save it as .hwpx"
        )
    if not data.startswith(COMPOUND) or _HEADER_STREAM not in data:
        raise BrokenFile("the file is damaged or no HWP document")
    return _build(_parsed(data, ".hwp"), "", stem, _HWP_TYPE)


def read_hwpx(data: bytes, stem: str) -> ExtractedText:
    """Raises BrokenFile as `read_hwp` does, UnsupportedFile for one that is too large."""
    if data.startswith(COMPOUND):
        return read_hwp(data, stem)
    archive = open_package(data, HWPX)
    try:
        title = _package_title(archive)
    except Exception as error:  # zipfile and lxml raise whatever the damage leads to
        raise BrokenFile("the file is damaged: it cannot be opened as an HWPX document") from error
    return _build(_parsed(data, ".hwpx"), title, stem, _HWPX_TYPE)


def _parsed(data: bytes, suffix: str) -> "Document":
    """Raises BrokenFile with what dochan says of a document that it could not read at all."""
    from dochan import Dochan

    with tempfile.TemporaryDirectory(prefix="attest-") as folder:
        path = Path(folder) / f"document{suffix}"  # it takes a path, not bytes
        path.write_bytes(data)
        try:
            document = Dochan(str(path)).doc
        except Exception as error:
            raise BrokenFile(
                "the file is damaged: it cannot be opened as an HWP document"
            ) from error
    if document.source_format not in ("hwp", "hwpx"):
        raise BrokenFile("the file is damaged or no HWP document")
    faults = [fault for fault in document.errors if fault.startswith("ERR")]
    if faults and not any(section.elements for section in document.sections):
        if any(sign in fault for fault in faults for sign in _LOCKED_SIGNS):
            raise BrokenFile(LOCKED)
        if getattr(document.file_header, "is_distribution", False):
            raise BrokenFile(
                "the file is sealed for distribution (배포용 문서) and cannot be opened: "
                "ask for an ordinary copy"
            )
        raise BrokenFile("the file is damaged: none of its text can be read")
    return document


def _build(document: "Document", title: str, stem: str, media_type: str) -> ExtractedText:
    from rag.loaders.hwp_blocks import BlockReader

    reader = BlockReader()
    try:
        reader.add_document(document)
    except RecursionError as error:
        raise BrokenFile("the file is damaged: its tables stand in each other too deep") from error
    builder = reader.builder
    if not is_sensible(title):
        title = _first_heading(builder) or stem
    warnings = warn_unreadable(builder.unreadable) + _warn_faults(document)
    return builder.finish(title, media_type, warnings)


def _first_heading(builder: TextBuilder) -> str:
    return builder.sections[0].heading[0] if builder.sections else ""


def _warn_faults(document: "Document") -> tuple[str, ...]:
    faults = sum(fault.startswith("ERR") for fault in document.errors)
    if not faults:
        return ()
    return (
        f"{faults} part{'' if faults == 1 else 's'} of the file could not be read: "
        "damaged or too large",
    )


def _package_title(archive: zipfile.ZipFile) -> str:
    from lxml import etree

    file = open_part(archive, "Contents/content.hpf")
    if file is None:
        return ""
    with file:
        parser = etree.XMLParser(resolve_entities=False, no_network=True)
        root = etree.parse(file, parser).getroot()
    return next((one_line(title.text or "") for title in root.iter("{*}title")), "")
