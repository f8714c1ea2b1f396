"""What every stored text has in common: NFC, newlines as line ends, no control characters."""

import re
import unicodedata

_LINE_END = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
# Also what cannot be stored or shown: lone surrogates and the two noncharacters of every plane's
# end that decoders let through (PDFium marks a glyph without a Unicode value with U+FFFE).
_UNREADABLE = re.compile("[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
# Not seen on the page, yet they break a word in two for search: byte order mark, soft hyphen.
_INVISIBLE = re.compile("[\ufeff\u00ad]")
_SPACES = re.compile(r"\s+")


def clean(text: str) -> tuple[str, int]:
    """Gives the text as it is stored, and how many characters in it could not be read.

    An unreadable character becomes a space, so that `K\\x0021` does not turn into `K21`.
    """
    text = _INVISIBLE.sub("", _LINE_END.sub("\n", text))
    text, unreadable = _UNREADABLE.subn(" ", text)
    return unicodedata.normalize("NFC", text), unreadable


def one_line(text: str) -> str:
    """Gives the text with every run of white space, of whatever kind, as one space."""
    return _SPACES.sub(" ", text).strip()


def warn_unreadable(count: int) -> tuple[str, ...]:
    return (f"{count} unreadable character{'' if count == 1 else 's'}",) if count else ()
