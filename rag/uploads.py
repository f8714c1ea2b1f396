"""Files that were handed over by a browser or a client, kept inside the home under safe names."""

import hashlib
import os
import re
import unicodedata
from contextlib import suppress
from pathlib import Path

from rag.errors import UsageError

_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"|?*\\/%]')
_LONGEST = 240  # bytes in UTF-8; file systems take 255


def safe_name(name: str) -> str:
    """A file name that stays in its folder on every system, as near to the given as can be.

    Raises:
        UsageError: nothing is left of it.
    """
    last = re.split(r"[\\/]", unicodedata.normalize("NFC", name))[-1]
    cleaned = _UNSAFE.sub("_", last).strip(" .")
    stem, suffix = os.path.splitext(cleaned)
    room = max(0, _LONGEST - len(suffix.encode()))
    cleaned = stem.encode()[:room].decode(errors="ignore") + suffix
    if not cleaned.strip("_. "):
        raise UsageError(f"{name!r} is not a name for a file: rename it and upload it again")
    return f"_{cleaned}" if _RESERVED.fullmatch(cleaned) else cleaned


def keep(home: Path, name: str, content: bytes) -> Path:
    """Store an upload: its content decides the folder, so that two of one name can both stay."""
    folder = home / "uploads" / hashlib.sha256(content).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / safe_name(name)
    aside = folder / f".{os.getpid()}.tmp"
    aside.write_bytes(content)
    os.replace(aside, file)
    return file


def discard(home: Path, path: str) -> None:
    """Delete an upload whose document was removed; a file of the user's own is never touched."""
    root, file = (home / "uploads").resolve(), Path(path)
    if not file.resolve().is_relative_to(root):
        return
    file.unlink(missing_ok=True)
    with suppress(OSError):  # another upload of the same content lies beside it
        file.parent.rmdir()
