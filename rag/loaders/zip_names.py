"""Names in ZIP archives: which encoding they were written in, and whether they are safe to use."""

import lzma
import re
import unicodedata
import zipfile
import zlib
from pathlib import PurePosixPath

from rag.loaders.plausibility import reads_korean

# What reading a damaged archive raises; NotImplementedError is that of a method not known here.
DAMAGE = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, RuntimeError, ValueError,
)  # fmt: skip

_UTF8 = 0x800  # the flag by which a name says that it is UTF-8
_UNICODE_PATH = 0x7075  # the extra field that some programs write instead
_DRIVE = re.compile(r"[A-Za-z]:")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?", re.I)
_CONTROL = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_UNSAFE_LETTERS = re.compile('[\x00-\x1f\x7f<>:"|?*\\\\/\ud800-\udfff]')
_LONGEST = 80  # letters of a file's name on disk: Hangul takes three bytes each, of 255


def member_name(info: zipfile.ZipInfo) -> str:
    """Gives a member's name in NFC with forward slashes, as the archive has it otherwise.

    Korean Windows writes names in CP949 and does not say so; macOS does so in UTF-8.
    """
    name = info.orig_filename
    if not info.flag_bits & _UTF8:
        name = _unicode_path(info.extra) or _decoded(name.encode("cp437", "replace"))
    return unicodedata.normalize("NFC", name.replace("\\", "/"))


def fault_of(name: str) -> str | None:
    """Says why no file may be written under a name, None where it may."""
    parts = name.split("/")
    if name.startswith("/") or _DRIVE.match(name):
        return "its name is an absolute path"
    if ".." in parts:
        return "its name leads out of the archive"
    if _CONTROL.search(name):
        return "its name holds control characters"
    if any(_DEVICE.fullmatch(part.strip()) for part in parts):
        return "its name is that of a device on Windows"
    return None


def shown_member(name: str) -> str:
    """Gives a name that is safe to show and to store, if only as that of what was refused."""
    parts = (_CONTROL.sub("_", part) for part in name.split("/"))
    return "/".join(part for part in parts if part not in ("", ".", ".."))


def safe_file_name(name: str) -> str:
    """Gives a name under which any system stores a file, with the same suffix."""
    path = PurePosixPath(_UNSAFE_LETTERS.sub("_", name))
    stem = path.stem[:_LONGEST].strip(" .") or "_"
    return stem + path.suffix[:_LONGEST]


def _decoded(name: bytes) -> str:
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError:
        pass
    try:
        korean = name.decode("cp949")
    except UnicodeDecodeError:
        return name.decode("cp437")
    return korean if reads_korean(korean) else name.decode("cp437")


def _unicode_path(extra: bytes) -> str | None:
    while len(extra) >= 4:
        kind, size = int.from_bytes(extra[:2], "little"), int.from_bytes(extra[2:4], "little")
        if kind == _UNICODE_PATH and size > 5:
            try:
                return extra[9 : 4 + size].decode("utf-8")  # after a version and a checksum
            except UnicodeDecodeError:
                return None
        extra = extra[4 + size :]
    return None
