"""The files of a dense index in their folder: the newest good one counts, older ones go."""

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeVar

from index.vector_file import Saved, read

Made = TypeVar("Made")

_ABANDONED_S = 3600  # a file that was being written this long ago belongs to a process now dead


class Version(NamedTuple):
    """What a file's name says of it, the newer the greater."""

    seq: int  # of the last change that is in it
    lists: int  # 0 where it is searched whole


NONE = Version(-1, 0)


class VectorFolder:
    """Any process may read and write it. No file in it is ever changed.

    Args:
        name: Differs between models and between databases, whose files are never mixed up.
    """

    def __init__(self, path: Path, name: str, dimensions: int) -> None:
        self.path = path
        self._name = f"dense-{name}"
        self._dimensions = dimensions

    def newest(self, after: Version, make: Callable[[Saved, Version], Made]) -> Made | None:
        """What is made of the newest file that is whole, if it is newer than `after`.

        Args:
            make: A RuntimeError of its says that the file cannot be used.
        """
        for path in sorted(self._saved(), key=_version, reverse=True):
            if _version(path) <= after:
                return None
            # Gone since it was listed, or damaged: an older one, or the database, will do.
            with suppress(OSError, ValueError, RuntimeError):
                checksum = int(path.stem.split("-")[-1], 16)
                return make(read(path, self._dimensions, checksum), _version(path))
        return None

    def write(self, version: Version, fill: Callable[[BinaryIO], int]) -> None:
        """Saves a file and removes those that it replaces.

        Args:
            fill: Writes it, and returns the checksum for its name.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        aside = self.path / f"{self._name}.{os.getpid()}-{threading.get_ident()}.tmp"
        try:
            with aside.open("wb") as file:
                checksum = fill(file)
            said = f"{version.seq:012d}-{version.lists:05d}-{checksum:08x}"
            path = self.path / f"{self._name}-{said}.index"
            with suppress(PermissionError):  # on Windows, where another process has the same open
                aside.replace(path)
        finally:
            with suppress(OSError):
                aside.unlink(missing_ok=True)
        self._remove_older(path)

    def newest_seq(self) -> int:
        """What the newest file claims, whole or not; -1 where there is none."""
        return max((_version(path).seq for path in self._saved()), default=NONE.seq)

    def clear(self) -> None:
        for path in self._saved():
            with suppress(OSError):
                path.unlink()

    def _remove_older(self, newest: Path) -> None:
        for path in self.path.glob("dense-*"):
            with suppress(OSError):  # open elsewhere, on Windows: the next one removes it
                if path.suffix == ".tmp":
                    useless = path.stat().st_mtime < time.time() - _ABANDONED_S
                elif path.name.startswith(f"{self._name}-") and path.suffix == ".index":
                    useless = _version(path) < _version(newest)
                else:
                    useless = True
                if useless:
                    path.unlink()

    def _saved(self) -> list[Path]:
        return list(self.path.glob(f"{self._name}-*-*-*.index"))


def _version(path: Path) -> Version:
    said = path.stem.split("-")[-3:-1]
    # A file of another name was put there by someone else.
    return Version(*map(int, said)) if all(map(str.isdecimal, said)) else NONE
