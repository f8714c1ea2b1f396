"""Which files to read: those that are named, and those in folders that can be read."""

import os
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path

from rag.loaders.formats import supported
from rag.loaders.names import is_junk


def walk(paths: Sequence[Path], *, ocr: bool = False) -> Iterator[Path]:
    """Gives named files as they are, and folders' files in the order of their names.

    In a folder, hidden files, lock files, formats that are not supported and links that lead out of
    it are passed over. A file that is reached twice is given once. A path that cannot be read is
    given too: loading it says why. Names stay as the system has them, so that each path opens.

    Args:
        paths: Files and folders.
        ocr: Whether pictures are read too.
    """
    suffixes = supported(ocr=ocr)
    seen: set[str] = set()
    for path in paths:
        files = _below(path, suffixes, seen) if path.is_dir() else iter((path,))
        for file in files:
            place = os.path.realpath(file)
            if place not in seen:
                seen.add(place)
                yield file


def _below(root: Path, suffixes: frozenset[str], seen: set[str]) -> Iterator[Path]:
    """A loop, not a recursion: folders may be nested thousands deep."""
    top = os.path.realpath(root)
    stack = [root]
    while stack:
        path = stack.pop()
        place = os.path.realpath(path)  # unlike Path.resolve it takes links that go in circles
        if path.is_dir():
            if place not in seen:
                seen.add(place)
                entries = _entries(path)
                if entries is None:
                    yield path
                stack += [each for each in reversed(entries or []) if not _leads_out(each, top)]
        elif path.suffix.lower() in suffixes:
            yield path


def _entries(folder: Path) -> list[Path] | None:
    try:
        with os.scandir(folder) as entries:
            names = sorted((entry.name for entry in entries), key=_order)
    except OSError:
        return None
    return [folder / name for name in names if not is_junk(name)]


def _leads_out(path: Path, top: str) -> bool:
    return path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(top)


def _order(name: str) -> tuple[str, str]:
    """Names from macOS come decomposed; they sort like the others."""
    return unicodedata.normalize("NFC", name), name
