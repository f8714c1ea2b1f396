"""What the derived indexes are fed: the change log, and the texts and vectors it points to."""

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, exists, func, select

from index.codec import decode
from index.reads import by_id
from index.records import (
    Changes,
    Entry,
    Ids,
    Model,
    Side,
    StoredCollection,
    Vectors,
    WaitingChunk,
)
from index.schema import ChangeRow, ChunkRow, DocumentRow, VectorRow
from index.titles import found_title

# Made once: each search asks for it. In this form PostgreSQL takes it from the end of the index
# also where it does not know yet how many rows there are; max() may count through all of them.
_latest = (
    select(ChangeRow.seq)
    .where(ChangeRow.collection_id == bindparam("collection"), ChangeRow.side == bindparam("side"))
    .order_by(ChangeRow.seq.desc())
    .limit(1)
)


def live(connection: Connection, ids: Ids) -> set[int]:
    return {row.id for row in by_id(connection, select(ChunkRow.id), ChunkRow.id, ids)}


def chunk_ids(connection: Connection, collection: StoredCollection, documents: Ids) -> list[int]:
    """The chunks of some documents of a collection."""
    query = (
        select(ChunkRow.id)
        .join(DocumentRow, DocumentRow.id == ChunkRow.document_id)
        .where(
            DocumentRow.collection_id == collection.id,
            ChunkRow.fingerprint == collection.model.fingerprint,
        )
    )
    return [row.id for row in by_id(connection, query, DocumentRow.id, documents)]


def entries(connection: Connection, ids: Ids, fingerprint: str) -> list[Entry]:
    """In no order, without chunks that were cut for another model."""
    query = (
        select(
            ChunkRow.id,
            ChunkRow.document_id,
            ChunkRow.heading,
            ChunkRow.text,
            DocumentRow.path,
            DocumentRow.title,
        )
        .join(DocumentRow, DocumentRow.id == ChunkRow.document_id)
        .where(ChunkRow.fingerprint == fingerprint)
    )
    return [
        Entry(
            row.id,
            row.document_id,
            "\n".join((found_title(row.path, row.title), *row.heading, row.text)),
        )
        for row in by_id(connection, query, ChunkRow.id, ids)
    ]


def vectors(connection: Connection, ids: Ids, model: Model) -> Vectors:
    """In the order of `ids`, without those that have no vector of this model."""
    mine = VectorRow.fingerprint == model.fingerprint
    query = select(VectorRow.chunk_id, VectorRow.data).where(mine)
    rows = by_id(connection, query, VectorRow.chunk_id, ids)
    blobs = {row.chunk_id: row.data for row in rows}
    found = {key: blobs[key] for key in ids if key in blobs}
    return _decoded(found, model.dimensions)


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
    return _decoded(blobs, collection.model.dimensions)


def owners(connection: Connection, ids: Ids) -> dict[int, int]:
    """The document of each chunk that lives."""
    query = select(ChunkRow.id, ChunkRow.document_id)
    return {row.id: row.document_id for row in by_id(connection, query, ChunkRow.id, ids)}


def waiting(
    connection: Connection, collection: StoredCollection, after: int, limit: int
) -> list[WaitingChunk]:
    """The next chunks, by ascending id, that have no vector of the collection's model."""
    active = collection.model.fingerprint
    made = exists().where(VectorRow.chunk_id == ChunkRow.id, VectorRow.fingerprint == active)
    query = (
        select(ChunkRow.id, ChunkRow.heading, ChunkRow.text, DocumentRow.path, DocumentRow.title)
        .join(DocumentRow, DocumentRow.id == ChunkRow.document_id)
        .where(
            DocumentRow.collection_id == collection.id,
            ChunkRow.fingerprint == active,
            ChunkRow.id > after,
            ~made,
        )
        .order_by(ChunkRow.id)
        .limit(limit)
    )
    return [
        WaitingChunk(row.id, found_title(row.path, row.title), tuple(row.heading), row.text)
        for row in connection.execute(query)
    ]


def pending(connection: Connection, collection: StoredCollection) -> int:
    """How many chunks have a text and no vector.

    Counted in the log, which is quick where nothing waits: both sides then end in as many chunks.
    """
    mine = (ChangeRow.collection_id == collection.id, ChangeRow.op == "upsert")
    sides = select(ChangeRow.side, func.count()).where(*mine).group_by(ChangeRow.side)
    counted = {row[0]: row[1] for row in connection.execute(sides)}
    return max(0, counted.get("text", 0) - counted.get("vector", 0))


def without_vector(connection: Connection, ids: Ids, fingerprint: str) -> list[int]:
    """Those of the chunks that live, were cut for this model and have no vector of it yet."""
    made = exists().where(VectorRow.chunk_id == ChunkRow.id, VectorRow.fingerprint == fingerprint)
    query = select(ChunkRow.id).where(ChunkRow.fingerprint == fingerprint, ~made)
    return [row.id for row in by_id(connection, query, ChunkRow.id, ids)]


def vectors_by_key(
    connection: Connection, document_id: int, fingerprint: str
) -> dict[str, NDArray[np.float32]]:
    """The vectors of a document by what the encoder read (`chunk_rows.chunk_key`)."""
    query = (
        select(ChunkRow.text_sha256, VectorRow.data)
        .join(VectorRow, VectorRow.chunk_id == ChunkRow.id)
        .where(ChunkRow.document_id == document_id, VectorRow.fingerprint == fingerprint)
    )
    blobs = {row.text_sha256: row.data for row in connection.execute(query)}
    if not blobs:
        return {}
    rows = decode(list(blobs.values()), len(next(iter(blobs.values()))) // 2)
    return dict(zip(blobs, rows, strict=True))


def latest(connection: Connection, collection_id: int, side: Side) -> int:
    """The `seq` of the newest change of a side, 0 before the first."""
    given = {"collection": collection_id, "side": side}
    return connection.execute(_latest, given).scalar() or 0


def changes(
    connection: Connection, collection_id: int, side: Side, since: int, limit: int
) -> Changes:
    """The oldest `limit` changes of a side after `since`."""
    query = (
        select(ChangeRow.seq, ChangeRow.chunk_id, ChangeRow.op)
        .where(
            ChangeRow.collection_id == collection_id,
            ChangeRow.side == side,
            ChangeRow.seq > since,
        )
        .order_by(ChangeRow.seq)
        .limit(limit)
    )
    rows = connection.execute(query).all()
    return Changes(
        seq=rows[-1].seq if rows else since,
        upserted=tuple(row.chunk_id for row in rows if row.op == "upsert"),
        deleted=tuple(row.chunk_id for row in rows if row.op == "delete"),
    )


def _decoded(blobs: dict[int, bytes], dimensions: int) -> Vectors:
    return Vectors(np.fromiter(blobs, np.int64), decode(list(blobs.values()), dimensions))
