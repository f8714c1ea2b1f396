"""The parts of a message that a person reads: the best of its texts, and what is attached."""

from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from typing import Literal

from rag.loaders.errors import LoadError
from rag.loaders.html import read_page
from rag.loaders.mail_headers import charset, file_name, to_text

_DEEPEST = 20  # parts inside parts; real ones have five
# Signatures and receipts, which say nothing to a reader.
_SILENT = frozenset((
    "application/pkcs7-signature",
    "application/x-pkcs7-signature",
    "application/pgp-signature",
    "application/pgp-keys",
    "message/delivery-status",
    "text/rfc822-headers",
))  # fmt: skip
_ENCRYPTED = frozenset(
    ("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime")
)
_STUB = 300  # characters; a longer plain text is no mere hint that the message needs HTML


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a message: text ready to read, a file, a message, or what is locked."""

    kind: Literal["text", "file", "message", "locked"]
    text: str = ""
    name: str = ""  # of a file
    source: Message | None = None  # of a file or a message


def parts(message: Message, depth: int = 0) -> Iterator[Part]:
    """Gives the parts in order. Of alternatives it gives one, of a signed message its content."""
    kind = message.get_content_type()
    children = _children(message)
    if kind in _ENCRYPTED and message.get_param("smime-type") != "signed-data":
        yield Part("locked")
    elif kind in _SILENT or depth > _DEEPEST:
        return
    elif kind == "message/rfc822":
        yield from (Part("message", source=child) for child in children)
    elif kind == "multipart/alternative":
        yield from _best([list(parts(child, depth + 1)) for child in children], children)
    elif children:
        children = children[:1] if kind == "multipart/signed" else children
        for place, child in enumerate(children):
            if kind != "multipart/related" or not place or not _belongs_to_page(child):
                yield from parts(child, depth + 1)
    else:
        yield from _leaf(message, kind)


def content(part: Message) -> bytes:
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else b""


def _leaf(part: Message, kind: str) -> Iterator[Part]:
    name = file_name(part)
    # A message whose parts cannot be told apart comes as its source.
    is_text = kind in ("text/plain", "text/html") or kind.startswith("multipart/")
    if _is_attached(part) or (name and not kind.startswith("text/")) or not is_text:
        named = name or ("" if kind.startswith(("image/", "text/")) else kind)
        if named:
            yield Part("file", name=named, source=part)
        return
    text = to_text(content(part), charset(part))
    yield Part("text", text=_words(text) if kind == "text/html" else text)


def _words(html: str) -> str:
    try:
        return read_page(html, "", named=False).text
    except LoadError:
        return ""


def _best(readings: list[list[Part]], sources: list[Message]) -> list[Part]:
    """Chooses the plain text, unless it only says that there is more in the other one."""
    spoken = [
        (len("".join(part.text for part in reading).strip()), source.get_content_type(), reading)
        for reading, source in zip(readings, sources, strict=True)
        if any(part.text.strip() for part in reading)
    ]
    longest = max(spoken, key=lambda each: each[0], default=(0, "", []))
    for length, kind, reading in spoken:
        if kind == "text/plain" and (length >= _STUB or longest[0] < 4 * length):
            return reading + [part for other in readings for part in other if part.kind != "text"]
    chosen = longest[2] or next((reading for reading in readings if reading), [])
    return list(chosen)


def _children(message: Message) -> list[Message]:
    payload = message.get_payload()
    return (
        [child for child in payload if isinstance(child, Message)]
        if isinstance(payload, list)
        else []
    )


def _belongs_to_page(part: Message) -> bool:
    """Says whether a part is a picture or a style that the page beside it shows."""
    return part.get_content_maintype() == "image" or not _is_attached(part)


def _is_attached(part: Message) -> bool:
    try:
        return part.get_content_disposition() == "attachment"
    except (LookupError, ValueError, TypeError):
        return False
