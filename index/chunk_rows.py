"""The rows of chunks and vectors, and the log that says which of them came and went.

Whoever writes such a row does it here, inside a writing transaction, so that the log and the rows
never disagree.
"""

import hashlib
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, delete, insert, select

from index.codec import encode
from index.records import Chunk, Side
from index.schema import AnyRow, ChangeRow, ChunkRow, CollectionRow, VectorRow


def take_turn(connection: Connection, collection_id: int) -> None:
    """Lets one writer at a time into a collection, so that `seq` grows in the order of commits.

    SQLite has only one writer anyway and ignores it. Elsewhere a reader could see change 6 before
    change 5 is committed, and would never come back for 5.
    """
    mine = CollectionRow.id == collection_id
    connection.execute(select(CollectionRow.id).where(mine).with_for_update())


def insert_chunks(
    connection: Connection,
    document_id: int,
    title: str,
    chunks: Sequence[Chunk],
    fingerprint: str,
) -> None:
    rows = [
        {
            "document_id": document_id,
            "fingerprint": fingerprint,
            "position": position,
            "text": chunk.text,
            "start": chunk.start,
            "end": chunk.end,
            "page": chunk.page,
            "heading": list(chunk.heading),
            "tokens": chunk.tokens,
            "text_sha256": chunk_key(title, chunk.heading, chunk.text),
        }
        for position, chunk in enumerate(chunks)
    ]
    connection.execute(insert(ChunkRow), rows)


def insert_vectors(
    connection: Connection,
    collection_id: int,
    ids: Sequence[int],
    vectors: NDArray[np.floating],
    fingerprint: str,
) -> None:
    insert_encoded(connection, collection_id, ids, encode(vectors), fingerprint)


def insert_encoded(
    connection: Connection,
    collection_id: int,
    ids: Sequence[int],
    vectors: Sequence[bytes],
    fingerprint: str,
) -> None:
    """Vectors as `codec.encode` writes them."""
    rows = [
        {"chunk_id": key, "fingerprint": fingerprint, "data": data}
        for key, data in zip(ids, vectors, strict=True)
    ]
    if rows:
        connection.execute(insert(VectorRow), rows)
        log(connection, collection_id, ids, "vector", "upsert")


def chunk_ids(
    connection: Connection, document_id: int, fingerprint: str | None = None
) -> list[int]:
    """The chunks of a document in reading order: those of one model, or of all."""
    mine = select(ChunkRow.id).where(ChunkRow.document_id == document_id)
    if fingerprint is not None:
        mine = mine.where(ChunkRow.fingerprint == fingerprint)
    return list(connection.execute(mine.order_by(ChunkRow.position)).scalars())


def chunk_key(title: str, heading: Sequence[str], text: str) -> str:
    """Equal for two chunks that an encoder reads alike, so that a vector can be kept."""
    return hashlib.sha256("\x1f".join((title, *heading, text)).encode()).hexdigest()


def drop_chunks(connection: Connection, document: AnyRow) -> None:
    ids = chunk_ids(connection, document.id)
    connection.execute(delete(ChunkRow).where(ChunkRow.document_id == document.id))
    log_gone(connection, document.collection_id, ids)


def log_gone(connection: Connection, collection_id: int, ids: Sequence[int]) -> None:
    log(connection, collection_id, ids, "text", "delete")
    log(connection, collection_id, ids, "vector", "delete")


def log(
    connection: Connection,
    collection_id: int,
    ids: Sequence[int],
    side: Side,
    op: Literal["upsert", "delete"],
) -> None:
    """Only the last change of a chunk's side matters, so that the log holds no other."""
    if not ids:
        return
    replaced = delete(ChangeRow).where(
        ChangeRow.chunk_id == bindparam("key"), ChangeRow.side == side
    )
    connection.execute(replaced, [{"key": key} for key in ids])
    rows = [
        {"collection_id": collection_id, "chunk_id": key, "side": side, "op": op} for key in ids
    ]
    connection.execute(insert(ChangeRow), rows)
