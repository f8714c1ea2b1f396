"""ZIP archives: their files, unpacked beside each other, within limits and under safe names.

Nothing is written outside the folder that is given, and no name out of an archive decides where:
each file gets a folder of its own.
"""

import shutil
import stat
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from rag.loaders.errors import BrokenFile, EmptyFile, UnsupportedFile
from rag.loaders.formats import LARGEST, supported
from rag.loaders.names import is_junk
from rag.loaders.zip_names import DAMAGE, fault_of, member_name, safe_file_name, shown_member

MOST_UNPACKED = 2_000_000_000  # bytes of all files of an archive, those inside it included
MOST_MEMBERS = 20_000
MOST_RATIO = 200  # texts pack 3 to 30 times; a bomb packs 1,000 times
DEEPEST = 3  # archives inside each other

_SMALL = 50_000_000  # bytes that any archive may unpack to
_AT_ONCE = 1 << 20  # bytes
_ENTRY = b"PK\x01\x02"  # of the directory
_LOCKED = "it is locked with a password (암호): unpack the archive and add what it holds"


@dataclass(frozen=True, slots=True)
class Member:
    """A file of an archive that could be read by its suffix: unpacked, or refused."""

    name: str  # with forward slashes, in NFC; the parts of an inner archive follow its own name
    file: Path | None = None  # where it lies, under its own last name
    refused: str | None = None  # the reason, where there is no file


def unpack(path: Path, into: Path, *, ocr: bool = False) -> list[Member]:
    """Unpacks the files of an archive that can be read, in its order, into an empty folder.

    Hidden files, those that systems leave, and formats that are not supported are passed over, as
    in a folder. Two files of one name are both kept.

    Args:
        path: The archive.
        into: Where the files go; remove it when they have been read.
        ocr: Whether pictures are unpacked too.

    Raises:
        BrokenFile: It is damaged or no archive.
        UnsupportedFile: It holds more than the limits allow.
        EmptyFile: It holds nothing that could be read.
    """
    unpacking = _Unpacking(into, supported(ocr=ocr))
    members = list(unpacking.archive(path, "", depth=1))
    if not members:
        raise EmptyFile(
            f"the archive holds no file that can be read: {unpacking.passed_over} are of formats "
            "that are not supported, hidden, or empty folders"
        )
    return members


@dataclass(slots=True)
class _Unpacking:
    into: Path
    suffixes: frozenset[str]
    passed_over: int = 0
    _n_members: int = 0
    _n_bytes: int = 0  # unpacked so far
    _n_files: int = 0
    _names: set[str] = field(default_factory=set)

    def archive(self, path: Path, prefix: str, *, depth: int) -> Iterator[Member]:
        try:
            self._count(path)
            with zipfile.ZipFile(path) as archive:
                self._check(archive, path.stat().st_size)
                for info in archive.infolist():
                    yield from self._member(archive, info, prefix, depth)
        except DAMAGE as error:
            raise BrokenFile("the file is damaged or no ZIP archive") from error

    def _count(self, path: Path) -> None:
        """Refuses too many entries before the directory of the archive is read into memory."""
        self._n_members += _count_entries(path)
        if self._n_members > MOST_MEMBERS:
            raise UnsupportedFile(
                f"the archive holds {self._n_members:,} files; at most {MOST_MEMBERS:,} are read"
            )

    def _check(self, archive: zipfile.ZipFile, size: int) -> None:
        """Refuses by what the archive says of itself, before anything is unpacked."""
        unpacked = self._n_bytes + sum(info.file_size for info in archive.infolist())
        most = max(_SMALL, min(MOST_UNPACKED, MOST_RATIO * size))
        if unpacked > most:
            raise UnsupportedFile(
                f"the archive unpacks from {size:,} to {unpacked:,} bytes; "
                f"at most {most:,} are read from one of its size"
            )

    def _member(
        self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, prefix: str, depth: int
    ) -> Iterator[Member]:
        name = member_name(info)
        parts = PurePosixPath(name).parts
        suffix = PurePosixPath(name).suffix.lower()
        if info.is_dir() or name.endswith("/"):
            return
        if suffix not in self.suffixes or any(is_junk(p) for p in parts if p not in (".", "..")):
            self.passed_over += 1
            return
        fault = fault_of(name) or _fault_of(info)
        if fault:
            yield Member(self._own(prefix + shown_member(name)), refused=fault)
            return
        shown = self._own(prefix + shown_member(name))
        if suffix == ".zip" and depth >= DEEPEST:
            reason = f"it lies {depth} archives deep; at most {DEEPEST} inside each other are read"
            yield Member(shown, refused=reason)
            return
        try:
            file = self._write(archive, info, PurePosixPath(name).name)
        except UnsupportedFile as error:
            yield Member(shown, refused=str(error))
        except NotImplementedError:
            yield Member(shown, refused="it is packed by a method that cannot be unpacked here")
        except DAMAGE:
            yield Member(shown, refused="it is damaged: it cannot be unpacked")
        else:
            yield from self._unpacked(file, shown, suffix, depth)

    def _unpacked(self, file: Path, shown: str, suffix: str, depth: int) -> Iterator[Member]:
        if suffix != ".zip":
            yield Member(shown, file)
            return
        try:
            yield from self.archive(file, f"{shown}/", depth=depth + 1)
        except (BrokenFile, UnsupportedFile) as error:
            yield Member(shown, refused=str(error))
        finally:
            file.unlink(missing_ok=True)

    def _write(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> Path:
        self._n_files += 1
        folder = self.into / f"{self._n_files:05}"
        folder.mkdir(parents=True)
        file = folder / safe_file_name(name)
        try:
            with archive.open(info) as source, file.open("wb") as target:
                size = 0
                while piece := source.read(_AT_ONCE):
                    size += len(piece)
                    self._n_bytes += len(piece)
                    if self._n_bytes > MOST_UNPACKED:
                        raise UnsupportedFile(f"with it, more than {MOST_UNPACKED:,} bytes unpack")
                    target.write(piece)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return file

    def _own(self, name: str) -> str:
        """Gives a second file of the same name a number: both are kept."""
        path, number, own = PurePosixPath(name), 1, name
        while own in self._names:
            number += 1
            own = str(path.with_name(f"{path.stem} ({number}){path.suffix}"))
        self._names.add(own)
        return own


def _count_entries(path: Path) -> int:
    count, end = 0, b""
    with path.open("rb") as file:
        while piece := file.read(_AT_ONCE):
            piece = end + piece
            count += piece.count(_ENTRY)
            end = piece[-len(_ENTRY) + 1 :]
    return count


def _fault_of(info: zipfile.ZipInfo) -> str | None:
    """Says why a member is not unpacked, by what the archive says of it."""
    if stat.S_ISLNK(info.external_attr >> 16):
        return "it is a symbolic link, not a file"
    if info.flag_bits & 0x1:
        return _LOCKED
    if info.file_size > LARGEST:
        return f"it has {info.file_size:,} bytes; at most {LARGEST:,} are read: split it"
    return None
