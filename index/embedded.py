"""The engine of one machine: FAISS and tantivy, in folders below the home that can be deleted."""

import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from index import reads
from index.database import Database
from index.engines import key_of
from index.lexical import LexicalIndex
from index.records import StoredCollection
from index.vectors import VectorIndex


class Embedded:
    """An `Engine`. All processes of a machine may have the same folders open."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._root = home / "indexes"

    def dense(self, collection: StoredCollection, threads: int) -> VectorIndex:
        dimensions = collection.model.dimensions
        return VectorIndex(self._folder(collection), "vectors", dimensions, threads=threads)

    def lexical(self, collection: StoredCollection) -> LexicalIndex:
        return LexicalIndex(self._folder(collection), "words")

    def check(self, collection: StoredCollection | None) -> None:
        """Whatever lies there: what cannot be read is made anew."""

    def drop(self, gone: Sequence[StoredCollection]) -> None:
        for collection in gone:
            _remove(self._folder(collection))

    def unused(self, database: Database) -> list[str]:
        """Folders, below the home."""
        with database.reading() as connection:
            found = self._strays(reads.collections(connection))
        with database.reading() as connection:  # anew, so that one made meanwhile is no stray
            used = {
                self._folder(version)
                for collection in reads.collections(connection)
                for version in reads.versions(connection, collection)
            }
        return [path.relative_to(self._home).as_posix() for path in found if path not in used]

    def discard(self, unused: Sequence[str]) -> None:
        for name in unused:
            _remove(self._home / name)

    def close(self) -> None:
        """Files are closed with the indexes."""

    def _strays(self, collections: Sequence[StoredCollection]) -> list[Path]:
        if not self._root.is_dir():
            return []
        known = {self._folder(collection) for collection in collections}
        return sorted(path for path in self._root.iterdir() if path not in known)

    def _folder(self, collection: StoredCollection) -> Path:
        return self._root / key_of(collection)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)  # on Windows while others have it open
    else:
        with suppress(OSError):
            path.unlink()
