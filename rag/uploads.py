"""Files that were handed over by a browser or a client, kept inside the home under safe names."""

import hashlib
import os
import re
import unicodedata
import uuid
from contextlib import suppress
from pathlib import Path

from rag.errors import UsageError

# Devices of Windows, which reads the digits ¹²³ as digits and passes over spaces before a dot.
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|conin\$|conout\$|clock\$|(com|lpt)[\d¹²³]) *(\..*)?")
# Also what reverses or hides a part of a name where it is shown, and halves of letters.
_UNSAFE = re.compile(
    r'[\x00-\x1f\x7f-\x9f<>:"|?*\\/%'
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
_LONGEST = 240  # bytes in UTF-8; file systems take 255
_LONGEST_SUFFIX = 40  # a longer one is no suffix but a name with a dot


class BadName(UsageError):
    """An upload under a name that no file can have."""

    http_status = 400


def safe_name(name: str) -> str:
    """A file name that stays in its folder on every system, as near to the given as can be.

    Raises:
        BadName: nothing is left of it.
    """
    last = re.split(r"[\\/]", unicodedata.normalize("NFC", name))[-1]
    cleaned = _UNSAFE.sub("_", last).strip(" .")
    stem, suffix = os.path.splitext(cleaned)
    if len(suffix.encode()) > _LONGEST_SUFFIX:
        stem, suffix = cleaned, ""
    room = _LONGEST - len(suffix.encode())
    cleaned = stem.encode()[:room].decode(errors="ignore").rstrip(" .") + suffix
    if not cleaned.strip("_. "):
        raise BadName(f"{name!r} is not a name for a file: rename it and upload it again")
    return f"_{cleaned}" if _RESERVED.fullmatch(cleaned) else cleaned


def keep(home: Path, name: str, content: bytes) -> Path:
    """Store an upload: its content decides the folder, so that two of one name can both stay."""
    folder = home / "uploads" / hashlib.sha256(content).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / safe_name(name)
    aside = folder / f".{uuid.uuid4().hex}.tmp"  # the same file may come twice at once
    aside.write_bytes(content)
    os.replace(aside, file)
    return file


def kept(home: Path, path: str) -> Path | None:
    """The upload that a document was read from: itself, or the archive that it is a member of.

    None for a file of the user's own, which is never touched.
    """
    root = (home / "uploads").resolve()
    for file in (Path(path), *Path(path).parents):
        if file.is_file() and file.resolve().is_relative_to(root):
            return file
    return None


def discard(file: Path) -> None:
    """Delete an upload."""
    file.unlink(missing_ok=True)
    with suppress(OSError):  # another upload of the same content lies beside it
        file.parent.rmdir()


def all_kept(home: Path) -> list[Path]:
    """Every upload of a home, in the order of their paths."""
    return sorted(file for file in (home / "uploads").glob("*/*") if file.is_file())
