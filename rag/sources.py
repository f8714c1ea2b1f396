"""Where documents come from: files that are named, files in folders, members of ZIP archives."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rag.loaders import LoadError, UnsupportedFile, walk
from rag.loaders.names import shown_name
from rag.loaders.zips import unpack

_BLOCK = 1 << 20  # bytes hashed at a time


@dataclass(frozen=True, slots=True)
class Source:
    """A file to be taken in."""

    file: Path | None  # where it is opened; None where there is nothing to open
    path: str  # the name that it is catalogued under
    refused: LoadError | None = None  # known before it is read: why it cannot be
    temporary: bool = False  # unpacked or fetched: to be deleted when it was read
    as_before: bool = False  # known to hold what it held the last time, and not fetched again
    missing: str | None = None  # why there is nothing to open, this time

    def discard(self) -> None:
        if self.temporary and self.file is not None:
            self.file.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Content:
    """What tells one version of a file from another."""

    sha256: str
    size: int  # bytes
    modified: str  # ISO 8601, UTC


def files(paths: Sequence[Path], home: Path, *, ocr: bool = False) -> Iterator[Path]:
    """The files below some paths, in order, as `walk` gives them, without the library's own.

    Args:
        paths: files and folders
        home: of the library; it may lie in a folder that is taken in
        ocr: whether pictures count as documents
    """
    own = os.path.realpath(home)
    named = {os.path.realpath(path) for path in paths}
    for file in walk(paths, ocr=ocr):
        place = os.path.realpath(file)
        if place in named or not Path(place).is_relative_to(own):
            yield file


def sources(
    paths: Sequence[Path], home: Path, scratch: Path, *, ocr: bool = False
) -> Iterator[Source]:
    """The documents below some paths, in order; archives give their members.

    Args:
        paths: files and folders
        home: of the library
        scratch: a folder for what is unpacked
        ocr: whether pictures count as documents
    """
    for file in files(paths, home, ocr=ocr):
        if file.suffix.lower() == ".zip" and file.is_file():
            yield from members(file, stored_path(file), scratch, ocr=ocr)
        else:
            yield Source(file, stored_path(file))


def members(archive: Path, name: str, scratch: Path, *, ocr: bool) -> Iterator[Source]:
    """The files of an archive that is catalogued under a name, unpacked."""
    into = scratch / hashlib.sha256(name.encode()).hexdigest()[:16]
    into.mkdir(exist_ok=True)
    try:
        members = unpack(archive, into, ocr=ocr)
    except LoadError as error:
        yield Source(archive, name, error)
        return
    for member in members:
        path = f"{name}/{member.name}"
        refused = None if member.refused is None else UnsupportedFile(member.refused)
        yield Source(member.file, path, refused, temporary=True)


def stored_path(file: Path) -> str:
    """The name under which a file is catalogued: absolute, and in NFC as people type it."""
    return shown_name(file.absolute())


def content_of(file: Path) -> Content:
    """Raises OSError where the file cannot be read."""
    digest = hashlib.sha256()
    with file.open("rb") as opened:
        while block := opened.read(_BLOCK):
            digest.update(block)
        facts = os.fstat(opened.fileno())
    return Content(digest.hexdigest(), facts.st_size, moment(facts.st_mtime))


def moment(timestamp: float) -> str:
    return datetime.fromtimestamp(timestamp, UTC).isoformat(timespec="seconds")


def on_disk(path: str) -> Path | None:
    """The file of a catalogued path, however its name is composed on disk; None where it is gone.

    The members of an archive are there as long as the archive is. What cannot be looked into is
    taken to be there.
    """
    whole = Path(path)
    if "://" in path or whole.exists():  # an object in a store is not looked for
        return whole
    found = Path(whole.anchor)
    for name in whole.parts[1:]:
        if found.is_file():
            return found
        try:
            match = _named(found, name)
        except OSError:
            return found
        if match is None:
            return None
        found = match
    return found


def _named(folder: Path, name: str) -> Path | None:
    if (folder / name).exists():
        return folder / name
    return next((folder / own for own in os.listdir(folder) if shown_name(own) == name), None)
