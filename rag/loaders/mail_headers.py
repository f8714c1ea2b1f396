"""Headers of messages as people read them, also where the sender's program broke the rules."""

import binascii
import re
from datetime import datetime
from email.message import Message
from email.utils import parsedate_to_datetime

from rag.loaders.cleaning import one_line
from rag.loaders.decoding import decode
from rag.loaders.errors import BrokenFile

# RFC 2047, and what is sent in its name: spaces in the word, an end that was cut off.
_WORD = re.compile(
    r"=\?(?P<charset>[^?\s*]+)(?:\*[^?]*)?\?(?P<way>[bBqQ])\?(?P<text>[^?]*)(?:\?=|\?$|$)"
)
_FOLDED = re.compile(r"\r?\n[ \t]*")
_HEX = re.compile(rb"=([0-9A-Fa-f]{2})")
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/]")
_FILE_NAME = re.compile(r"\b(?:file)?name\s*=\s*(?:\"([^\"]*)\"|([^;\s]+))", re.I)


# What programs write that do not know: the bytes say more.
_SAYS_NOTHING = frozenset(("us-ascii", "ascii", "iso-8859-1", "unknown-8bit", "8bit", "default"))


def header(message: Message, name: str) -> str:
    """Gives a header on one line, empty where there is none."""
    return one_line(decoded_words(_raw(message, name)))


def file_name(part: Message) -> str:
    """Gives the name under which a part was attached, empty where it has none."""
    for field in ("content-disposition", "content-type"):
        raw = _raw(part, field)
        if not raw.isascii():  # the library's own reading would lose the letters
            found = _FILE_NAME.search(_readable(raw))
            if found:
                return one_line(found[1] or found[2])
    try:
        name = part.get_filename() or ""
    except (LookupError, ValueError, TypeError):  # an encoding that does not exist
        name = ""
    name = one_line(decoded_words(name))
    return re.split(r"[\\/]", name)[-1]


def charset(part: Message) -> str | None:
    try:
        return part.get_content_charset()
    except (LookupError, ValueError, TypeError):
        return None


def date_line(message: Message) -> str:
    """Gives the date as it is written, and as people search for it: 2026-03-02."""
    written = header(message, "date")
    try:
        date: datetime | None = parsedate_to_datetime(written)
    except (ValueError, TypeError, IndexError, OverflowError):
        date = None
    return f"{written} ({date:%Y-%m-%d})" if date else written


def decoded_words(raw: str) -> str:
    """Decodes the encoded words of a header; a letter may be cut in two between two of them."""
    raw = _FOLDED.sub(" ", _readable(raw))
    pieces: list[str] = []
    pending, pending_charset, place = b"", "", 0
    for word in _WORD.finditer(raw):
        between = raw[place : word.start()]
        content = _content(word["way"], word["text"])
        if pending_charset and not between.strip() and word["charset"].lower() == pending_charset:
            pending += content
        else:
            pieces.append(to_text(pending, pending_charset or None))
            pieces.append("" if pending_charset and not between.strip() else between)
            pending, pending_charset = content, word["charset"].lower()
        place = word.end()
    return "".join((*pieces, to_text(pending, pending_charset or None), raw[place:]))


def to_text(data: bytes, declared: str | None) -> str:
    """Decodes bytes by what is declared, where they allow it; nothing is lost without a trace."""
    if declared and declared.lower() in _SAYS_NOTHING:
        declared = None
    try:
        return decode(data, declared=declared).text if data else ""
    except BrokenFile:
        return data.decode("latin-1")


def _raw(message: Message, name: str) -> str:
    return next((str(value) for key, value in message.raw_items() if key.lower() == name), "")


def _readable(raw: str) -> str:
    """Gives a header that was sent as bytes, or in the escape sequences of ISO-2022."""
    if raw.isascii() and "\x1b" not in raw:
        return raw
    return to_text(raw.encode("utf-8", "surrogateescape"), None)


def _content(way: str, text: str) -> bytes:
    if way in "qQ":
        data = text.replace("_", " ").encode("utf-8", "surrogateescape")
        return _HEX.sub(lambda code: bytes((int(code[1], 16),)), data)
    digits = _NOT_BASE64.sub("", text)
    digits = digits[:-1] if len(digits) % 4 == 1 else digits
    return binascii.a2b_base64(digits + "=" * (-len(digits) % 4))
