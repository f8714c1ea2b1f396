"""Which files to read: those that are named, and those in folders that can be read."""

import os
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path

from rag.loaders.formats import SUPPORTED

# What systems and offices leave in folders.
_JUNK = frozenset(("thumbs.db", "desktop.ini"))
_LOCK_FILE = "~$"


def walk(paths: Sequence[Path]) -> Iterator[Path]:
    """Gives named files as they are, and folders' files in the order of their names.

    In a folder, hidden files, lock files, formats that are not supported and links that lead out of
    it are passed over. A file that is reached twice is given once. A path that cannot be read is
    given too: loading it says why.
    """
    seen: set[Path] = set()
    for path in paths:
        files = _below(path, path.resolve(), seen) if path.is_dir() else iter((path,))
        for file in files:
            place = file.resolve()
            if place not in seen:
                seen.add(place)
                yield file


def _below(folder: Path, root: Path, seen: set[Path]) -> Iterator[Path]:
    place = folder.resolve()
    if place in seen:
        return
    seen.add(place)
    try:
        with os.scandir(folder) as entries:
            names = sorted((entry.name for entry in entries), key=_order)
    except OSError:
        yield folder
        return
    for path in (folder / name for name in names if not _is_junk(name)):
        if path.is_symlink() and not path.resolve().is_relative_to(root):
            continue
        if path.is_dir():
            yield from _below(path, root, seen)
        elif path.suffix.lower() in SUPPORTED:
            yield path


def _is_junk(name: str) -> bool:
    return name.startswith((".", _LOCK_FILE)) or name.lower() in _JUNK


def _order(name: str) -> tuple[str, str]:
    """Names from macOS come decomposed; they sort like the others."""
    return unicodedata.normalize("NFC", name), name
