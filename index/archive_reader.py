"""The ZIP file of an archive, read a piece at a time, with what is wrong with it as BadArchive."""

import json
import shutil
import uuid
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from zipfile import BadZipFile, ZipFile

from index.archive_format import (
    FILES,
    MANIFEST,
    UPLOADS,
    ArchivedCollection,
    check_relative,
    member,
)
from index.errors import BadArchive

_LONGEST = 1 << 28  # bytes of JSON at once: one document with its text
_SMALL = 64 << 20  # bytes, up to which an archive may be packed as tightly as it likes
_RATIO = 200  # of bytes to packed ones beyond that: text comes to 20
_COPIED = 1 << 20  # bytes at a time


@contextmanager
def opened(file: Path) -> Iterator["ArchiveReader"]:
    """Whatever is found wrong with it while it is open names the file."""
    size = file.stat().st_size
    try:
        with _understood():
            archive = ZipFile(file)
        with archive:
            yield ArchiveReader(archive, size)
    except BadArchive as error:
        raise BadArchive(f"{file} cannot be imported: {error}") from error


@contextmanager
def _understood() -> Iterator[None]:
    """Says of a ZIP file that it is damaged, in the one way that callers know."""
    try:
        yield
    except (BadZipFile, EOFError, KeyError, NotImplementedError, zlib.error) as error:
        raise BadArchive(f"it is no archive, or damaged: {error}") from error
    except RuntimeError as error:
        if "encrypted" not in str(error):
            raise
        raise BadArchive("it is encrypted, which no archive of ours is") from error


class ArchiveReader:
    """The members of a ZIP file, read a piece at a time."""

    def __init__(self, archive: ZipFile, size: int) -> None:
        self._archive = archive
        self._size = size

    def check(
        self, collections: Sequence[ArchivedCollection], home: Path
    ) -> list[tuple[str, Path]]:
        """Its files, by name, with where in the home they belong.

        Raises:
            BadArchive: There is something in it that should not be, or too much.
        """
        names = [info.filename for info in self._archive.infolist()]
        expected = {MANIFEST} | {
            member(number, part)
            for number, collection in enumerate(collections)
            for part in collection.parts
        }
        files = [name for name in names if name.startswith(FILES)]
        if len(set(names)) < len(names) or set(names) - set(files) != expected:
            others = sorted(expected ^ (set(names) - set(files))) or names
            raise BadArchive(f"its members are not those it should have ({', '.join(others[:3])})")
        self._check_size(home)
        return [(name, _target(home, name)) for name in files]

    def _check_size(self, home: Path) -> None:
        total = sum(info.file_size for info in self._archive.infolist())
        free = shutil.disk_usage(home).free
        if total > max(_SMALL, _RATIO * self._size):
            raise BadArchive(
                f"its {_mb(self._size)} MB unpack to {_mb(total)} MB, more than {_RATIO} times as "
                "much: no archive of documents does"
            )
        if total > free:
            raise BadArchive(
                f"it unpacks to {_mb(total)} MB, and {home} has {_mb(free)} MB left: make room"
            )

    def json(self, name: str) -> object:
        with self.reading(name) as reader:
            return reader.parsed(reader.take_rest())

    @contextmanager
    def reading(self, name: str) -> Iterator["MemberReader"]:
        with _understood():
            file = self._archive.open(name)
        with file:
            yield MemberReader(name, file)

    def extract(self, name: str, folder: Path) -> Path:
        """Under a name of our own."""
        path = folder / uuid.uuid4().hex
        with _understood(), self._archive.open(name) as file, path.open("wb") as out:
            shutil.copyfileobj(file, out, _COPIED)
        return path


class MemberReader:
    """One member, from its beginning to its end."""

    def __init__(self, name: str, file: IO[bytes]) -> None:
        self.name = name
        self.line = 0
        self._file = file

    def take(self, size: int) -> bytes:
        with _understood():
            data = self._file.read(size)
        if len(data) < size:
            raise BadArchive(f"{self.name} ends {size - len(data)} bytes too early")
        return data

    def take_rest(self) -> bytes:
        with _understood():
            return self._bounded(self._file.read(_LONGEST + 1), self.name)

    def take_line(self) -> bytes:
        self.line += 1
        with _understood():
            line = self._bounded(self._file.readline(_LONGEST + 1), self.where)
        if not line:
            raise BadArchive(f"{self.name} ends before line {self.line}")
        return line

    def parsed(self, data: bytes) -> object:
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise BadArchive(f"{self.where} is no JSON: {error}") from error

    @staticmethod
    def _bounded(data: bytes, where: str) -> bytes:
        if len(data) > _LONGEST:
            raise BadArchive(f"{where} has more than {_mb(_LONGEST)} MB")
        return data

    def take_json(self) -> object:
        return self.parsed(self.take_line())

    def check_end(self) -> None:
        with _understood():
            if self._file.read(1):
                raise BadArchive(f"{self.name} goes on where it should end")

    @property
    def where(self) -> str:
        return f"line {self.line} of {self.name}" if self.line else self.name


def _target(home: Path, name: str) -> Path:
    path = check_relative(name, name.removeprefix(FILES))
    target = home / path
    uploads = (home / UPLOADS).resolve()
    if not target.resolve().is_relative_to(uploads) or target.resolve() == uploads:
        raise BadArchive(f"{name} does not lie in {UPLOADS}, where alone files may come")
    return target


def _mb(size: int) -> int:
    return size // 1_000_000
