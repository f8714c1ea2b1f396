"""Which titles were found in a document, and which only repeat its file name.

Loaders name a document without a title after its file. Such a title is shown, yet never searched:
a file name says where a text lies, not what it says.
"""

import re
import unicodedata


def nfc(text: str) -> str:
    """Paths come decomposed from some file systems; they are compared composed."""
    return unicodedata.normalize("NFC", text)


def found_title(path: str, title: str) -> str:
    """The title, or "" where it only repeats the file name."""
    return "" if nfc(title) == _stem(path) else title


def title_of_copy(path: str, original_path: str, original_title: str) -> str:
    """What a file at `path` is called that holds the same as another one."""
    return found_title(original_path, original_title) or _stem(path)


def _stem(path: str) -> str:
    name = re.split(r"[\\/]", nfc(path))[-1]
    stem, dot, _ = name.rpartition(".")
    return stem if dot and stem else name
