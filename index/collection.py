"""A collection as a whole: its rows in the catalogue, and the two indexes that follow them."""

import hashlib
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from index.catalog import Catalog
from index.changes import catch_up
from index.errors import ModelMismatch, UnknownCollection
from index.lexical import LexicalIndex
from index.records import (
    Candidates,
    Ids,
    Model,
    NewDocument,
    OwnedVectors,
    Rejected,
    StoredChunk,
    StoredCollection,
    StoredDocument,
    Vectors,
    WordFrequencies,
)
from index.vectors import VectorIndex


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
        self._stored: StoredCollection | None = None
        self._dense: VectorIndex | None = None
        self._lexical: LexicalIndex | None = None
        # One thread catches up, the others wait for it; the two sides do not wait for each other.
        self._dense_lock = threading.Lock()
        self._lexical_lock = threading.Lock()

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

    def add(self, document: NewDocument, vectors: NDArray[np.floating[Any]]) -> StoredDocument:
        """As `Catalog.add`, with vectors of the model that the collection was opened with."""
        model = self._made()
        return self._catalog.add(self.name, document, vectors, model.fingerprint)

    def add_duplicate(self, path: str, sha256: str, size: int) -> StoredDocument | None:
        """As `Catalog.add_duplicate`."""
        if self._existing() is None:
            return None
        return self._catalog.add_duplicate(self.name, path, sha256, size)

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
    ) -> Candidates:
        """The chunks nearest to a vector of this collection's model, by cosine.

        Args:
            documents: Ids of the documents to choose from; all where it is None.
        """
        stored = self._existing()
        if stored is None:
            return _nothing()
        with self._dense_lock:
            index = self._caught_up_dense(stored)
        allowed = None if documents is None else self._catalog.chunk_ids(self.name, documents)
        return self._living(index.search(vector, k, allowed))

    def lexical(self, query: str, k: int = 1000, documents: Ids | None = None) -> Candidates:
        """The chunks that share words with a query, by BM25.

        Args:
            documents: Ids of the documents to choose from; all where it is None.
        """
        stored = self._existing()
        if stored is None:
            return _nothing()
        with self._lexical_lock:
            index = self._caught_up_lexical(stored)
        return self._living(index.search(query, k, documents))

    def frequencies(self, words: Iterable[str]) -> WordFrequencies:
        """In how many chunks each of these words stands, as the lexical side counts them."""
        stored = self._existing()
        if stored is None:
            return WordFrequencies(0, dict.fromkeys(words, 0))
        with self._lexical_lock:
            index = self._caught_up_lexical(stored)
        return index.frequencies(words)

    def documents(self) -> list[StoredDocument]:
        """As `Catalog.documents`; none before the first."""
        return [] if self._existing() is None else self._catalog.documents(self.name)

    def text(self, document_id: int) -> str:
        """As `Catalog.text`."""
        return self._catalog.text(document_id)

    def vectors(self) -> OwnedVectors:
        """As `Catalog.owned_vectors`."""
        return self._catalog.owned_vectors(self.name)

    def chunks(self, ids: Ids) -> list[StoredChunk]:
        """As `Catalog.chunks`."""
        return self._catalog.chunks(ids)

    def catch_up(self) -> None:
        """Does now what the next search would have to do first."""
        stored = self._existing()
        if stored is not None:
            with self._dense_lock:
                self._caught_up_dense(stored)
            with self._lexical_lock:
                self._caught_up_lexical(stored)

    def rebuild(self) -> None:
        """Makes both indexes anew from the database."""
        stored = self._existing()
        if stored is None:
            return
        with self._dense_lock, self._lexical_lock:
            self._opened_dense(stored).reset()
            self._caught_up_dense(stored).save()
            self._opened_lexical(stored).reset()
            self._caught_up_lexical(stored)

    def _existing(self) -> StoredCollection | None:
        """The collection's row, which another process may have made by now."""
        if self._stored is None:
            try:
                found = self._catalog.collection(self.name)
            except UnknownCollection:
                return None
            if self._model and self._model.fingerprint != found.model.fingerprint:
                raise ModelMismatch(self.name, found.model, self._model)
            self._stored = found
        return self._stored

    def _made(self) -> Model:
        if self._model is None:
            raise ValueError(f"open {self.name!r} with a model to add documents to it")
        if self._stored is None:
            self._stored = self._catalog.create(self.name, self._model)
        return self._model

    def _caught_up_dense(self, stored: StoredCollection) -> VectorIndex:
        def read(ids: Sequence[int]) -> Vectors:
            return self._catalog.vectors(ids, stored.model.fingerprint)

        index = self._opened_dense(stored)
        catch_up(index, self._catalog, stored.id, read)
        return index

    def _caught_up_lexical(self, stored: StoredCollection) -> LexicalIndex:
        index = self._opened_lexical(stored)
        catch_up(index, self._catalog, stored.id, self._catalog.entries)
        return index

    def _opened_dense(self, stored: StoredCollection) -> VectorIndex:
        if self._dense is None:
            made_of = hashlib.sha256(f"{stored.uid} {stored.model.fingerprint}".encode())
            self._dense = VectorIndex(
                self._folder(stored),
                made_of.hexdigest()[:16],
                stored.model.dimensions,
                threads=self._threads,
            )
        return self._dense

    def _opened_lexical(self, stored: StoredCollection) -> LexicalIndex:
        if self._lexical is None:
            self._lexical = LexicalIndex(self._folder(stored), stored.uid[:16])
        return self._lexical

    def _folder(self, stored: StoredCollection) -> Path:
        return self._catalog.home / "indexes" / str(stored.id)

    def _living(self, found: Candidates) -> Candidates:
        """Without chunks that were deleted while the search ran."""
        live = self._catalog.live(found.ids)
        kept = np.fromiter((key in live for key in found.ids.tolist()), bool, len(found.ids))
        return Candidates(found.ids[kept], found.scores[kept])


def _nothing() -> Candidates:
    return Candidates(np.empty(0, np.int64), np.empty(0, np.float32))
