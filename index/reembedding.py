"""Moving a collection to another model, beside everything else that goes on.

Chunks are cut anew from the stored texts and get their vectors while the old ones still answer.
When no document is left behind, the collection changes its model in one transaction; what belonged
to the former model is cleared away afterwards. All of it is in the rows, so that whoever comes
after a kill can go on.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, delete, exists, func, select, update

from index.chunk_rows import (
    chunk_ids,
    insert_chunks,
    insert_vectors,
    log,
    log_gone,
    take_turn,
)
from index.database import Database
from index.records import Chunk, Model, StoredCollection, StoredText
from index.schema import AnyRow, ChunkRow, CollectionRow, DocumentRow
from index.titles import found_title

_AT_ONCE = 2000  # chunks deleted in one transaction, so that other writers get their turn

_text = select(
    DocumentRow.id,
    DocumentRow.path,
    DocumentRow.title,
    DocumentRow.media_type,
    DocumentRow.sha256,
    DocumentRow.text,
    DocumentRow.layout,
)


class Move:
    """A collection on its way to another model. Every method is one transaction."""

    def __init__(self, database: Database, collection: StoredCollection, model: Model) -> None:
        self._database = database
        self._collection = collection
        self._model = model

    def texts(self, after: int, limit: int) -> list[StoredText]:
        """The next documents, by ascending id, that have no chunks for the new model."""
        query = (
            _text.where(*self._left_behind(), DocumentRow.id > after)
            .order_by(DocumentRow.id)
            .limit(limit)
        )
        with self._database.reading() as connection:
            return [_stored_text(row) for row in connection.execute(query)]

    def left(self) -> int:
        """How many documents have no chunks for the new model."""
        with self._database.reading() as connection:
            return _count(connection, self._left_behind())

    def add(self, cut: StoredText, chunks: Sequence[Chunk], vectors: NDArray[np.floating]) -> bool:
        """Stores a document's new chunks; False where it changed or went meanwhile."""
        model, key = self._model.fingerprint, self._collection.id
        same = (*self._left_behind(), DocumentRow.id == cut.id, DocumentRow.sha256 == cut.sha256)
        with self._database.writing() as connection:
            take_turn(connection, key)
            if not _count(connection, same):
                return False
            insert_chunks(connection, cut.id, cut.title, chunks, model)
            ids = chunk_ids(connection, cut.id, model)
            log(connection, key, ids, "text", "upsert")
            insert_vectors(connection, key, ids, vectors, model)
        return True

    def finish(self) -> bool:
        """Makes the new model the collection's own, unless a document still lacks its chunks."""
        row = update(CollectionRow).where(CollectionRow.id == self._collection.id)
        with self._database.writing() as connection:
            take_turn(connection, self._collection.id)
            if _count(connection, self._left_behind()):
                return False
            connection.execute(
                row.values(
                    model_name=self._model.name,
                    model_fingerprint=self._model.fingerprint,
                    dimensions=self._model.dimensions,
                    adapter_id=None,  # it was made for the former model
                )
            )
        return True

    def _left_behind(self) -> tuple[ColumnElement[bool], ...]:
        cut = exists().where(
            ChunkRow.document_id == DocumentRow.id,
            ChunkRow.fingerprint == self._model.fingerprint,
        )
        mine = DocumentRow.collection_id == self._collection.id
        return (mine, DocumentRow.status == "indexed", ~cut)


def clear_others(database: Database, collection_id: int, keep: Sequence[str]) -> int:
    """Deletes the chunks that were cut for other models than these, a few at a time.

    Returns:
        How many there were.
    """
    others = (
        select(ChunkRow.id)
        .join(DocumentRow, DocumentRow.id == ChunkRow.document_id)
        .join(CollectionRow, CollectionRow.id == DocumentRow.collection_id)
        .where(
            DocumentRow.collection_id == collection_id,
            ChunkRow.fingerprint.not_in(keep),
            # Whatever the caller took for it: another process may have moved the collection.
            ChunkRow.fingerprint != CollectionRow.model_fingerprint,
        )
        .limit(_AT_ONCE)
    )
    cleared = 0
    while True:
        with database.writing() as connection:
            take_turn(connection, collection_id)
            ids = list(connection.execute(others).scalars())
            if not ids:
                return cleared
            connection.execute(delete(ChunkRow).where(ChunkRow.id.in_(ids)))
            log_gone(connection, collection_id, ids)
        cleared += len(ids)


def _count(connection: Connection, conditions: Sequence[ColumnElement[bool]]) -> int:
    return connection.execute(select(func.count(DocumentRow.id)).where(*conditions)).scalar_one()


def _stored_text(row: AnyRow) -> StoredText:
    return StoredText(
        id=row.id,
        path=row.path,
        title=found_title(row.path, row.title),
        media_type=row.media_type,
        sha256=row.sha256,
        text=row.text or "",
        layout=row.layout or {},
    )
