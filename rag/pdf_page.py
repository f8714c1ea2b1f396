"""`python -m rag.pdf_page`: one page of a PDF as a picture, with boxes on the words of a quote.

It runs in a process of its own: a damaged file can bring down nothing else. A request comes as
JSON on stdin, {"path", "page", "quote", "about"}, and the answer goes to stdout:
{"png": base64, "width", "height", "boxes": [[left, top, right, bottom], …]}, pixels and shares of
the picture. `about` is how far down the page's text the quote stands, from 0 to 1: of words that
stand there twice, those that are nearest to it are marked.
"""

import base64
import io
import json
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from ctypes import byref, c_int
from typing import Any

_WIDTH = 1_000  # pixels of the picture
_MOST_PIXELS = 4_000_000
_MEMORY = 1 << 30  # bytes that the process may take
_LEAST = 16  # letters of a part of a quote that is looked for by itself

Box = tuple[float, float, float, float]


def rendered(path: str, page: int, quote: str, about: float) -> dict[str, Any]:
    """The page as the module says.

    Raises:
        Exception: whatever PDFium has against the file.
    """
    import pypdfium2 as pdfium

    document = pdfium.PdfDocument(path)
    opened = document[page - 1]
    width, height = opened.get_size()  # points, as the page is turned
    scale = min(_WIDTH / width, (_MOST_PIXELS / (width * height)) ** 0.5)
    picture = opened.render(scale=scale).to_pil()
    boxes = list(_boxes(opened, quote, about))
    content = io.BytesIO()
    picture.save(content, "PNG")
    return {
        "png": base64.b64encode(content.getvalue()).decode("ascii"),
        "width": picture.width,
        "height": picture.height,
        "boxes": boxes,
    }


def _boxes(page: Any, quote: str, about: float) -> Iterator[Box]:
    import pypdfium2.raw as raw

    text = page.get_textpage()
    letters, places = _letters(
        chr(raw.FPDFText_GetUnicode(text, index)) for index in range(text.count_chars())
    )
    wanted, _ = _letters(quote)
    for start, end in found(letters, wanted, about):
        first, last = places[start], places[end - 1]
        for index in range(text.count_rects(first, last - first + 1)):
            yield _on_picture(page, text.get_rect(index))


def _on_picture(page: Any, rect: tuple[float, float, float, float]) -> Box:
    """From the page's own coordinates to shares of the picture, however the page is turned."""
    import pypdfium2.raw as raw

    fine = 100_000
    corners = []
    for x, y in ((rect[0], rect[3]), (rect[2], rect[1])):
        across, down = c_int(), c_int()
        raw.FPDF_PageToDevice(page, 0, 0, fine, fine, 0, x, y, byref(across), byref(down))
        corners.append((across.value / fine, down.value / fine))
    (left, top), (right, bottom) = corners
    return min(left, right), min(top, bottom), max(left, right), max(top, bottom)


def _letters(text: Any) -> tuple[str, list[int]]:
    """The letters and digits of a text, small and decomposed, and where each one comes from.

    So line ends, hyphens, ligatures, and how accents and Hangul are composed make no difference.
    """
    kept, places = list[str](), list[int]()
    for index, sign in enumerate(text):
        for part in unicodedata.normalize("NFKD", sign).casefold():
            if part.isalnum():
                kept.append(part)
                places.append(index)
    return "".join(kept), places


def found(text: str, wanted: str, about: float) -> Iterator[tuple[int, int]]:
    """Where a quote stands in a page's letters; parts of it where the whole does not.

    A part that stands there more than once is passed over: a wrong mark is worse than none.
    """
    if not wanted:
        return
    starts = list(_all(text, wanted))
    if starts:
        start = min(starts, key=lambda place: abs(place - about * len(text)))
        yield start, start + len(wanted)
        return
    if len(wanted) < 2 * _LEAST:
        return
    middle = len(wanted) // 2
    for part in (wanted[:middle], wanted[middle:]):
        if text.count(part) <= 1:
            yield from found(text, part, about)


def _all(text: str, wanted: str) -> Iterator[int]:
    at = text.find(wanted)
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1)


def _hold_memory() -> None:
    with suppress(ImportError, OSError, ValueError):  # Windows has no such limit
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


def main() -> int:
    asked = json.loads(sys.stdin.buffer.read())
    _hold_memory()
    answer = rendered(asked["path"], asked["page"], asked["quote"], asked["about"])
    sys.stdout.write(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
