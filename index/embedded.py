"""The engine of one machine: FAISS and tantivy, in folders below the home."""

from collections.abc import Sequence
from pathlib import Path

from index import reads
from index.database import Database
from index.index_folders import drop, folder_of, remove, strays
from index.lexical import LexicalIndex
from index.records import StoredCollection
from index.vectors import VectorIndex


class Embedded:
    """An `Engine`. All processes of a machine may have the same folders open."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def dense(self, collection: StoredCollection, threads: int) -> VectorIndex:
        folder, dimensions = folder_of(self._home, collection), collection.model.dimensions
        return VectorIndex(folder, "vectors", dimensions, threads=threads)

    def lexical(self, collection: StoredCollection) -> LexicalIndex:
        return LexicalIndex(folder_of(self._home, collection), "words")

    def check(self, collection: StoredCollection | None) -> None:
        """Whatever lies there is no hindrance: what cannot be read is made anew."""

    def drop(self, gone: Sequence[StoredCollection]) -> None:
        drop(self._home, gone)

    def unused(self, database: Database) -> list[str]:
        """Folders, by their paths below the home."""
        with database.reading() as connection:
            found = strays(self._home, reads.collections(connection))
        with database.reading() as connection:  # anew, so that one made meanwhile is no stray
            collections = reads.collections(connection)
            versions = [v for each in collections for v in reads.versions(connection, each)]
            still = strays(self._home, versions)
        return [name for name in found if name in still]

    def discard(self, unused: Sequence[str]) -> None:
        remove(self._home, unused)

    def close(self) -> None:
        """Files are closed with the indexes."""
