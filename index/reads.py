"""Queries whose answers are records. No row leaves this file."""

from collections.abc import Iterator
from typing import cast

from sqlalchemy import Connection, func, select
from sqlalchemy.orm import InstrumentedAttribute

from index.errors import AmbiguousDocument, UnknownCollection, UnknownDocument
from index.records import Counts, Ids, Model, Status, StoredChunk, StoredCollection, StoredDocument
from index.schema import AnyRow, AnySelect, ChunkRow, CollectionRow, DocumentRow, VectorRow
from index.titles import nfc

_BOUND = 500  # ids in one query: far below every database's limit of bound values

_collections = select(
    CollectionRow.id,
    CollectionRow.name,
    CollectionRow.uid,
    CollectionRow.model_name,
    CollectionRow.model_fingerprint,
    CollectionRow.dimensions,
    CollectionRow.fusion_weight,
).order_by(CollectionRow.name)
_n_chunks = (
    select(func.count(ChunkRow.id))
    .where(ChunkRow.document_id == DocumentRow.id)
    .scalar_subquery()
    .label("n_chunks")
)
_document = select(
    DocumentRow.id,
    DocumentRow.path,
    DocumentRow.title,
    DocumentRow.media_type,
    DocumentRow.sha256,
    DocumentRow.size,
    DocumentRow.status,
    DocumentRow.reason,
    DocumentRow.warnings,
    DocumentRow.added,
    _n_chunks,
)
_chunk = select(
    ChunkRow.id,
    ChunkRow.document_id,
    ChunkRow.text,
    ChunkRow.start,
    ChunkRow.end,
    ChunkRow.page,
    ChunkRow.heading,
    ChunkRow.tokens,
)


def collections(connection: Connection) -> list[StoredCollection]:
    return [_collection(row) for row in connection.execute(_collections)]


def collection(connection: Connection, name: str) -> StoredCollection:
    row = connection.execute(_collections.where(CollectionRow.name == name)).first()
    if row is None:
        raise UnknownCollection(name, [known.name for known in collections(connection)])
    return _collection(row)


def documents(connection: Connection, collection_id: int) -> list[StoredDocument]:
    query = _document.where(DocumentRow.collection_id == collection_id).order_by(DocumentRow.path)
    return [_stored(row) for row in connection.execute(query)]


def document(connection: Connection, document_id: int) -> StoredDocument:
    row = connection.execute(_document.where(DocumentRow.id == document_id)).first()
    if row is None:
        raise UnknownDocument(document_id)
    return _stored(row)


def at(connection: Connection, collection_id: int, path: str) -> StoredDocument | None:
    here = (DocumentRow.collection_id == collection_id, DocumentRow.path == path)
    row = connection.execute(_document.where(*here)).first()
    return None if row is None else _stored(row)


def find(connection: Connection, collection_id: int, name: str) -> StoredDocument:
    """By path, else by id, else by the end of a path, however its accents are composed."""
    query = select(DocumentRow.id, DocumentRow.path).where(
        DocumentRow.collection_id == collection_id
    )
    paths = {row.id: nfc(row.path) for row in connection.execute(query)}
    wanted = nfc(name)
    found = [key for key, path in paths.items() if path == wanted]
    if not found and wanted.isdecimal() and int(wanted) in paths:
        found = [int(wanted)]
    if not found:
        ends = (f"/{wanted}", f"\\{wanted}")
        found = [key for key, path in paths.items() if path.endswith(ends)]
    if not found:
        raise UnknownDocument(name)
    if len(found) > 1:
        raise AmbiguousDocument(name, sorted(paths[key] for key in found))
    return document(connection, found[0])


def chunks(connection: Connection, ids: Ids) -> list[StoredChunk]:
    """In the order of `ids`, without those that no longer live."""
    rows = {row.id: row for row in by_id(connection, _chunk, ChunkRow.id, ids)}
    owners = {row.document_id for row in rows.values()}
    stored = {
        row.id: _stored(row) for row in by_id(connection, _document, DocumentRow.id, sorted(owners))
    }
    return [_stored_chunk(rows[key], stored[rows[key].document_id]) for key in ids if key in rows]


def chunks_of(connection: Connection, document_id: int) -> list[StoredChunk]:
    """In reading order."""
    owner = document(connection, document_id)
    query = _chunk.where(ChunkRow.document_id == document_id).order_by(ChunkRow.position)
    return [_stored_chunk(row, owner) for row in connection.execute(query)]


def text(connection: Connection, document_id: int) -> str:
    """The stored text; a duplicate has its original's, a rejected file has none ("")."""
    query = select(
        DocumentRow.collection_id, DocumentRow.sha256, DocumentRow.status, DocumentRow.text
    )
    row = connection.execute(query.where(DocumentRow.id == document_id)).first()
    if row is None:
        raise UnknownDocument(document_id)
    if row.status == "duplicate":
        same = (
            DocumentRow.collection_id == row.collection_id,
            DocumentRow.sha256 == row.sha256,
            DocumentRow.status == "indexed",
        )
        return connection.execute(select(DocumentRow.text).where(*same)).scalar() or ""
    return row.text or ""


def counts(connection: Connection, collection: StoredCollection) -> Counts:
    mine = DocumentRow.collection_id == collection.id
    by_status: dict[Status, int] = dict.fromkeys(
        ("indexed", "duplicate", "empty", "unsupported", "failed"), 0
    )
    size = 0
    grouped = select(DocumentRow.status, func.count(), func.sum(DocumentRow.size)).where(mine)
    for status, n, bytes_ in connection.execute(grouped.group_by(DocumentRow.status)):
        by_status[cast("Status", status)] = n
        size += int(bytes_)
    chunk_rows = select(func.count()).select_from(ChunkRow).join(DocumentRow).where(mine)
    vector_rows = (
        select(func.count())
        .select_from(VectorRow)
        .join(ChunkRow)
        .join(DocumentRow)
        .where(mine, VectorRow.fingerprint == collection.model.fingerprint)
    )
    return Counts(
        documents=by_status,
        chunks=connection.execute(chunk_rows).scalar_one(),
        vectors=connection.execute(vector_rows).scalar_one(),
        size=size,
    )


def by_id(
    connection: Connection,
    query: AnySelect,
    column: InstrumentedAttribute[int],
    ids: Ids,
) -> Iterator[AnyRow]:
    """The rows of `query` whose `column` is among `ids`, in no order.

    Ids may be numpy integers: SQLite would store and compare those as bytes.
    """
    plain = [int(key) for key in ids]
    for first in range(0, len(plain), _BOUND):
        yield from connection.execute(query.where(column.in_(plain[first : first + _BOUND])))


def _collection(row: AnyRow) -> StoredCollection:
    model = Model(row.model_name, row.model_fingerprint, row.dimensions)
    return StoredCollection(row.id, row.name, model, row.fusion_weight, row.uid)


def _stored(row: AnyRow) -> StoredDocument:
    return StoredDocument(
        id=row.id,
        path=row.path,
        title=row.title,
        media_type=row.media_type,
        sha256=row.sha256,
        size=row.size,
        status=row.status,
        reason=row.reason,
        warnings=tuple(row.warnings),
        chunks=row.n_chunks,
        added=row.added,
    )


def _stored_chunk(row: AnyRow, owner: StoredDocument) -> StoredChunk:
    return StoredChunk(
        id=row.id,
        document=owner,
        text=row.text,
        start=row.start,
        end=row.end,
        page=row.page,
        heading=tuple(row.heading),
        tokens=row.tokens,
    )
