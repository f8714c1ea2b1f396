"""What happens to a document between the file that is read and the row that is gone.

Each public function runs inside one writing transaction and logs every chunk that came, moved or
went, so that the log and the rows never disagree.

Of several files with the same content one, the original, has the chunks; the others are rows of
status "duplicate". When the original goes or changes, the oldest duplicate takes its chunks over.
"""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, delete, insert, select, update

from index.codec import encode
from index.errors import UnknownDocument
from index.records import Chunk, NewDocument, Rejected
from index.schema import AnyRow, ChangeRow, ChunkRow, CollectionRow, DocumentRow, VectorRow
from index.titles import title_of_copy

_Values = dict[str, Any]
_known = select(
    DocumentRow.id,
    DocumentRow.collection_id,
    DocumentRow.path,
    DocumentRow.title,
    DocumentRow.media_type,
    DocumentRow.sha256,
    DocumentRow.status,
)


def store(
    connection: Connection,
    collection_id: int,
    document: NewDocument,
    vectors: NDArray[np.floating],
    fingerprint: str,
) -> int:
    """Stores a document in place of the one that had its path.

    Returns:
        Its id, which is that of the document it replaces. Where another path has the same
        content already, it becomes a duplicate of that one, and its chunks are not stored.
    """
    _take_turn(connection, collection_id)
    values = _described(document) | {"title": document.title, "media_type": document.media_type}
    original = _original(connection, collection_id, document.sha256, document.path)
    if original is not None:
        return _put_duplicate(connection, collection_id, values, original)
    old = _at(connection, collection_id, document.path)
    if old is not None and old.sha256 == document.sha256:
        _drop_chunks(connection, old)  # its duplicates stay its duplicates
    elif old is not None:
        _let_go(connection, old)
    values |= {"status": "indexed", "reason": None, "text": document.text}
    document_id = _put(connection, collection_id, values, old)
    _insert_chunks(connection, document_id, document.chunks)
    ids = _chunk_ids(connection, document_id)
    _insert_vectors(connection, ids, vectors, fingerprint)
    _log(connection, collection_id, ids, "upsert")
    return document_id


def store_duplicate(
    connection: Connection, collection_id: int, path: str, sha256: str, size: int
) -> int | None:
    """Stores a file by its content alone, or returns None where no other path has that content."""
    _take_turn(connection, collection_id)
    original = _original(connection, collection_id, sha256, path)
    if original is None:
        return None
    values = {
        "path": path,
        "title": title_of_copy(path, original.path, original.title),
        "media_type": original.media_type,
        "sha256": sha256,
        "size": size,
        "warnings": [],
    }
    return _put_duplicate(connection, collection_id, values, original)


def store_rejected(connection: Connection, collection_id: int, rejected: Rejected) -> int:
    """Stores a reason, unless an earlier version of the file can be searched: that one stays."""
    _take_turn(connection, collection_id)
    old = _at(connection, collection_id, rejected.path)
    if old is not None and old.status in ("indexed", "duplicate"):
        return int(old.id)
    values = _described(rejected) | {"status": rejected.status, "reason": rejected.reason}
    return _put(connection, collection_id, values, old)


def remove(connection: Connection, document_id: int) -> None:
    found = connection.execute(_known.where(DocumentRow.id == document_id)).first()
    if found is None:
        raise UnknownDocument(document_id)
    _take_turn(connection, found.collection_id)
    _let_go(connection, found)
    connection.execute(delete(DocumentRow).where(DocumentRow.id == document_id))


def _take_turn(connection: Connection, collection_id: int) -> None:
    """Lets one writer at a time into a collection, so that `seq` grows in the order of commits.

    SQLite has only one writer anyway and ignores it. Elsewhere a reader could see change 6 before
    change 5 is committed, and would never come back for 5.
    """
    mine = CollectionRow.id == collection_id
    connection.execute(select(CollectionRow.id).where(mine).with_for_update())


def _at(connection: Connection, collection_id: int, path: str) -> AnyRow | None:
    here = (DocumentRow.collection_id == collection_id, DocumentRow.path == path)
    return connection.execute(_known.where(*here)).first()


def _original(connection: Connection, collection_id: int, sha256: str, path: str) -> AnyRow | None:
    """The document at another path that has the chunks of this content."""
    same = (
        DocumentRow.collection_id == collection_id,
        DocumentRow.sha256 == sha256,
        DocumentRow.status == "indexed",
        DocumentRow.path != path,
    )
    return connection.execute(_known.where(*same)).first()


def _described(document: NewDocument | Rejected) -> _Values:
    return {
        "path": document.path,
        "title": document.title,
        "media_type": document.media_type,
        "sha256": document.sha256,
        "size": document.size,
        "warnings": list(document.warnings),
    }


def _put(connection: Connection, collection_id: int, values: _Values, old: AnyRow | None) -> int:
    added = datetime.now(UTC).isoformat(timespec="seconds")
    values = {"text": None} | values | {"collection_id": collection_id, "added": added}
    if old is not None:
        connection.execute(update(DocumentRow).where(DocumentRow.id == old.id).values(values))
        return int(old.id)
    inserted = insert(DocumentRow).values(values).returning(DocumentRow.id)
    return connection.execute(inserted).scalar_one()


def _put_duplicate(
    connection: Connection, collection_id: int, values: _Values, original: AnyRow
) -> int:
    old = _at(connection, collection_id, values["path"])
    if old is not None:
        _let_go(connection, old)
    values |= {"status": "duplicate", "reason": _same_as(original.path)}
    return _put(connection, collection_id, values, old)


def _same_as(path: str) -> str:
    return f"same content as {path}"


def _insert_chunks(connection: Connection, document_id: int, chunks: Sequence[Chunk]) -> None:
    rows = [
        {
            "document_id": document_id,
            "position": position,
            "text": chunk.text,
            "start": chunk.start,
            "end": chunk.end,
            "page": chunk.page,
            "heading": list(chunk.heading),
            "tokens": chunk.tokens,
            "text_sha256": hashlib.sha256(chunk.text.encode()).hexdigest(),
        }
        for position, chunk in enumerate(chunks)
    ]
    connection.execute(insert(ChunkRow), rows)


def _insert_vectors(
    connection: Connection, ids: Sequence[int], vectors: NDArray[np.floating], fingerprint: str
) -> None:
    rows = [
        {"chunk_id": key, "fingerprint": fingerprint, "data": data}
        for key, data in zip(ids, encode(vectors), strict=True)
    ]
    connection.execute(insert(VectorRow), rows)


def _chunk_ids(connection: Connection, document_id: int) -> list[int]:
    mine = select(ChunkRow.id).where(ChunkRow.document_id == document_id)
    return list(connection.execute(mine.order_by(ChunkRow.position)).scalars())


def _let_go(connection: Connection, document: AnyRow) -> None:
    """Takes the chunks from a document: for its oldest duplicate where it has one, else for good.

    Only the original of its content has chunks, so that this does nothing to a duplicate.
    """
    if document.status != "indexed":
        return
    duplicates = (
        DocumentRow.collection_id == document.collection_id,
        DocumentRow.sha256 == document.sha256,
        DocumentRow.status == "duplicate",
    )
    heir = connection.execute(_known.where(*duplicates).order_by(DocumentRow.id)).first()
    if heir is None:
        _drop_chunks(connection, document)
        return
    text = select(DocumentRow.text).where(DocumentRow.id == document.id).scalar_subquery()
    connection.execute(
        update(DocumentRow)
        .where(DocumentRow.id == heir.id)
        .values(status="indexed", reason=None, text=text)
    )
    connection.execute(update(DocumentRow).where(*duplicates).values(reason=_same_as(heir.path)))
    ids = _chunk_ids(connection, document.id)
    mine = ChunkRow.document_id == document.id
    connection.execute(update(ChunkRow).where(mine).values(document_id=heir.id))
    _log(connection, document.collection_id, ids, "upsert")


def _drop_chunks(connection: Connection, document: AnyRow) -> None:
    ids = _chunk_ids(connection, document.id)
    connection.execute(delete(ChunkRow).where(ChunkRow.document_id == document.id))
    _log(connection, document.collection_id, ids, "delete")


def _log(
    connection: Connection, collection_id: int, ids: Sequence[int], op: Literal["upsert", "delete"]
) -> None:
    """Only the last change of a chunk matters, so that the log holds no other."""
    if not ids:
        return
    replaced = delete(ChangeRow).where(ChangeRow.chunk_id == bindparam("key"))
    connection.execute(replaced, [{"key": key} for key in ids])
    rows = [{"collection_id": collection_id, "chunk_id": key, "op": op} for key in ids]
    connection.execute(insert(ChangeRow), rows)
