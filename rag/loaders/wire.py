"""What a process that reads files and the one that it reads for say to each other: data only.

A message is a frame or two: eight bytes that give a length, then so many bytes. The request is one
of JSON. The reply is one of JSON (title, pages, sections; or why there is no text) and one of text.
A document may have taken over the process that reads it: what comes out of there is measured before
it is read, and checked field by field before it is believed.
"""

import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

from rag.loaders.cleaning import clean
from rag.loaders.errors import BrokenFile, EmptyFile, LoadError, UnsupportedFile
from rag.records import ExtractedText, Page, Section

REMEDY = "open it in the program that it is from, save it anew, and add that"
GREETING = b"\x00ready to read\n"
LARGEST_TEXT = 400_000_000  # bytes of UTF-8
LARGEST_DETAILS = 16_000_000  # bytes of JSON, each of which may take twenty once it is read

_LENGTH = 8  # bytes that give a frame's length
_LONGEST_REASON = 2_000  # characters
_MOST_PAGES = 1 << 31
_MEDIA_TYPE = re.compile(r"[\w.+-]{1,100}/[\w.+-]{1,100}", re.ASCII)
_ERRORS: dict[str, type[LoadError]] = {
    error.status: error for error in (EmptyFile, UnsupportedFile, BrokenFile)
}
_ENOUGH = 1 << 20  # bytes of a greeting with all that libraries say before it


class Malformed(Exception):
    """A message is not what was agreed. Its sender is not to be trusted any more."""


class OutOfMemory(Exception):
    """The process that reads had no memory left."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a reading process may take."""

    seconds: float  # for a file
    ocr_seconds: float  # for a file whose text is recognised
    memory: int  # bytes, with those that the process itself takes

    def time(self, request: "Request") -> float:
        return self.ocr_seconds if request.ocr else self.seconds


class Request(NamedTuple):
    path: Path  # absolute
    ocr: bool


class Reply(NamedTuple):
    details: bytes
    text: bytes


OUT_OF_MEMORY = Reply(b'{"out_of_memory": true}', b"")  # made beforehand, while there is some


def send(sink: IO[bytes], *frames: bytes) -> None:
    for frame in frames:
        sink.write(len(frame).to_bytes(_LENGTH, "big"))
        sink.write(frame)
    sink.flush()


def receive(source: io.RawIOBase, largest: int) -> bytes:
    """Waits for a frame.

    Raises:
        Malformed: It is larger than `largest`.
        EOFError: The other side is gone.
    """
    size = int.from_bytes(_exactly(source, _LENGTH), "big")
    if size > largest:
        raise Malformed(f"a message of {size} bytes where at most {largest} are expected")
    return _exactly(source, size)


def _exactly(source: io.RawIOBase, size: int) -> bytes:
    parts = []
    while size:
        part = source.read(min(size, _ENOUGH))  # nothing is set aside for what is only announced
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def await_greeting(source: io.RawIOBase) -> None:
    """Passes over what libraries print as they are imported."""
    said = b""
    while not said.endswith(GREETING):
        part = source.read(_ENOUGH)
        if not part:
            raise EOFError
        if len(said) > _ENOUGH:
            raise Malformed("no greeting")
        said += part


def pack_limits(limits: Limits) -> bytes:
    return _json([limits.seconds, limits.ocr_seconds, limits.memory])


def unpack_limits(frame: bytes) -> Limits:
    return Limits(*json.loads(frame))


def pack_request(request: Request) -> bytes:
    return _json([str(request.path), request.ocr])


def unpack_request(frame: bytes) -> Request:
    path, ocr = json.loads(frame)
    return Request(Path(path), ocr)


def pack(outcome: ExtractedText | LoadError) -> Reply:
    if isinstance(outcome, LoadError):
        return Reply(_json({"status": outcome.status, "reason": str(outcome)}), b"")
    details = _json(
        {
            "title": outcome.title,
            "media_type": outcome.media_type,
            "pages": [[page.number, page.start, page.end] for page in outcome.pages],
            "sections": [[section.start, section.heading] for section in outcome.sections],
            "warnings": outcome.warnings,
        }
    )
    text = outcome.text.encode("utf-8", "surrogatepass")
    for what, size, largest in (
        ("text", len(text), LARGEST_TEXT),
        ("headings and pages", len(details), LARGEST_DETAILS),
    ):
        if size > largest:
            reason = f"its {what} take {size:,} bytes; at most {largest:,} are kept: split the file"
            return pack(UnsupportedFile(reason))
    return Reply(details, text)


def unpack(reply: Reply) -> ExtractedText | LoadError:
    """Believes a reply as far as it can be true.

    Raises:
        OutOfMemory: That is what the reply says.
        Malformed: It is none, or its parts do not fit each other.
    """
    try:
        match json.loads(reply.details):
            case {"out_of_memory": True}:
                raise OutOfMemory
            case {"status": str(status), "reason": str(reason)}:
                return _ERRORS[status](clean(reason)[0][:_LONGEST_REASON])
            case {"title": str(), "media_type": str()} as details:
                return _document(details, reply.text.decode("utf-8"))
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise Malformed("a reply that does not hold together") from error
    raise Malformed("a reply with neither a text nor a reason")


def _document(details: dict[str, Any], text: str) -> ExtractedText:
    _require(bool(text) and not text.isspace() and clean(text) == (text, 0), "the text is clean")
    _require(bool(_MEDIA_TYPE.fullmatch(details["media_type"])), "the media type is one")
    pages = tuple(Page(*map(_whole_number, page)) for page in details["pages"])
    sections = tuple(
        Section(_whole_number(start), tuple(map(_storable, heading)))
        for start, heading in details["sections"]
    )
    _require_order([0, *(page.start for page in pages), len(text)])
    _require_order([0, *(section.start for section in sections), len(text)])
    for page in pages:
        _require_order([page.start, page.end, len(text)])
        _require(0 < page.number < _MOST_PAGES, "pages count from 1")
    return ExtractedText(
        text=text,
        title=_storable(details["title"]),
        media_type=details["media_type"],
        pages=pages,
        sections=sections,
        warnings=tuple(map(_storable, details["warnings"])),
    )


def _whole_number(value: Any) -> int:
    _require(type(value) is int, "places are whole numbers")
    return int(value)


def _require_order(places: Sequence[int]) -> None:
    _require(list(places) == sorted(places), "places are in order and inside the text")


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"not so: {what}")


def _storable(value: str) -> str:
    """Gives the string as it is: a title that is the file's name has to stay equal to it."""
    _require("\0" not in value, "a database takes it")
    value.encode("utf-8")  # raises at a lone surrogate
    return value


def _json(value: Any) -> bytes:
    return json.dumps(value).encode("ascii")  # a name that is not UTF-8 has lone surrogates
