"""How a derived index follows the database: by the number of the last change that it has applied.

The log of changes grows with every commit and numbers its entries by `seq`. An index remembers the
`seq` up to which it agrees with the database; whatever came later it takes from there, in blocks,
before it is searched. So it may be deleted, left behind by a kill or advanced by another process
at any moment, and is right again after the next `catch_up`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from index import feed
from index.database import Database
from index.records import (
    Changes,
    Entry,
    Ids,
    OwnedVectors,
    Side,
    StoredCollection,
    Vectors,
)

Items = TypeVar("Items", contravariant=True)
_Items = TypeVar("_Items")


class Derived(Protocol[Items]):
    """An index that is made of the database's chunks."""

    block: int  # changes applied at once

    @property
    def applied(self) -> int:
        """The `seq` of the last change that is in it, 0 when it is empty."""

    def updating(self) -> AbstractContextManager[None]:
        """Held while a block is applied. Once inside, `applied` counts other processes' work."""

    def apply(self, seq: int, changed: Sequence[int], items: Items) -> None:
        """Replaces whatever it holds of the `changed` chunks by `items`, and is then at `seq`."""

    def settle(self) -> None:
        """Called when it has caught up, to save or to tidy. It may start anew, at 0."""

    def reset(self) -> None:
        """Starts anew, empty and at 0."""


class Feed:
    """What the indexes of a collection are made of. Every method is one transaction."""

    def __init__(self, database: Database, collection: StoredCollection) -> None:
        self._database = database
        self._collection = collection

    def latest(self, side: Side) -> int:
        """The `seq` of the newest change of a side, 0 before the first."""
        with self._database.reading() as connection:
            return feed.latest(connection, self._collection.id, side)

    def changes(self, side: Side, since: int, limit: int) -> Changes:
        """The oldest `limit` changes of a side after `since`."""
        with self._database.reading() as connection:
            return feed.changes(connection, self._collection.id, side, since, limit)

    def vectors(self, ids: Ids) -> Vectors:
        """In the order of `ids`, without those that have no vector of the collection's model."""
        with self._database.reading() as connection:
            return feed.vectors(connection, ids, self._collection.model)

    def vector_blocks(self, size: int = 4096) -> Iterator[Vectors]:
        """All vectors of the collection by ascending chunk id, in blocks of at most `size`."""
        last = 0
        while True:
            with self._database.reading() as connection:
                block = feed.vector_block(connection, self._collection, last, size)
            if not block.ids.size:
                return
            yield block
            last = int(block.ids[-1])

    def owned_vectors(self) -> OwnedVectors:
        """All vectors of the collection by ascending chunk id, with the documents they are of."""
        blocks = list(self.vector_blocks())
        if not blocks:
            nothing = np.empty(0, np.int64)
            return OwnedVectors(nothing, nothing, np.empty((0, 0), np.float32))
        ids = np.concatenate([block.ids for block in blocks])
        rows = np.concatenate([block.rows for block in blocks])
        with self._database.reading() as connection:
            owners = feed.owners(connection, ids)
        live = np.array([key in owners for key in ids.tolist()], bool)
        documents = np.array([owners[key] for key in ids[live].tolist()], np.int64)
        return OwnedVectors(ids[live], documents, rows[live])

    def entries(self, ids: Ids) -> list[Entry]:
        """What the lexical index is to hold of these chunks, in no order."""
        with self._database.reading() as connection:
            return feed.entries(connection, ids, self._collection.model.fingerprint)

    def chunk_ids(self, documents: Ids) -> NDArray[np.int64]:
        """The chunks of these documents, as far as they are in the collection."""
        with self._database.reading() as connection:
            return np.asarray(feed.chunk_ids(connection, self._collection, documents), np.int64)

    def pending(self) -> int:
        """How many chunks have no vector of the collection's model."""
        with self._database.reading() as connection:
            return feed.pending(connection, self._collection)

    def live(self, ids: Ids) -> set[int]:
        """Which of these chunks still are."""
        with self._database.reading() as connection:
            return feed.live(connection, ids)


def catch_up(
    index: Derived[_Items], source: Feed, side: Side, read: Callable[[Sequence[int]], _Items]
) -> None:
    """Brings an index up to the newest change there is when this is called.

    Args:
        side: Which changes concern the index.
        read: Gives what the index holds of these chunks, leaving out those that no longer live.
            They may have changed again since the log named them: that change is still to come.
    """
    newest = source.latest(side)
    if index.applied > newest:  # of a database that was since replaced by an older copy
        index.reset()
    while index.applied < newest:
        with index.updating():
            changes = source.changes(side, index.applied, index.block)
            if changes.seq > index.applied:
                changed = changes.upserted + changes.deleted
                index.apply(changes.seq, changed, read(changes.upserted))
        if index.applied >= newest:
            index.settle()
