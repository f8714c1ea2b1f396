"""From a file to its text: the suffix says which format, the content has to agree."""

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rag.loaders.docx import read_docx
from rag.loaders.errors import BrokenFile, EmptyFile, UnsupportedFile
from rag.loaders.html import read_html
from rag.loaders.markdown import read_markdown
from rag.loaders.pdf import read_pdf
from rag.loaders.table import read_csv, read_tsv
from rag.loaders.text import read_text
from rag.records import ExtractedText

LARGEST = 200_000_000  # bytes of a file that is read


@dataclass(frozen=True, slots=True)
class _Format:
    media_type: str
    read: Callable[[bytes, str], ExtractedText]  # from the content and the file's stem


_TEXT = _Format("text/plain", read_text)
_MARKDOWN = _Format("text/markdown", read_markdown)
_HTML = _Format("text/html", read_html)
_DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_FORMATS = {
    ".csv": _Format("text/csv", read_csv),
    ".docx": _Format(_DOCX, read_docx),
    ".htm": _HTML,
    ".html": _HTML,
    ".markdown": _MARKDOWN,
    ".md": _MARKDOWN,
    ".pdf": _Format("application/pdf", read_pdf),
    ".tsv": _Format("text/tab-separated-values", read_tsv),
    ".txt": _TEXT,
}

SUPPORTED: frozenset[str] = frozenset(_FORMATS)


def load(path: Path) -> ExtractedText:
    """Reads a file.

    A file of another suffix is read as plain text if it is that: source code, a log.

    Raises:
        EmptyFile: There is no text in it.
        UnsupportedFile: It is of another format, or larger than `LARGEST`.
        BrokenFile: It is damaged, locked, not what its suffix says, or cannot be opened.
    """
    data = _content(path)
    stem = unicodedata.normalize("NFC", path.stem)
    suffix = path.suffix.lower()
    if suffix in _FORMATS:
        document = _FORMATS[suffix].read(data, stem)
    else:
        document = _read_unknown(data, stem, suffix)
    if not document.text.strip():
        raise EmptyFile("there is no text in the file")
    return document


def media_type(path: Path) -> str:
    """Names the format by the suffix alone, as for a file that could not be read."""
    known = _FORMATS.get(path.suffix.lower())
    return known.media_type if known else "application/octet-stream"


def _content(path: Path) -> bytes:
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
