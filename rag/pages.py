"""Pages of PDF documents as pictures, with the words of a quote marked on them.

A picture is only made of the very file that was read: one that was moved or changed since has
none, and the text that is stored is shown instead.
"""

import json
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import BoundedSemaphore
from typing import TYPE_CHECKING

from rag.errors import NotFound
from rag.sources import content_of, on_disk

if TYPE_CHECKING:
    from index.records import StoredDocument
    from rag.library import Library

MEDIA_TYPE = "application/pdf"
_SECONDS = 20.0  # that a page may take
_AT_ONCE = BoundedSemaphore(2)
_REMEMBERED = 32  # pictures, some 100 kB each

Box = tuple[float, float, float, float]  # left, top, right, bottom: shares of the picture


@dataclass(frozen=True, slots=True)
class PagePicture:
    png: str  # base64
    width: int  # pixels
    height: int
    boxes: tuple[Box, ...]  # empty where the quote was not found on the page


def page_picture(library: "Library", document: int, page: int, start: int, end: int) -> PagePicture:
    """A page with boxes on the words of `text[start:end]`.

    Args:
        library: whose document it is
        document: its id
        page: 1-based
        start: of the quote in the stored text
        end: likewise

    Raises:
        UnknownDocument: there is none of this id.
        NotFound: it is no PDF, its file is not the one that was read, or has no such page.
    """
    row = library.catalog.document(document)
    file = _file(row)
    text = library.catalog.text(document)
    # Where on the page it stands is guessed by its place among the chunks of the page.
    own = [chunk for chunk in library.catalog.chunks_of(document) if chunk.page == page]
    first = min((chunk.start for chunk in own), default=start)
    last = max((chunk.end for chunk in own), default=end)
    about = (start - first) / max(1, last - first)
    quote = text[max(0, start) : max(0, end)]
    return _rendered(str(file), row.sha256, page, quote, round(min(max(about, 0.0), 1.0), 3))


def _file(row: "StoredDocument") -> Path:
    file = on_disk(row.path) if row.media_type == MEDIA_TYPE else None
    if file is None or file.suffix.lower() != ".pdf":  # another format, gone, or in an archive
        raise NotFound(f"{row.title}: there is no PDF file to show a page of")
    try:
        same = content_of(file).sha256 == row.sha256
    except OSError as error:
        raise NotFound(f"{file} cannot be read ({error.strerror})") from error
    if not same:
        raise NotFound(f"{file} was changed since it was read: add it again")
    return file


@lru_cache(maxsize=_REMEMBERED)
def _rendered(file: str, sha256: str, page: int, quote: str, about: float) -> PagePicture:
    asked = {"path": file, "page": page, "quote": quote, "about": about}
    with _AT_ONCE:
        try:
            done = subprocess.run(
                [sys.executable, "-m", "rag.pdf_page"],
                input=json.dumps(asked).encode(),
                capture_output=True,
                timeout=_SECONDS,
                check=True,
            )
            made = json.loads(done.stdout)
        except (subprocess.SubprocessError, ValueError) as error:
            raise NotFound(f"page {page} of {file} cannot be shown") from error
    boxes = tuple((box[0], box[1], box[2], box[3]) for box in made["boxes"])
    return PagePicture(made["png"], made["width"], made["height"], boxes)
