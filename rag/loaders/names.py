"""File names as people read them: whole letters, whatever system wrote the name."""

import os
import re
import unicodedata
from pathlib import PurePath

from rag.loaders.plausibility import is_hangul_beside_ascii, reads_korean

_UNSHOWABLE = re.compile("[\ud800-\udfff]")
# What systems and offices leave in folders and archives.
_JUNK = frozenset(("thumbs.db", "desktop.ini", "__macosx"))
_LOCK_FILE = "~$"


def shown_name(name: str | PurePath) -> str:
    """Gives a name or a path in NFC.

    On Linux a name is bytes. One that is not UTF-8, as on a disk that an old Korean system wrote,
    comes with lone surrogates, which cannot be stored or shown: it is read as CP949 where that
    makes Korean, and keeps U+FFFD for the rest. The file opens by its own name only.
    """
    parts = str(name).split("/")
    return "/".join(unicodedata.normalize("NFC", _readable(part)) for part in parts)


def sent_name(name: str) -> str:
    """Gives the name of a file as its sender wrote it.

    Old Korean programs send CP949, which readers of HTTP headers take for Latin-1.
    """
    try:
        text = name.encode("latin-1").decode("cp949")
    except UnicodeError:
        return name
    return text if is_hangul_beside_ascii(text) else name


def is_junk(name: str) -> bool:
    """Says whether a file or folder of this name is hidden, or left by a system or an office."""
    return name.startswith((".", _LOCK_FILE)) or name.lower() in _JUNK


def _readable(name: str) -> str:
    if not _UNSHOWABLE.search(name):
        return name
    written = name.encode("utf-8", "surrogatepass") if os.name == "nt" else os.fsencode(name)
    for encoding in ("utf-8", "cp949"):
        try:
            text = written.decode(encoding)
        except UnicodeDecodeError:
            continue
        if encoding == "utf-8" or reads_korean(text):
            return text
    return written.decode("utf-8", "replace")
