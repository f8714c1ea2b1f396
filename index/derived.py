"""The two indexes that follow a collection, for one model, caught up with the log of changes."""

import threading

from index.changes import Feed, catch_up
from index.database import Database
from index.engines import Dense, Engine, Lexical
from index.records import StoredCollection


class DerivedIndexes:
    """Catches up before it hands out an index. Instances may be shared by threads."""

    def __init__(
        self, engine: Engine, database: Database, collection: StoredCollection, threads: int
    ) -> None:
        self.collection = collection
        self.feed = Feed(database, collection)
        self._engine = engine
        self._threads = threads
        self._dense: Dense | None = None
        self._lexical: Lexical | None = None
        self._pending: tuple[tuple[int, int], int] | None = None  # as of these changes
        # One thread catches up, the others wait for it; the two sides do not wait for each other.
        self._dense_lock = threading.Lock()
        self._lexical_lock = threading.Lock()

    def follow(self, collection: StoredCollection) -> bool:
        """Whether these are the indexes of a collection, as it is now."""
        mine = self.collection
        return (mine.uid, mine.model) == (collection.uid, collection.model)

    def dense(self) -> Dense:
        with self._dense_lock:
            index = self._opened_dense()
            catch_up(index, self.feed, "vector", self.feed.vectors)
            return index

    def lexical(self) -> Lexical:
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

    def _opened_dense(self) -> Dense:
        if self._dense is None:
            self._dense = self._engine.dense(self.collection, self._threads)
        return self._dense

    def _opened_lexical(self) -> Lexical:
        if self._lexical is None:
            self._lexical = self._engine.lexical(self.collection)
        return self._lexical
