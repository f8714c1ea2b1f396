"""A collection as a whole: its rows in the catalogue, and the two indexes that follow them."""

import threading
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from index.catalog import Catalog
from index.changes import Feed
from index.derived import DerivedIndexes
from index.engines import Dense, Lexical, asked
from index.errors import ModelMismatch, UnknownCollection
from index.records import (
    Candidates,
    Filter,
    Ids,
    Known,
    Model,
    NewDocument,
    OwnedVectors,
    Rejected,
    Side,
    StoredChunk,
    StoredCollection,
    StoredDocument,
    WordFrequencies,
)


class Collection:
    """Documents go in, chunks come out. Instances may be shared by threads.

    A search first takes in what this process and others have committed since the last one; where
    there is nothing, that costs one query. So what was added is found, what was removed is not.
    """

    def __init__(
        self, catalog: Catalog, name: str, model: Model | None = None, *, threads: int = 1
    ) -> None:
        self.name = name
        self._catalog = catalog
        self._model = model
        self._threads = threads
        self._indexes: DerivedIndexes | None = None
        self._lock = threading.Lock()

    @classmethod
    def open(
        cls, catalog: Catalog, name: str, model: Model | None = None, *, threads: int = 1
    ) -> Self:
        """Opens a collection, or the name of one that the first document is going to make.

        Args:
            model: What makes the vectors. Without it the collection must be there already, and
                no document can be added.
            threads: For FAISS.

        Raises:
            UnknownCollection: There is none of that name, and no model to make one for.
            ModelMismatch: It holds vectors of another model.
        """
        collection = cls(catalog, name, model, threads=threads)
        if collection._existing() is None and model is None:
            catalog.collection(name)  # raises, and says which there are
        return collection

    def add(
        self, document: NewDocument, vectors: NDArray[np.floating[Any]] | None
    ) -> StoredDocument:
        """As `Catalog.add`, with vectors of the model that the collection was opened with."""
        model = self._made()
        return self._catalog.add(self.name, document, vectors, model.fingerprint)

    def add_vectors(self, ids: Ids, vectors: NDArray[np.floating[Any]]) -> int:
        """As `Catalog.add_vectors`, likewise."""
        return self._catalog.add_vectors(self.name, ids, vectors, self._made().fingerprint)

    def add_duplicate(
        self, path: str, sha256: str, size: int, modified: str | None = None
    ) -> StoredDocument | None:
        """As `Catalog.add_duplicate`."""
        if self._existing() is None:
            return None
        return self._catalog.add_duplicate(self.name, path, sha256, size, modified)

    def reject(self, rejected: Rejected) -> StoredDocument:
        """As `Catalog.reject`."""
        self._made()
        return self._catalog.reject(self.name, rejected)

    def remove(self, document_id: int) -> None:
        """As `Catalog.remove`."""
        self._catalog.remove(document_id)

    def dense(
        self,
        vector: NDArray[np.floating[Any]],
        k: int = 1000,
        documents: Ids | None = None,
        *,
        fingerprint: str | None = None,
    ) -> Candidates:
        """The chunks nearest to a vector, by cosine.

        Args:
            documents: Ids of the documents to choose from; all where it is None.
            fingerprint: Of the model that made the vector, where the collection may have moved to
                another one since.

        Raises:
            ModelMismatch: It has.
        """
        indexes = self._opened()
        if indexes is None:
            return _nothing()
        stored = indexes.collection
        if fingerprint is not None and fingerprint != stored.model.fingerprint:
            given = Model("the given model", fingerprint, len(vector))
            raise ModelMismatch(self.name, stored.model, given)
        allowed = None if documents is None else indexes.feed.chunk_ids(documents)

        def search(index: Dense) -> Candidates:
            applied = index.applied
            return living(index.search(vector, k, allowed), indexes.feed, "vector", applied)

        return asked(indexes.dense, search)

    def lexical(self, query: str, k: int = 1000, documents: Ids | None = None) -> Candidates:
        """The chunks that share words with a query, by BM25.

        Args:
            documents: Ids of the documents to choose from; all where it is None.
        """
        indexes = self._opened()
        if indexes is None:
            return _nothing()

        def search(index: Lexical) -> Candidates:
            applied = index.applied
            return living(index.search(query, k, documents), indexes.feed, "text", applied)

        return asked(indexes.lexical, search)

    def frequencies(self, words: Iterable[str]) -> WordFrequencies:
        """In how many chunks each of these words stands, as the lexical side counts them."""
        indexes = self._opened()
        if indexes is None:
            return WordFrequencies(0, dict.fromkeys(words, 0))
        wanted = list(words)

        def count(index: Lexical) -> WordFrequencies:
            return index.frequencies(wanted)

        return asked(indexes.lexical, count)

    def matching(self, given: Filter) -> list[int]:
        """As `Catalog.matching`; none before the first document."""
        return [] if self._existing() is None else self._catalog.matching(self.name, given)

    def pending(self) -> int:
        """How many chunks are found by their words only, so far."""
        indexes = self._opened()
        return 0 if indexes is None else indexes.pending()

    def documents(self) -> list[StoredDocument]:
        """As `Catalog.documents`; none before the first."""
        return [] if self._existing() is None else self._catalog.documents(self.name)

    def known(self, path: str, sha256: str) -> Known:
        """As `Catalog.known`; nothing before the first document."""
        try:
            return self._catalog.known(self.name, path, sha256)
        except UnknownCollection:
            return Known()

    def text(self, document_id: int) -> str:
        """As `Catalog.text`."""
        return self._catalog.text(document_id)

    def vectors(self) -> OwnedVectors:
        """All vectors by ascending chunk id, with the documents they are of.

        Raises:
            UnknownCollection: There is no collection of this name yet.
        """
        return Feed(self._catalog.database, self._catalog.collection(self.name)).owned_vectors()

    def chunks(self, ids: Ids) -> list[StoredChunk]:
        """As `Catalog.chunks`."""
        return self._catalog.chunks(ids)

    def check(self) -> None:
        """Raises where its indexes could not follow what is about to be stored.

        Raises:
            IndexUnreachable: Their server does not answer.
            IndexMismatch: They were made for something else.
        """
        self._catalog.engine.check(self._existing())

    def catch_up(self) -> None:
        """Does now what the next search would have to do first."""
        if indexes := self._opened():
            indexes.dense()
            indexes.lexical()

    def prepare(self, model: Model) -> None:
        """Makes the indexes of a model that the collection is about to move to."""
        stored = self._existing()
        if stored is not None:
            moved = replace(stored, model=model)
            indexes = self._indexes_of(moved)
            indexes.dense().save()
            indexes.lexical()

    def rebuild(self) -> None:
        """Makes both indexes anew from the database."""
        if indexes := self._opened():
            indexes.rebuild()

    def _existing(self) -> StoredCollection | None:
        """The collection's row as it is now: another process may have made or moved it."""
        try:
            found = self._catalog.collection(self.name)
        except UnknownCollection:
            return None
        if self._model and self._model.fingerprint != found.model.fingerprint:
            raise ModelMismatch(self.name, found.model, self._model)
        return found

    def _made(self) -> Model:
        if self._model is None:
            raise ValueError(f"open {self.name!r} with a model to add documents to it")
        if self._existing() is None:  # yet, or any more: another process may have dropped it
            self._catalog.create(self.name, self._model)
        return self._model

    def _opened(self) -> DerivedIndexes | None:
        stored = self._existing()
        if stored is None:
            return None
        with self._lock:
            if self._indexes is None or not self._indexes.follow(stored):
                self._indexes = self._indexes_of(stored)
            return self._indexes

    def _indexes_of(self, stored: StoredCollection) -> DerivedIndexes:
        return DerivedIndexes(self._catalog.engine, self._catalog.database, stored, self._threads)


def living(found: Candidates, feed: Feed, side: Side, applied: int) -> Candidates:
    """Without chunks that were deleted while the search ran.

    Args:
        applied: The change of this side that the index was at when the search began. Where there
            is no later one now, nothing was deleted, and no chunk has to be looked up.
    """
    if feed.latest(side) == applied:
        return found
    live = feed.live(found.ids)
    kept = np.fromiter((key in live for key in found.ids.tolist()), bool, len(found.ids))
    return Candidates(found.ids[kept], found.scores[kept])


def _nothing() -> Candidates:
    return Candidates(np.empty(0, np.int64), np.empty(0, np.float32))
