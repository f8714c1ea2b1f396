"""What happens to a document between the file that is read and the row that is gone.

Each public function runs inside one writing transaction and logs every chunk that came, moved or
went, so that the log and the rows never disagree. Those that are given a collection expect that
the caller has taken its turn.

Of several files with the same content one, the original, has the chunks; the others are rows of
status "duplicate". When the original goes or changes, the oldest duplicate takes its chunks over.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, delete, insert, select, update

from index.chunk_rows import (
    chunk_ids,
    drop_chunks,
    insert_chunks,
    insert_vectors,
    log,
    take_turn,
)
from index.errors import UnknownDocument
from index.records import NewDocument, Rejected
from index.schema import AnyRow, ChunkRow, DocumentRow, TagRow
from index.titles import found_title, title_of_copy

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
    vectors: NDArray[np.floating] | None,
    fingerprint: str,
) -> int:
    """Stores a document in place of the one that had its path.

    Args:
        vectors: None where they are still to be made.

    Returns:
        Its id, which is that of the document it replaces. Where another path has the same
        content already, it becomes a duplicate of that one, and its chunks are not stored.
    """
    values = _described(document) | {"title": document.title, "media_type": document.media_type}
    original = _original(connection, collection_id, document.sha256, document.path)
    if original is not None:
        return _put_duplicate(connection, collection_id, values, original)
    old = _at(connection, collection_id, document.path)
    if old is not None and old.sha256 == document.sha256:
        drop_chunks(connection, old)  # its duplicates stay its duplicates
    elif old is not None:
        _let_go(connection, old)
    values |= {"status": "indexed", "reason": None}
    values |= {"text": document.text, "layout": document.layout}
    document_id = _put(connection, collection_id, values, old)
    title = found_title(document.path, document.title)
    insert_chunks(connection, document_id, title, document.chunks, fingerprint)
    ids = chunk_ids(connection, document_id)
    log(connection, collection_id, ids, "text", "upsert")
    if vectors is not None:
        insert_vectors(connection, collection_id, ids, vectors, fingerprint)
    return document_id


def store_duplicate(
    connection: Connection,
    collection_id: int,
    path: str,
    sha256: str,
    size: int,
    modified: str | None,
) -> int | None:
    """Stores a file by its content alone, or returns None where no other path has that content."""
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
        "modified": modified,
    }
    return _put_duplicate(connection, collection_id, values, original)


def store_rejected(connection: Connection, collection_id: int, rejected: Rejected) -> int:
    """Stores a reason, unless an earlier version of the file can be searched: that one stays."""
    old = _at(connection, collection_id, rejected.path)
    if old is not None and old.status in ("indexed", "duplicate"):
        return int(old.id)
    values = _described(rejected) | {"status": rejected.status, "reason": rejected.reason}
    return _put(connection, collection_id, values, old)


def remove(connection: Connection, document_id: int) -> None:
    found = _in_turn(connection, document_id)
    _let_go(connection, found)
    connection.execute(delete(DocumentRow).where(DocumentRow.id == document_id))


def rename(connection: Connection, document_id: int, path: str, modified: str | None) -> None:
    """Gives a document the path that its file has now. Its chunks stay: no name is in them.

    A row that only says why a file of the new path could not be read is replaced.
    """
    found = _in_turn(connection, document_id)
    other = _at(connection, found.collection_id, path)
    if other is not None and other.id != document_id:
        _let_go(connection, other)
        connection.execute(delete(DocumentRow).where(DocumentRow.id == other.id))
        found = _known_by_id(connection, document_id)  # it may have taken the other's chunks over
    title = title_of_copy(path, found.path, found.title)
    row = update(DocumentRow).where(DocumentRow.id == document_id)
    connection.execute(row.values(path=path, title=title, modified=modified))
    copies = (
        DocumentRow.collection_id == found.collection_id,
        DocumentRow.sha256 == found.sha256,
        DocumentRow.status == "duplicate",
    )
    if found.status == "indexed":
        connection.execute(update(DocumentRow).where(*copies).values(reason=same_as(path)))


def touch(connection: Connection, document_id: int, modified: str | None) -> None:
    """Notes that a file was written again with what it held before."""
    row = update(DocumentRow).where(DocumentRow.id == document_id)
    connection.execute(row.values(modified=modified))


def tag(
    connection: Connection, document_id: int, add: Sequence[str], remove: Sequence[str]
) -> None:
    _in_turn(connection, document_id)
    gone = (TagRow.document_id == document_id, TagRow.name.in_([*add, *remove]))
    connection.execute(delete(TagRow).where(*gone))
    rows = [{"document_id": document_id, "name": name} for name in dict.fromkeys(add)]
    if rows:
        connection.execute(insert(TagRow), rows)


def _in_turn(connection: Connection, document_id: int) -> AnyRow:
    """A document as it is once nobody else writes into its collection."""
    take_turn(connection, _known_by_id(connection, document_id).collection_id)
    return _known_by_id(connection, document_id)


def _known_by_id(connection: Connection, document_id: int) -> AnyRow:
    found = connection.execute(_known.where(DocumentRow.id == document_id)).first()
    if found is None:
        raise UnknownDocument(document_id)
    return found


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
        "modified": document.modified,
        "path": document.path,
        "title": document.title,
        "media_type": document.media_type,
        "sha256": document.sha256,
        "size": document.size,
        "warnings": list(document.warnings),
    }


def _put(connection: Connection, collection_id: int, values: _Values, old: AnyRow | None) -> int:
    added = datetime.now(UTC).isoformat(timespec="seconds")
    missing: _Values = {"text": None, "layout": None, "added": added}
    values = missing | values | {"collection_id": collection_id}
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
    values |= {"status": "duplicate", "reason": same_as(original.path)}
    return _put(connection, collection_id, values, old)


def same_as(path: str) -> str:
    """The reason of a duplicate."""
    return f"same content as {path}"


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
        drop_chunks(connection, document)
        return
    mine = DocumentRow.id == document.id
    text = select(DocumentRow.text).where(mine).scalar_subquery()
    layout = select(DocumentRow.layout).where(mine).scalar_subquery()
    connection.execute(
        update(DocumentRow)
        .where(DocumentRow.id == heir.id)
        .values(status="indexed", reason=None, text=text, layout=layout)
    )
    connection.execute(update(DocumentRow).where(*duplicates).values(reason=same_as(heir.path)))
    ids = chunk_ids(connection, document.id)
    moved = update(ChunkRow).where(ChunkRow.document_id == document.id)
    connection.execute(moved.values(document_id=heir.id))
    # The lexical index knows the document of a chunk, the dense one does not.
    log(connection, document.collection_id, ids, "text", "upsert")
