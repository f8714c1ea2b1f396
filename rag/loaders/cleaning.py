"""What every stored text has in common: NFC, newlines as line ends, no control characters."""

import re
import unicodedata

_LINE_END = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
# Also what cannot be stored or shown: lone surrogates and the two noncharacters of every plane's
# end that decoders let through (PDFium marks a glyph without a Unicode value with U+FFFE).
_UNREADABLE = re.compile("[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
# Not seen on the page, yet they break a word in two for search: byte order mark, soft hyphen, and
# the places of width zero where a word may or must not be cut (web editors fill blank lines so).
_INVISIBLE = re.compile("[\ufeff\u00ad\u200b\u2060]")
# Anything but white space, marks of width zero, and the fillers of Hangul and Braille.
_SEEN = re.compile(
    "[^\\s\u00ad\u034f\u115f\u1160\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_SPACES = re.compile(r"\s+")


def clean(text: str) -> tuple[str, int]:
    """Gives the text as it is stored, and how many characters in it could not be read.

    An unreadable character becomes a space, so that `K\\x0021` does not turn into `K21`.
    """
    text = _INVISIBLE.sub("", _LINE_END.sub("\n", text))
    text, unreadable = _UNREADABLE.subn(" ", text)
    return unicodedata.normalize("NFC", text), unreadable


def is_blank(text: str) -> bool:
    """Says whether nothing of a text would be seen on paper."""
    return _SEEN.search(text) is None


def one_line(text: str) -> str:
    """Gives the text with every run of white space, of whatever kind, as one space."""
    return _SPACES.sub(" ", text).strip()


def warn_unreadable(count: int) -> tuple[str, ...]:
    return (f"{count} unreadable character{'' if count == 1 else 's'}",) if count else ()
