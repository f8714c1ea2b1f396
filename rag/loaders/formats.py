"""From a file to its text: the suffix says which format, the content has to agree."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath

from rag.loaders.cleaning import is_blank
from rag.loaders.docx import read_docx
from rag.loaders.eml import read_eml, read_mbox, read_mhtml
from rag.loaders.epub import read_epub
from rag.loaders.errors import BrokenFile, EmptyFile, UnsupportedFile
from rag.loaders.html import read_html, read_xhtml
from rag.loaders.hwp import read_hwp, read_hwpx
from rag.loaders.ipynb import read_ipynb
from rag.loaders.json import read_json, read_json_lines
from rag.loaders.markdown import read_markdown
from rag.loaders.names import shown_name
from rag.loaders.ocr import HOW_TO_TURN_ON, read_picture
from rag.loaders.odf import read_odp, read_ods, read_odt
from rag.loaders.pdf import read_pdf
from rag.loaders.pptx import read_pptx
from rag.loaders.rst import read_rst
from rag.loaders.table import read_csv, read_tsv
from rag.loaders.text import read_text
from rag.loaders.xlsx import read_xlsx
from rag.records import ExtractedText

LARGEST = 200_000_000  # bytes of a file that is read

_Read = Callable[[bytes, str], ExtractedText]  # from the content and the file's stem


@dataclass(frozen=True, slots=True)
class _Format:
    media_type: str
    read: _Read


def _read_archive(_: bytes, __: str) -> ExtractedText:
    raise UnsupportedFile("the file is an archive: it has no text of its own, but holds files")


def _read_attachment(data: bytes, name: str) -> ExtractedText:
    """Reads a file that came with a message; messages in it are the message's own business."""
    file = PurePath(name)
    suffix = file.suffix.lower()
    if suffix not in _FORMATS or suffix in _HOLDS_FILES:
        raise UnsupportedFile(f"{suffix} files are not read inside a message")
    if not data:
        raise EmptyFile("the file is empty: it has 0 bytes")
    return _FORMATS[suffix].read(data, file.stem)


_TEXT = _Format("text/plain", read_text)
_MARKDOWN = _Format("text/markdown", read_markdown)
_HTML = _Format("text/html", read_html)
_XHTML = _Format("text/html", read_xhtml)
_MHTML = _Format("multipart/related", read_mhtml)
_JSON_LINES = _Format("application/jsonl", read_json_lines)
_OFFICE = "application/vnd.openxmlformats-officedocument"
_OPEN = "application/vnd.oasis.opendocument"
_SHEETS = _Format(f"{_OFFICE}.spreadsheetml.sheet", read_xlsx)
_FORMATS = {
    ".csv": _Format("text/csv", read_csv),
    ".docx": _Format(f"{_OFFICE}.wordprocessingml.document", read_docx),
    ".eml": _Format("message/rfc822", partial(read_eml, read_file=_read_attachment)),
    ".epub": _Format("application/epub+zip", read_epub),
    ".htm": _HTML,
    ".html": _HTML,
    ".hwp": _Format("application/x-hwp", read_hwp),
    ".hwpx": _Format("application/hwp+zip", read_hwpx),
    ".ipynb": _Format("application/x-ipynb+json", read_ipynb),
    ".json": _Format("application/json", read_json),
    ".jsonl": _JSON_LINES,
    ".markdown": _MARKDOWN,
    ".mbox": _Format("application/mbox", partial(read_mbox, read_file=_read_attachment)),
    ".md": _MARKDOWN,
    ".mht": _MHTML,
    ".mhtml": _MHTML,
    ".ndjson": _JSON_LINES,
    ".odp": _Format(f"{_OPEN}.presentation", read_odp),
    ".ods": _Format(f"{_OPEN}.spreadsheet", read_ods),
    ".odt": _Format(f"{_OPEN}.text", read_odt),
    ".pdf": _Format("application/pdf", read_pdf),
    ".pptx": _Format(f"{_OFFICE}.presentationml.presentation", read_pptx),
    ".rst": _Format("text/x-rst", read_rst),
    ".text": _TEXT,
    ".tsv": _Format("text/tab-separated-values", read_tsv),
    ".txt": _TEXT,
    ".xhtml": _XHTML,
    ".xlsm": _SHEETS,
    ".xlsx": _SHEETS,
    ".zip": _Format("application/zip", _read_archive),
}
_PICTURES = {
    ".bmp": "image/bmp",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".tif": "image/tiff",
    ".tiff": "image/tiff",
}
_HOLDS_FILES = frozenset((".eml", ".mbox", ".zip"))

SUPPORTED: frozenset[str] = frozenset(_FORMATS)


def supported(*, ocr: bool) -> frozenset[str]:
    """Gives the suffixes that are read: pictures only where their text is recognised."""
    return SUPPORTED | _PICTURES.keys() if ocr else SUPPORTED


def load(path: Path, *, ocr: bool = False) -> ExtractedText:
    """Reads a file.

    A file of another suffix is read as plain text if it is that: source code, a log.

    Args:
        path: The file.
        ocr: Whether to recognise the text of scanned pages and pictures. It takes seconds a page.

    Raises:
        EmptyFile: There is no text in it.
        UnsupportedFile: It is of another format, an archive (see `rag.loaders.zips`), or larger
            than `LARGEST`.
        BrokenFile: It is damaged, locked, not what its suffix says, or cannot be opened.
    """
    suffix = path.suffix.lower()
    if suffix == ".zip" and path.is_file():
        _read_archive(b"", "")
    data = content(path)
    stem = shown_name(path.stem)
    if suffix in _PICTURES and not ocr:
        raise UnsupportedFile(f"the file is a picture, which has no text layer: {HOW_TO_TURN_ON}")
    if suffix in _PICTURES:
        document = read_picture(data, stem, _PICTURES[suffix])
    elif suffix == ".pdf" and ocr:
        document = read_pdf(data, stem, ocr=True)
    elif suffix in _FORMATS:
        document = _FORMATS[suffix].read(data, stem)
    else:
        document = _read_unknown(data, stem, suffix)
    if is_blank(document.text):
        raise EmptyFile("there is no text in the file")
    return document


def media_type(path: Path) -> str:
    """Names the format by the suffix alone, as for a file that could not be read."""
    suffix = path.suffix.lower()
    known = _FORMATS.get(suffix)
    return known.media_type if known else _PICTURES.get(suffix, "application/octet-stream")


def content(path: Path) -> bytes:
    """Gives the bytes of a file that is read, whatever its format.

    Raises:
        EmptyFile: It has none.
        UnsupportedFile: It is larger than `LARGEST`.
        BrokenFile: It cannot be opened.
    """
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise BrokenFile("it is a folder or a device, not a file that can be read")
        if size > LARGEST:
            raise UnsupportedFile(
                f"the file has {size:,} bytes; at most {LARGEST:,} are read: split it"
            )
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise BrokenFile("the file does not exist") from error
    except OSError as error:
        raise BrokenFile(f"the file cannot be opened: {error.strerror or error}") from error
    if not data:
        raise EmptyFile("the file is empty: it has 0 bytes")
    return data


def _read_unknown(data: bytes, stem: str, suffix: str) -> ExtractedText:
    try:
        document = read_text(data, stem)
    except BrokenFile as error:
        named = f"{suffix} files are" if suffix else "a file without a suffix is"
        raise UnsupportedFile(
            f"{named} not supported, unless it is plain text; "
            f"supported are {', '.join(sorted(SUPPORTED))}"
        ) from error
    return document
