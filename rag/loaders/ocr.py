"""Text recognition (OCR) by the tesseract program, which the user installs and turns on."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from typing import Any

from rag.loaders.building import TextBuilder
from rag.loaders.errors import BrokenFile, EmptyFile, UnsupportedFile
from rag.loaders.joining import Evidence, page_width, paragraphs
from rag.loaders.ocr_words import pages_of
from rag.records import ExtractedText

HOW_TO_TURN_ON = (
    "to have it recognised, install tesseract (Debian, Ubuntu: apt install tesseract-ocr "
    "tesseract-ocr-kor; macOS: brew install tesseract tesseract-lang) and turn it on by "
    "ocr = true in attest.toml, ATTEST_OCR=true, or attest add --ocr"
)

_PROGRAM = "tesseract"
_LANGUAGES = {"eng": "tesseract-ocr-eng", "kor": "tesseract-ocr-kor"}  # with their Debian packages
_ORDER = "kor+eng"  # the other way round it puts spaces between Hangul syllables
_ONE_COLUMN = "4"  # its own division of a page (3) loses a third to a half of Korean lines
_SECONDS = 60.0  # for a page; most take two
_SECONDS_PER_FILE = 600.0  # for a picture, which may hold many pages
_DOTS_PER_POINT = 300 / 72  # what tesseract is trained on
_MOST_DOTS = 40_000_000  # of a page; an A3 page at 300 dots an inch has 17 million


class NotRecognised(Exception):
    """A page could not be read in time, or at all."""


@dataclass(frozen=True, slots=True)
class Recogniser:
    """Reads pictures of text, Korean and English."""

    program: str

    @classmethod
    def find(cls) -> "Recogniser":
        """Raises UnsupportedFile where the program or its Korean data are missing."""
        program = shutil.which(_PROGRAM)
        if program is None:
            raise UnsupportedFile(
                "text recognition is on, but the program tesseract is not installed: "
                "apt install tesseract-ocr tesseract-ocr-kor (macOS: brew install tesseract "
                "tesseract-lang)"
            )
        try:
            listed = _run([program, "--list-langs"], b"", 30).decode("utf-8", "replace").split("\n")
        except NotRecognised as error:
            raise UnsupportedFile(
                f"text recognition is on, but {program} fails: {error}"
            ) from error
        installed = {line.strip() for line in listed}
        missing = [package for name, package in _LANGUAGES.items() if name not in installed]
        if missing:
            raise UnsupportedFile(
                f"text recognition is on, but tesseract lacks language data: apt install "
                f"{' '.join(missing)} (macOS: brew install tesseract-lang)"
            )
        return cls(program)

    def read(self, picture: bytes, *, seconds: float = _SECONDS) -> list[str]:
        """Gives the text of each page of a picture: PNG, JPEG, BMP, TIFF, PNM.

        Raises:
            NotRecognised: It took too long, or is no picture.
        """
        command = [self.program, "stdin", "stdout", "-l", _ORDER, "--psm", _ONE_COLUMN, "tsv"]
        table = _run(command, picture, seconds).decode("utf-8", "replace")
        return pages_of(table)


def read_picture(data: bytes, stem: str, media_type: str) -> ExtractedText:
    """Reads a picture of text; one in TIFF may have pages.

    Raises:
        UnsupportedFile: The recogniser is not installed.
        BrokenFile: The picture is damaged, or takes too long.
        EmptyFile: No text is seen in it.
    """
    recogniser = Recogniser.find()
    try:
        texts = recogniser.read(data, seconds=_SECONDS_PER_FILE)
    except NotRecognised as error:
        raise BrokenFile(f"the picture cannot be read: {error}") from error
    lines = [line for text in texts for line in text.split("\n")]
    if not any(map(str.strip, lines)):
        raise EmptyFile("no text is recognised in the picture")
    builder, evidence = TextBuilder(), Evidence.of(lines)
    for number, text in enumerate(texts, start=1):
        page = text.split("\n")
        full = page_width(page, lines)
        places = [builder.add(each, apart=False) for each in paragraphs(page, evidence, full=full)]
        builder.page(number, places[0] if places else builder.end)
    return builder.finish(stem, media_type, ("text recognised by OCR",))


def as_picture(page: Any) -> bytes:
    """Draws a page (a pypdfium2 page) in grey, as a PGM picture."""
    width, height = page.get_size()
    scale = min(_DOTS_PER_POINT, (_MOST_DOTS / max(width * height, 1)) ** 0.5)
    bitmap = page.render(scale=scale, grayscale=True)
    try:
        rows = memoryview(bitmap.buffer).cast("B")
        stride = bitmap.stride
        head = f"P5 {bitmap.width} {bitmap.height} 255\n".encode("ascii")
        lines = (rows[row * stride : row * stride + bitmap.width] for row in range(bitmap.height))
        return head + b"".join(lines)
    finally:
        bitmap.close()


def _run(command: list[str], content: bytes, seconds: float) -> bytes:
    # One thread: pages are small, and several files may be read at once.
    environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}
    try:
        done = subprocess.run(  # noqa: S603 - the program is found on the path, no shell takes part
            command,
            input=content,
            capture_output=True,
            timeout=seconds,
            env=environment,
            check=True,
        )
    except subprocess.TimeoutExpired as error:
        raise NotRecognised(f"text recognition took more than {seconds:.0f} seconds") from error
    except (subprocess.CalledProcessError, OSError) as error:
        said = getattr(error, "stderr", None) or str(error).encode()
        last = said.decode("utf-8", "replace").strip().split("\n")[-1]
        raise NotRecognised(f"text recognition failed: {last}") from error
    return done.stdout
