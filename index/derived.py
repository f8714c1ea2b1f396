"""The two indexes that follow a collection, for one model: a folder that can always be deleted."""

import hashlib
import shutil
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from index import reads
from index.changes import Feed, catch_up
from index.database import Database
from index.lexical import LexicalIndex
from index.records import StoredCollection
from index.vectors import VectorIndex


class DerivedIndexes:
    """Catches up before it hands out an index. Instances may be shared by threads."""

    def __init__(
        self, home: Path, database: Database, collection: StoredCollection, threads: int
    ) -> None:
        self.collection = collection
        self.feed = Feed(database, collection)
        self._folder = folder_of(home, collection)
        self._threads = threads
        self._dense: VectorIndex | None = None
        self._lexical: LexicalIndex | None = None
        self._pending: tuple[tuple[int, int], int] | None = None  # as of these changes
        # One thread catches up, the others wait for it; the two sides do not wait for each other.
        self._dense_lock = threading.Lock()
        self._lexical_lock = threading.Lock()

    def follow(self, collection: StoredCollection) -> bool:
        """Whether these are the indexes of a collection, as it is now."""
        mine = self.collection
        return (mine.uid, mine.model) == (collection.uid, collection.model)

    def dense(self) -> VectorIndex:
        with self._dense_lock:
            index = self._opened_dense()
            catch_up(index, self.feed, "vector", self.feed.vectors)
            return index

    def lexical(self) -> LexicalIndex:
        with self._lexical_lock:
            index = self._opened_lexical()
            catch_up(index, self.feed, "text", self.feed.entries)
            return index

    def pending(self) -> int:
        """How many chunks are found by their words only; counted anew when the log has grown."""
        grown = (self.feed.latest("text"), self.feed.latest("vector"))
        if self._pending is None or self._pending[0] != grown:
            self._pending = grown, self.feed.pending()
        return self._pending[1]

    def rebuild(self) -> None:
        """Makes both anew from the database."""
        with self._dense_lock:
            self._opened_dense().reset()
        with self._lexical_lock:
            self._opened_lexical().reset()
        self.dense().save()
        self.lexical()

    def _opened_dense(self) -> VectorIndex:
        if self._dense is None:
            dimensions = self.collection.model.dimensions
            self._dense = VectorIndex(self._folder, "vectors", dimensions, threads=self._threads)
        return self._dense

    def _opened_lexical(self) -> LexicalIndex:
        if self._lexical is None:
            self._lexical = LexicalIndex(self._folder, "words")
        return self._lexical


def folder_of(home: Path, collection: StoredCollection) -> Path:
    """Differs between databases and models, whose indexes are never mixed up."""
    made_of = f"{collection.uid} {collection.model.fingerprint}".encode()
    return _root(home) / hashlib.sha256(made_of).hexdigest()[:24]


def stray_folders(home: Path, collections: Sequence[StoredCollection]) -> list[Path]:
    """What lies among the indexes and belongs to no collection any more."""
    if not _root(home).is_dir():
        return []
    known = {folder_of(home, collection) for collection in collections}
    return sorted(path for path in _root(home).iterdir() if path not in known)


def unused_folders(home: Path, database: Database) -> list[Path]:
    """As `stray_folders`, without those for a model that a collection is on its way from or to."""
    with database.reading() as connection:
        found = stray_folders(home, reads.collections(connection))
    with database.reading() as connection:  # anew, so that one made meanwhile is no stray
        used = {
            folder_of(home, version)
            for collection in reads.collections(connection)
            for version in reads.versions(connection, collection)
        }
    return [path for path in found if path not in used]


def discard(folder: Path) -> None:
    if folder.is_dir():
        shutil.rmtree(folder, ignore_errors=True)  # on Windows while others have it open
    else:
        with suppress(OSError):
            folder.unlink()


def _root(home: Path) -> Path:
    return home / "indexes"
