"""From bytes to text: which encoding, found by evidence, never by the locale of the machine.

The order: byte order mark, zero bytes (UTF-16, UTF-32), escape sequences (ISO-2022), UTF-8, what
the file itself declares, CP949, Johab, CP1252, and charset-normalizer for the rest.
Nothing is replaced in silence: what could not be decoded is counted, and the count is reported with
the document.
"""

import codecs
import re
from dataclasses import dataclass

from charset_normalizer import from_bytes

from rag.loaders.cleaning import clean, warn_unreadable
from rag.loaders.errors import BrokenFile
from rag.loaders.korean import compose_ks_sequences
from rag.loaders.plausibility import (
    is_surely_korean,
    reads_korean,
    reads_like_utf16,
    reads_western,
)

_BYTE_ORDER_MARKS = (  # UTF-32 first: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SIGNATURES = (
    (b"%PDF-", "a PDF"),
    (b"PK\x03\x04", "a ZIP archive or an Office document"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office or HWP document"),
    (b"\x89PNG\r\n", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"RIFF", "a sound, video or WebP file"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3\x00", "a SQLite database"),
    (b"{\\rtf", "an RTF document"),
)
# Browsers read these labels as their supersets, and so do the files that carry them.
_SUPERSETS = {
    "euc_kr": "cp949",
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "shift_jis": "cp932",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "iso8859-9": "cp1254",
    "tis-620": "cp874",
}
# Codes of seven bits, by what announces them: their text would pass for ASCII.
_ESCAPES = (
    (b"\x1b$)C", "iso2022_kr"),
    (b"\x1b$B", "iso2022_jp_2"),
    (b"\x1b$@", "iso2022_jp_2"),
)
# Labels under which mail calls CP949, and Python does not.
_KOREAN_LABELS = re.compile(
    r"(?:ks_?c_?5601|ksx?1001|x-windows-949|ms949|windows-949|x-euc-kr)", re.I
)
# What charset-normalizer may choose from, once Korean and Western readings are ruled out.
_GUESSES = ["cp932", "euc_jp", "gb18030", "big5", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255"]
_GUESSES += ["cp1256", "cp1257", "cp1258", "cp874", "koi8_r", "johab", "mac_roman", "cp850"]

_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_MOST_CONTROL = 0.01  # share of control bytes past which a file is no text
_MOST_CONTROL_IN_UTF8 = 0.05  # the same where the rest is valid UTF-8, which binary data seldom is
_MOST_DAMAGE = 0.02  # share of the non-ASCII text that may be undecodable and is then reported
_SAMPLE = 256 * 1024  # bytes that a judgement looks at; the whole file is then decoded strictly


@dataclass(frozen=True, slots=True)
class Decoded:
    """Clean text (see `clean`) with the encoding that it was read by and what went missing."""

    text: str
    encoding: str
    unreadable: int = 0  # characters that a space stands in for

    @property
    def warnings(self) -> tuple[str, ...]:
        named = () if self.encoding == "utf-8" else (f"read as {self.encoding}",)
        return named + warn_unreadable(self.unreadable)


def decode(data: bytes, *, declared: str | None = None) -> Decoded:
    """Decodes the bytes of a text file.

    Args:
        data: The whole file.
        declared: The encoding that the file itself names, as an HTML page does.

    Raises:
        BrokenFile: It is a picture, an archive or other binary data, or no encoding fits.
    """
    kind = kind_of_binary(data)
    if kind is not None:
        raise BrokenFile(f"the file is {kind}, not text: give it the suffix of its own format")
    read = _by_mark(data) or _by_zero_bytes(data) or _by_escapes(data, declared)
    if read is None and _looks_binary(data):
        read = _surely_korean(data)
        if read is None:
            raise _no_text(data)
    elif read is None:
        read = _by_evidence(data, declared)
    if read is None:
        raise BrokenFile("the encoding of the text is not known: save it as UTF-8 and try again")
    text, unreadable = clean(read.text)
    return Decoded(text, read.encoding, read.unreadable + unreadable)


def kind_of_binary(data: bytes) -> str | None:
    """Names the format of binary data by its first bytes, as a message would: `a PNG picture`."""
    return next((kind for mark, kind in _SIGNATURES if data.startswith(mark)), None)


def _looks_binary(data: bytes) -> bool:
    sample = data[:_SAMPLE]
    share = len(_CONTROL.findall(sample)) / max(1, len(sample))
    is_text = share <= _MOST_CONTROL_IN_UTF8 and _strictly(data, "utf-8") is not None
    return share > _MOST_CONTROL and not is_text


def _no_text(data: bytes) -> BrokenFile:
    sample = data[:_SAMPLE]
    return BrokenFile(
        f"the file is binary data, not text: of its first {len(sample)} bytes "
        f"{len(_CONTROL.findall(sample))} are control codes"
    )


def _by_mark(data: bytes) -> Decoded | None:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            text = data.decode(encoding, errors="replace")
            damage = text.count("\ufffd") if _strictly(data, encoding) is None else 0
            if damage > 1 + _MOST_DAMAGE * len(text):
                raise BrokenFile(f"the file begins like {encoding} text and does not go on so")
            text = text.replace("\ufffd", " ") if damage else text
            return Decoded(text, encoding.removesuffix("-sig"), damage)
    return None


def _by_zero_bytes(data: bytes) -> Decoded | None:
    zeros = data[:_SAMPLE].count(0)
    # English in UTF-16 is half zero bytes; a stray zero in an English text is something else.
    if not zeros or (data.isascii() and zeros < 0.4 * len(data[:_SAMPLE])):
        return None
    readings = []
    for encoding in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"):
        text = _strictly(data, encoding)
        if text is not None and reads_like_utf16(text[:_SAMPLE]):
            readings.append(Decoded(text, encoding))
    # Swapped bytes turn spaces and digits into letters of far-off scripts.
    return max(readings, key=lambda read: sum(c.isascii() for c in read.text), default=None)


def _by_escapes(data: bytes, declared: str | None) -> Decoded | None:
    if not data.isascii():
        return None
    if declared and declared.lower() == "iso-2022-kr" and b"\x0e" in data:
        data = _ESCAPES[0][0] + b"\n" + data  # some mailers leave the announcement out
    for escape, encoding in _ESCAPES:
        text = _strictly(data, encoding) if escape in data else None
        if text is not None:
            return Decoded(text.lstrip("\n"), encoding)
    return None


def _by_evidence(data: bytes, declared: str | None) -> Decoded | None:
    text = _strictly(data, "utf-8")
    if text is not None:
        return Decoded(text, "utf-8")
    damaged = _damaged(data, "utf-8")
    if damaged is not None:
        return damaged
    return (
        _declared(data, declared)
        or _korean(data)
        or _surely_korean(data)
        or _western(data)
        or _guessed(data)
    )


def _declared(data: bytes, label: str | None) -> Decoded | None:
    if label is None:
        return None
    if _KOREAN_LABELS.match(label):
        label = "cp949"
    try:
        encoding = codecs.lookup(label).name
    except (LookupError, ValueError):
        return None
    encoding = _SUPERSETS.get(encoding, encoding)
    text = _strictly(data, encoding)
    return None if text is None else _decoded(text, encoding)


def _decoded(text: str, encoding: str) -> Decoded:
    return Decoded(compose_ks_sequences(text) if encoding == "cp949" else text, encoding)


def _korean(data: bytes) -> Decoded | None:
    text = _strictly(data, "cp949")
    read = _damaged(data, "cp949") if text is None else _decoded(text, "cp949")
    return read if read is not None and reads_korean(read.text[:_SAMPLE]) else None


def _surely_korean(data: bytes) -> Decoded | None:
    """Finds Korean in rarer encodings: Johab, and UTF-16 without a mark or a single zero byte."""
    for encoding in ("johab", "utf-16-le", "utf-16-be"):
        text = _strictly(data, encoding)
        if text is not None and is_surely_korean(text[:_SAMPLE]):
            return Decoded(text, encoding)
    return None


def _western(data: bytes) -> Decoded | None:
    text = _strictly(data, "cp1252")
    return Decoded(text, "cp1252") if text is not None and reads_western(text[:_SAMPLE]) else None


def _guessed(data: bytes) -> Decoded | None:
    match = from_bytes(data[:_SAMPLE], cp_isolation=_GUESSES).best()
    text = None if match is None else _strictly(data, match.encoding)
    return None if match is None or text is None else Decoded(text, match.encoding)


def _strictly(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None


def _damaged(data: bytes, encoding: str) -> Decoded | None:
    """Reads a file with a few broken bytes, such as one that was cut off in a character."""
    text = data.decode(encoding, errors="replace")
    damage = text.count("\ufffd")
    foreign = sum(not c.isascii() for c in text) - damage
    if damage > max(_MOST_DAMAGE * foreign, min(3, foreign // 8)):
        return None
    return Decoded(text.replace("\ufffd", " "), encoding, damage)
