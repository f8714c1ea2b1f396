"""The catalogue of a home: collections, documents, chunks and their vectors, in one database."""

import uuid
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import delete, insert, update
from sqlalchemy.exc import IntegrityError

from index import feed, filters, lifecycle, reads
from index.chunk_rows import chunk_ids, insert_vectors, take_turn
from index.database import Database, repeated
from index.errors import ModelMismatch, UnknownCollection
from index.given import check_chunks, check_model, check_shape
from index.learning import Learning, in_turn
from index.records import (
    Counts,
    Filter,
    Ids,
    Known,
    MilvusAddress,
    Model,
    NewDocument,
    Rejected,
    StoredChunk,
    StoredCollection,
    StoredDocument,
    WaitingChunk,
)
from index.reembedding import Move, clear_others
from index.renaming import rename_collection
from index.schema import CollectionRow

if TYPE_CHECKING:
    from index.engines import Engine


class Catalog(Learning):
    """Every method is one transaction. Instances may be shared by threads.

    Args:
        home: The folder of the database and of everything that is derived from it. It is made if
            it is not there.
        url: Another database than `<home>/attest.db`, on a PostgreSQL server for many users.
        milvus: Where the indexes lie; None is in the home.

    Raises:
        StorageBusy: Another process holds the database for longer than 30 s (every method).
        StorageUnreachable: It does not answer, or cannot be read (every method).
        BadDatabaseUrl: The URL cannot be read, or its driver is not installed.
        NewerDatabase: A later version has changed the tables.
    """

    def __init__(
        self, home: Path, url: str | None = None, milvus: MilvusAddress | None = None
    ) -> None:
        self.home = home
        self.milvus = milvus
        self.database = Database(home, url)

    @cached_property
    def engine(self) -> "Engine":
        """Keeps the indexes. Its libraries are loaded when it is first asked for."""
        if self.milvus is None:
            from index.embedded import Embedded

            return Embedded(self.home)
        from index.milvus import Milvus

        return Milvus(self.milvus, self.database, self.home)

    def close(self) -> None:
        if "engine" in self.__dict__:
            self.engine.close()
        self.database.close()

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
        with self.database.reading() as connection:
            return reads.collections(connection)

    def collection(self, name: str) -> StoredCollection:
        with self.database.reading() as connection:
            return reads.collection(connection, name)

    @repeated
    def create(self, name: str, model: Model) -> StoredCollection:
        """Makes a collection, or returns the one that is there if it is of the same model.

        Raises:
            ModelMismatch: It holds vectors of another model.
        """
        with self.database.writing() as connection:
            try:
                found = reads.collection(connection, name)
            except UnknownCollection:
                with suppress(IntegrityError), connection.begin_nested():  # another was first
                    connection.execute(insert(CollectionRow), [_collection_values(name, model)])
                found = reads.collection(connection, name)
        if found.model.fingerprint != model.fingerprint:
            raise ModelMismatch(name, found.model, model)
        return found

    @repeated
    def rename_collection(self, name: str, new: str) -> None:
        """Gives a collection another name; keys that are for it follow.

        Raises:
            UnknownCollection: There is none of that name.
            CollectionExists: The new one is taken.
            CollectionBusy: A job goes by the name.
        """
        with self.database.writing() as connection:
            rename_collection(connection, name, new)

    @repeated
    def drop(self, name: str) -> None:
        """Deletes a collection with all that belongs to it; its ids are never used again.

        Raises:
            UnknownCollection: There is none of that name.
        """
        with self.database.writing() as connection:
            found = in_turn(connection, name)
            gone = reads.versions(connection, found)
            self.engine.drop(gone)  # first, so that a kill leaves none that nobody knows
            connection.execute(delete(CollectionRow).where(CollectionRow.id == found.id))
        self.engine.drop(gone)  # what another process has made anew meanwhile

    @repeated
    def clear(self) -> None:
        """Deletes all collections, in one transaction."""
        with self.database.writing() as connection:
            found = sorted(reads.collections(connection), key=lambda each: each.id)
            gone = list[StoredCollection]()
            for collection in found:
                take_turn(connection, collection.id)
                gone += reads.versions(connection, collection)
            self.engine.drop(gone)  # as in `drop`
            rows = CollectionRow.id.in_([collection.id for collection in found])
            connection.execute(delete(CollectionRow).where(rows))
        self.engine.drop(gone)

    @repeated
    def set_fusion_weight(self, collection: str, weight: float) -> None:
        """Sets how much the dense side counts in this collection, from 0 to 1."""
        if not 0 <= weight <= 1:
            raise ValueError(f"fusion weight {weight} must lie between 0 (lexical) and 1 (dense)")
        with self.database.writing() as connection:
            found = reads.collection(connection, collection)
            row = update(CollectionRow).where(CollectionRow.id == found.id)
            connection.execute(row.values(fusion_weight=weight))

    def add(
        self,
        collection: str,
        document: NewDocument,
        vectors: NDArray[np.floating[Any]] | None,
        fingerprint: str,
    ) -> StoredDocument:
        """Stores a document whole, in place of the one that had its path.

        Where another path has the same content, the document is stored as its duplicate, without
        chunks.

        Args:
            vectors: One row per chunk, (n, d), of any length but 0; None where `add_vectors` is to
                bring them, until when the document is found by its words.
            fingerprint: Of the model that they come from and that the chunks were cut for.

        Raises:
            ModelMismatch: The collection holds vectors of another model.
            ValueError: There are no chunks, a chunk is not the slice of the text that it claims
                to be, or the vectors do not fit the chunks or the collection.
        """
        check_chunks(document)
        with self.database.writing() as connection:
            found = in_turn(connection, collection)
            check_model(found, fingerprint)
            if vectors is not None:
                check_shape(found, len(document.chunks), vectors)
            key = lifecycle.store(connection, found.id, document, vectors, fingerprint)
            return reads.document(connection, key)

    def waiting(self, collection: str, after: int = 0, limit: int = 1000) -> list[WaitingChunk]:
        """The next chunks, by ascending id, that have no vector of the collection's model."""
        with self.database.reading() as connection:
            found = reads.collection(connection, collection)
            return feed.waiting(connection, found, after, limit)

    def add_vectors(
        self, collection: str, ids: Ids, vectors: NDArray[np.floating[Any]], fingerprint: str
    ) -> int:
        """Stores the vectors of chunks that wait for them.

        A chunk that went or got its vector meanwhile is passed over.

        Returns:
            How many were stored.

        Raises:
            ModelMismatch: The collection has moved to another model.
            ValueError: The vectors do not fit the ids or the collection.
        """
        with self.database.writing() as connection:
            found = in_turn(connection, collection)
            check_model(found, fingerprint)
            check_shape(found, len(ids), vectors)
            wanted = set(feed.without_vector(connection, ids, fingerprint))
            rows = [row for row, key in enumerate(ids) if int(key) in wanted]
            keys = [int(ids[row]) for row in rows]
            insert_vectors(connection, found.id, keys, vectors[rows], fingerprint)
        return len(rows)

    def known_vectors(self, document_id: int) -> dict[str, NDArray[np.float32]]:
        """The vectors of a document by `chunk_key`, to be kept where an update reads the same."""
        with self.database.reading() as connection:
            model = reads.model_of(connection, int(document_id))
            return feed.vectors_by_key(connection, int(document_id), model.fingerprint)

    def add_duplicate(
        self, collection: str, path: str, sha256: str, size: int, modified: str | None = None
    ) -> StoredDocument | None:
        """Stores a file as a duplicate, without reading it, if another path has its content.

        Returns:
            None where no other path has it: read the file and `add` it.
        """
        with self.database.writing() as connection:
            found = in_turn(connection, collection)
            key = lifecycle.store_duplicate(connection, found.id, path, sha256, size, modified)
            return None if key is None else reads.document(connection, key)

    def reject(self, collection: str, rejected: Rejected) -> StoredDocument:
        """Stores why a file cannot be searched.

        Returns:
            The row of that path. A good earlier version is kept whole, goes on answering, and is
            what is returned.
        """
        with self.database.writing() as connection:
            found = in_turn(connection, collection)
            key = lifecycle.store_rejected(connection, found.id, rejected)
            return reads.document(connection, key)

    def remove(self, document_id: int) -> None:
        """Removes a document. Its oldest duplicate, if it has one, takes its chunks over."""
        with self.database.writing() as connection:
            lifecycle.remove(connection, int(document_id))

    def rename(self, document_id: int, path: str, modified: str | None) -> StoredDocument:
        """Gives a document the path that its file has now; its chunks and vectors stay."""
        with self.database.writing() as connection:
            lifecycle.rename(connection, int(document_id), path, modified)
            return reads.document(connection, int(document_id))

    @repeated
    def touch(self, document_id: int, modified: str | None) -> None:
        """Notes when a file was last written that still holds what it held."""
        with self.database.writing() as connection:
            lifecycle.touch(connection, int(document_id), modified)

    @repeated
    def tag(
        self, document_id: int, add: Sequence[str] = (), remove: Sequence[str] = ()
    ) -> StoredDocument:
        """Puts tags on a document and takes others off."""
        with self.database.writing() as connection:
            lifecycle.tag(connection, int(document_id), add, remove)
            return reads.document(connection, int(document_id))

    def documents(self, collection: str) -> list[StoredDocument]:
        """In the order of their paths."""
        with self.database.reading() as connection:
            return reads.documents(connection, reads.collection(connection, collection).id)

    def document(self, document_id: int) -> StoredDocument:
        with self.database.reading() as connection:
            return reads.document(connection, int(document_id))

    def at(self, collection: str, path: str) -> StoredDocument | None:
        """The document of exactly this path, if there is one."""
        with self.database.reading() as connection:
            return reads.at(connection, reads.collection(connection, collection).id, path)

    def known(self, collection: str, path: str, sha256: str) -> Known:
        """What there is at a path, and what holds exactly this content."""
        with self.database.reading() as connection:
            found = reads.collection(connection, collection)
            return Known(
                reads.at(connection, found.id, path),
                tuple(reads.with_content(connection, found.id, sha256)),
            )

    def matching(self, collection: str, given: Filter) -> list[int]:
        """The ids of the documents that a filter admits, in ascending order.

        For a duplicate it is the id of its original, which has the chunks.

        Raises:
            BadFilter: A condition that cannot be.
        """
        with self.database.reading() as connection:
            found = reads.collection(connection, collection)
            return filters.matching(connection, found.id, given)

    def find(self, collection: str, name: str) -> StoredDocument:
        """The document of this path, else of this id, else the only one whose path ends in it.

        Raises:
            AmbiguousDocument: Several paths end in this name.
        """
        with self.database.reading() as connection:
            return reads.find(connection, reads.collection(connection, collection).id, name)

    def text(self, document_id: int) -> str:
        """The text that chunks are slices of: a duplicate's is its original's, a rejected "" ."""
        with self.database.reading() as connection:
            return reads.text(connection, int(document_id))

    def chunks(self, ids: Ids) -> list[StoredChunk]:
        """In the order of `ids`, without those that no longer live."""
        with self.database.reading() as connection:
            return reads.chunks(connection, ids)

    def chunks_of(self, document_id: int) -> list[StoredChunk]:
        """In reading order."""
        with self.database.reading() as connection:
            return reads.chunks_of(connection, int(document_id))

    def chunk_ids(self, document_id: int) -> list[int]:
        """The chunks of a document for the model of its collection, in reading order."""
        with self.database.reading() as connection:
            model = reads.model_of(connection, int(document_id))
            return chunk_ids(connection, int(document_id), model.fingerprint)

    def paths_under(self, collection: str, folder: str) -> list[tuple[int, str]]:
        """Ids and paths of the documents below a folder, in the order of their paths."""
        with self.database.reading() as connection:
            found = reads.collection(connection, collection)
            return reads.paths_under(connection, found.id, folder)

    def reads_from(self, path: str) -> bool:
        """Whether any collection has a document of this path, or of a member of this archive.

        One that was refused does not count: it keeps its reason and nothing else.
        """
        with self.database.reading() as connection:
            return reads.reads_from(connection, path)

    def move(self, collection: str, model: Model) -> Move:
        """Begins, or goes on with, moving a collection to another model."""
        return Move(self.database, self.collection(collection), model)

    def clear_former(self, collection: str, keep: Sequence[str] = ()) -> int:
        """Deletes the chunks of models that the collection does not have any more, and indexes.

        Args:
            keep: Fingerprints of models that it is on its way to.

        Returns:
            How many there were.
        """
        found = self.collection(collection)
        cleared = clear_others(self.database, found.id, (found.model.fingerprint, *keep))
        self.engine.discard(self.engine.unused(self.database))
        return cleared

    def counts(self, collection: str) -> Counts:
        with self.database.reading() as connection:
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
