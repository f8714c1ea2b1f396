"""The catalogue of a home: collections, documents, chunks and their vectors, in one database."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import insert, update

from index import feed, lifecycle, reads
from index.database import Database
from index.errors import ModelMismatch, UnknownCollection
from index.records import (
    Changes,
    Counts,
    Entry,
    Ids,
    Model,
    NewDocument,
    OwnedVectors,
    Rejected,
    StoredChunk,
    StoredCollection,
    StoredDocument,
    Vectors,
)
from index.schema import CollectionRow


class Catalog:
    """Every method is one transaction. Instances may be shared by threads.

    Args:
        home: The folder of the database and of everything that is derived from it. It is made if
            it is not there.
        url: Another database than `<home>/attest.db`.

    Raises:
        StorageBusy: Another process holds the database for longer than 30 s (every method).
        NewerDatabase: A later version has changed the tables.
    """

    def __init__(self, home: Path, url: str | None = None) -> None:
        self.home = home
        self._database = Database(home, url)

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def collections(self) -> list[StoredCollection]:
        with self._database.reading() as connection:
            return reads.collections(connection)

    def collection(self, name: str) -> StoredCollection:
        with self._database.reading() as connection:
            return reads.collection(connection, name)

    def create(self, name: str, model: Model) -> StoredCollection:
        """Makes a collection, or returns the one that is there if it is of the same model.

        Raises:
            ModelMismatch: It holds vectors of another model.
        """
        with self._database.writing() as connection:
            try:
                found = reads.collection(connection, name)
            except UnknownCollection:
                connection.execute(insert(CollectionRow), [_collection_values(name, model)])
                return reads.collection(connection, name)
        if found.model.fingerprint != model.fingerprint:
            raise ModelMismatch(name, found.model, model)
        return found

    def set_fusion_weight(self, collection: str, weight: float) -> None:
        """Sets how much the dense side counts in this collection, from 0 to 1."""
        if not 0 <= weight <= 1:
            raise ValueError(f"fusion weight {weight} must lie between 0 (lexical) and 1 (dense)")
        with self._database.writing() as connection:
            found = reads.collection(connection, collection)
            row = update(CollectionRow).where(CollectionRow.id == found.id)
            connection.execute(row.values(fusion_weight=weight))

    def add(
        self,
        collection: str,
        document: NewDocument,
        vectors: NDArray[np.floating[Any]],
        fingerprint: str,
    ) -> StoredDocument:
        """Stores a document whole, in place of the one that had its path.

        Where another path has the same content, the document is stored as its duplicate, without
        chunks.

        Args:
            vectors: One row per chunk, (n, d), of any length but 0.
            fingerprint: Of the model that made them.

        Raises:
            ModelMismatch: The collection holds vectors of another model.
            ValueError: There are no chunks, a chunk is not the slice of the text that it claims
                to be, or the vectors do not fit the chunks or the collection.
        """
        _check_chunks(document)
        with self._database.writing() as connection:
            found = reads.collection(connection, collection)
            _check_vectors(found, document, vectors, fingerprint)
            key = lifecycle.store(connection, found.id, document, vectors, fingerprint)
            return reads.document(connection, key)

    def add_duplicate(
        self, collection: str, path: str, sha256: str, size: int
    ) -> StoredDocument | None:
        """Stores a file as a duplicate, without reading it, if another path has its content.

        Returns:
            None where no other path has it: read the file and `add` it.
        """
        with self._database.writing() as connection:
            found = reads.collection(connection, collection)
            key = lifecycle.store_duplicate(connection, found.id, path, sha256, size)
            return None if key is None else reads.document(connection, key)

    def reject(self, collection: str, rejected: Rejected) -> StoredDocument:
        """Stores why a file cannot be searched.

        Returns:
            The row of that path. A good earlier version is kept whole, goes on answering, and is
            what is returned.
        """
        with self._database.writing() as connection:
            found = reads.collection(connection, collection)
            key = lifecycle.store_rejected(connection, found.id, rejected)
            return reads.document(connection, key)

    def remove(self, document_id: int) -> None:
        """Removes a document. Its oldest duplicate, if it has one, takes its chunks over."""
        with self._database.writing() as connection:
            lifecycle.remove(connection, int(document_id))

    def documents(self, collection: str) -> list[StoredDocument]:
        """In the order of their paths."""
        with self._database.reading() as connection:
            return reads.documents(connection, reads.collection(connection, collection).id)

    def document(self, document_id: int) -> StoredDocument:
        with self._database.reading() as connection:
            return reads.document(connection, int(document_id))

    def at(self, collection: str, path: str) -> StoredDocument | None:
        """The document of exactly this path, if there is one."""
        with self._database.reading() as connection:
            return reads.at(connection, reads.collection(connection, collection).id, path)

    def find(self, collection: str, name: str) -> StoredDocument:
        """The document of this path, else of this id, else the only one whose path ends in it.

        Raises:
            AmbiguousDocument: Several paths end in this name.
        """
        with self._database.reading() as connection:
            return reads.find(connection, reads.collection(connection, collection).id, name)

    def text(self, document_id: int) -> str:
        """The text that chunks are slices of: a duplicate's is its original's, a rejected "" ."""
        with self._database.reading() as connection:
            return reads.text(connection, int(document_id))

    def chunks(self, ids: Ids) -> list[StoredChunk]:
        """In the order of `ids`, without those that no longer live."""
        with self._database.reading() as connection:
            return reads.chunks(connection, ids)

    def chunks_of(self, document_id: int) -> list[StoredChunk]:
        """In reading order."""
        with self._database.reading() as connection:
            return reads.chunks_of(connection, int(document_id))

    def chunk_ids(self, collection: str, documents: Ids) -> NDArray[np.int64]:
        """The chunks of these documents, as far as they are in the collection."""
        with self._database.reading() as connection:
            found = reads.collection(connection, collection)
            return np.asarray(feed.chunk_ids(connection, found.id, documents), np.int64)

    def live(self, ids: Ids) -> set[int]:
        """Which of these chunks still are."""
        with self._database.reading() as connection:
            return feed.live(connection, ids)

    def vectors(self, ids: Ids, fingerprint: str) -> Vectors:
        """In the order of `ids`, without those that have no vector of this model."""
        with self._database.reading() as connection:
            return feed.vectors(connection, ids, fingerprint)

    def vector_blocks(self, collection: str, size: int = 4096) -> Iterator[Vectors]:
        """All vectors of a collection by ascending chunk id, in blocks of at most `size`."""
        last = 0
        while True:
            with self._database.reading() as connection:
                found = reads.collection(connection, collection)
                block = feed.vector_block(connection, found, last, size)
            if not block.ids.size:
                return
            yield block
            last = int(block.ids[-1])

    def owned_vectors(self, collection: str) -> OwnedVectors:
        """All vectors of a collection by ascending chunk id, with the documents they belong to."""
        blocks = list(self.vector_blocks(collection))
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
            return feed.entries(connection, ids)

    def latest(self, collection_id: int) -> int:
        """The `seq` of the newest change of a collection, 0 before the first."""
        with self._database.reading() as connection:
            return feed.latest(connection, collection_id)

    def changes(self, collection_id: int, since: int, limit: int) -> Changes:
        """The oldest `limit` changes after `since`."""
        with self._database.reading() as connection:
            return feed.changes(connection, collection_id, since, limit)

    def counts(self, collection: str) -> Counts:
        with self._database.reading() as connection:
            return reads.counts(connection, reads.collection(connection, collection))


def _collection_values(name: str, model: Model) -> dict[str, Any]:
    return {
        "name": name,
        "uid": uuid.uuid4().hex,
        "model_name": model.name,
        "model_fingerprint": model.fingerprint,
        "dimensions": model.dimensions,
        "fusion_weight": 0.5,
    }


def _check_chunks(document: NewDocument) -> None:
    if not document.chunks:
        raise ValueError(f"{document.path} has no chunks: reject it as empty")
    for position, chunk in enumerate(document.chunks):
        if document.text[chunk.start : chunk.end] != chunk.text:
            raise ValueError(
                f"{document.path}: chunk {position} is not text[{chunk.start}:{chunk.end}]"
            )


def _check_vectors(
    collection: StoredCollection,
    document: NewDocument,
    vectors: NDArray[np.floating[Any]],
    fingerprint: str,
) -> None:
    model = collection.model
    if fingerprint != model.fingerprint:
        given = Model("the given model", fingerprint, vectors.shape[-1])
        raise ModelMismatch(collection.name, model, given)
    wanted = (len(document.chunks), model.dimensions)
    if vectors.shape != wanted:
        raise ValueError(
            f"{document.path}: {wanted[0]} chunks of {model.name} need vectors of shape {wanted}, "
            f"not {vectors.shape}"
        )
