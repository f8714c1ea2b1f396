"""What the derived indexes are fed: the change log, and the texts and vectors it points to."""

import numpy as np
from sqlalchemy import Connection, func, select

from index.codec import decode
from index.reads import by_id
from index.records import Changes, Entry, Ids, StoredCollection, Vectors
from index.schema import ChangeRow, ChunkRow, CollectionRow, DocumentRow, VectorRow
from index.titles import found_title


def live(connection: Connection, ids: Ids) -> set[int]:
    return {row.id for row in by_id(connection, select(ChunkRow.id), ChunkRow.id, ids)}


def chunk_ids(connection: Connection, collection_id: int, documents: Ids) -> list[int]:
    """The chunks of some documents of a collection."""
    query = (
        select(ChunkRow.id)
        .join(DocumentRow, DocumentRow.id == ChunkRow.document_id)
        .where(DocumentRow.collection_id == collection_id)
    )
    return [row.id for row in by_id(connection, query, DocumentRow.id, documents)]


def entries(connection: Connection, ids: Ids) -> list[Entry]:
    query = select(
        ChunkRow.id,
        ChunkRow.document_id,
        ChunkRow.heading,
        ChunkRow.text,
        DocumentRow.path,
        DocumentRow.title,
    ).join(DocumentRow, DocumentRow.id == ChunkRow.document_id)
    return [
        Entry(
            row.id,
            row.document_id,
            "\n".join((found_title(row.path, row.title), *row.heading, row.text)),
        )
        for row in by_id(connection, query, ChunkRow.id, ids)
    ]


def vectors(connection: Connection, ids: Ids, fingerprint: str) -> Vectors:
    """In the order of `ids`, without those that have no vector of this model."""
    query = select(VectorRow.chunk_id, VectorRow.data).where(VectorRow.fingerprint == fingerprint)
    rows = by_id(connection, query, VectorRow.chunk_id, ids)
    blobs = {row.chunk_id: row.data for row in rows}
    found = {key: blobs[key] for key in ids if key in blobs}
    return _decoded(connection, found, fingerprint)


def vector_block(
    connection: Connection, collection: StoredCollection, after: int, size: int
) -> Vectors:
    """The next `size` vectors of a collection, by ascending chunk id."""
    query = (
        select(VectorRow.chunk_id, VectorRow.data)
        .join(ChunkRow, ChunkRow.id == VectorRow.chunk_id)
        .join(DocumentRow, DocumentRow.id == ChunkRow.document_id)
        .where(
            DocumentRow.collection_id == collection.id,
            VectorRow.fingerprint == collection.model.fingerprint,
            VectorRow.chunk_id > after,
        )
        .order_by(VectorRow.chunk_id)
        .limit(size)
    )
    blobs = {row.chunk_id: row.data for row in connection.execute(query)}
    return _decoded(connection, blobs, collection.model.fingerprint)


def owners(connection: Connection, ids: Ids) -> dict[int, int]:
    """The document of each chunk that lives."""
    query = select(ChunkRow.id, ChunkRow.document_id)
    return {row.id: row.document_id for row in by_id(connection, query, ChunkRow.id, ids)}


def latest(connection: Connection, collection_id: int) -> int:
    """The `seq` of the newest change, 0 before the first."""
    query = select(func.max(ChangeRow.seq)).where(ChangeRow.collection_id == collection_id)
    return connection.execute(query).scalar() or 0


def changes(connection: Connection, collection_id: int, since: int, limit: int) -> Changes:
    """The oldest `limit` changes after `since`."""
    query = (
        select(ChangeRow.seq, ChangeRow.chunk_id, ChangeRow.op)
        .where(ChangeRow.collection_id == collection_id, ChangeRow.seq > since)
        .order_by(ChangeRow.seq)
        .limit(limit)
    )
    rows = connection.execute(query).all()
    return Changes(
        seq=rows[-1].seq if rows else since,
        upserted=tuple(row.chunk_id for row in rows if row.op == "upsert"),
        deleted=tuple(row.chunk_id for row in rows if row.op == "delete"),
    )


def _decoded(connection: Connection, blobs: dict[int, bytes], fingerprint: str) -> Vectors:
    # Asked only so that no vectors at all still have as many columns as one would.
    query = select(CollectionRow.dimensions).where(CollectionRow.model_fingerprint == fingerprint)
    dimensions = connection.execute(query.limit(1)).scalar() or 0
    return Vectors(np.fromiter(blobs, np.int64), decode(list(blobs.values()), dimensions))
