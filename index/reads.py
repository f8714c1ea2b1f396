"""Queries whose answers are records. No row leaves this file."""

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from sqlalchemy import ColumnElement, Connection, bindparam, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute

from index.errors import AmbiguousDocument, UnknownCollection, UnknownDocument
from index.records import Counts, Ids, Model, Status, StoredChunk, StoredCollection, StoredDocument
from index.schema import (
    AnyRow,
    AnySelect,
    ChunkRow,
    CollectionRow,
    DocumentRow,
    TagRow,
    VectorRow,
)
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
    CollectionRow.adapter_id,
    CollectionRow.rerank_weight,
)
_named = _collections.where(CollectionRow.name == bindparam("name"))  # made once: often asked
# What is searched of a document: its chunks for the model that the collection has now.
_active = (
    select(CollectionRow.model_fingerprint)
    .where(CollectionRow.id == DocumentRow.collection_id)
    .correlate(DocumentRow)  # also from within another subquery
    .scalar_subquery()
)
_cut = (ChunkRow.document_id == DocumentRow.id, ChunkRow.fingerprint == _active)
_n_chunks = select(func.count(ChunkRow.id)).where(*_cut).scalar_subquery().label("n_chunks")
_n_vectors = (
    select(func.count(VectorRow.chunk_id))
    .join(ChunkRow, ChunkRow.id == VectorRow.chunk_id)
    .where(*_cut, VectorRow.fingerprint == _active)
    .scalar_subquery()
    .label("n_vectors")
)
_tags = (
    select(func.aggregate_strings(TagRow.name, "\n"))
    .where(TagRow.document_id == DocumentRow.id)
    .scalar_subquery()
    .label("tags")
)
_owner = select(
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
    DocumentRow.modified,
    _n_chunks,
    _tags,
)
_document = _owner.add_columns(_n_vectors)  # which takes a look at every chunk
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
    found = [_collection(row) for row in connection.execute(_collections)]
    return sorted(found, key=lambda collection: collection.name)


def collection(connection: Connection, name: str) -> StoredCollection:
    row = connection.execute(_named, {"name": name}).first()
    if row is None:
        raise UnknownCollection(name, [known.name for known in collections(connection)])
    return _collection(row)


def documents(connection: Connection, collection_id: int) -> list[StoredDocument]:
    query = _document.where(DocumentRow.collection_id == collection_id)
    found = [_stored(row, row.n_vectors) for row in connection.execute(query)]
    # By code point, as SQLite has it: a server orders by its own language.
    return sorted(found, key=lambda document: document.path)


def document(connection: Connection, document_id: int) -> StoredDocument:
    row = connection.execute(_document.where(DocumentRow.id == document_id)).first()
    if row is None:
        raise UnknownDocument(document_id)
    return _stored(row, row.n_vectors)


def at(connection: Connection, collection_id: int, path: str) -> StoredDocument | None:
    here = (DocumentRow.collection_id == collection_id, DocumentRow.path == path)
    row = connection.execute(_document.where(*here)).first()
    return None if row is None else _stored(row, row.n_vectors)


def with_content(connection: Connection, collection_id: int, sha256: str) -> list[StoredDocument]:
    same = (DocumentRow.collection_id == collection_id, DocumentRow.sha256 == sha256)
    query = _document.where(*same).order_by(DocumentRow.id)
    return [_stored(row, row.n_vectors) for row in connection.execute(query)]


def paths_under(connection: Connection, collection_id: int, folder: str) -> list[tuple[int, str]]:
    """Ids and paths of the documents below a folder, in the order of their paths."""
    ends = [_begins(f"{folder}{sep}") for sep in "/\\"]
    query = select(DocumentRow.id, DocumentRow.path).where(
        DocumentRow.collection_id == collection_id, or_(*ends)
    )
    found = [(row.id, row.path) for row in connection.execute(query)]
    return sorted(found, key=lambda pair: pair[1])


def reads_from(connection: Connection, path: str) -> bool:
    """Whether a document that can be searched has this path, or one below it."""
    places = or_(DocumentRow.path == path, _begins(f"{path}/"))
    query = select(DocumentRow.id).where(places, DocumentRow.status.in_(("indexed", "duplicate")))
    return connection.execute(query.limit(1)).first() is not None


def model_of(connection: Connection, document_id: int) -> Model:
    """The model of the collection that a document is in."""
    query = _collections.join(DocumentRow, DocumentRow.collection_id == CollectionRow.id)
    row = connection.execute(query.where(DocumentRow.id == document_id)).first()
    if row is None:
        raise UnknownDocument(document_id)
    return _collection(row).model


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
        row.id: _stored(row, row.n_chunks)
        for row in by_id(connection, _owner, DocumentRow.id, sorted(owners))
    }
    live = (rows[key] for key in ids if key in rows)
    # A chunk may have lost its document to a tool that does not keep foreign keys.
    return [
        _stored_chunk(row, stored[row.document_id]) for row in live if row.document_id in stored
    ]


def chunks_of(connection: Connection, document_id: int) -> list[StoredChunk]:
    """In reading order."""
    owner = document(connection, document_id)
    query = (
        _chunk.join(DocumentRow, DocumentRow.id == ChunkRow.document_id)
        .where(*_cut, DocumentRow.id == document_id)
        .order_by(ChunkRow.position)
    )
    return [_stored_chunk(row, owner) for row in connection.execute(query)]


def original(connection: Connection, document_id: int) -> int:
    """The document that has the chunks of this one: itself, unless it is a duplicate."""
    query = select(DocumentRow.collection_id, DocumentRow.sha256, DocumentRow.status)
    row = connection.execute(query.where(DocumentRow.id == document_id)).first()
    if row is None:
        raise UnknownDocument(document_id)
    if row.status != "duplicate":
        return document_id
    same = (
        DocumentRow.collection_id == row.collection_id,
        DocumentRow.sha256 == row.sha256,
        DocumentRow.status == "indexed",
    )
    return connection.execute(select(DocumentRow.id).where(*same)).scalar() or document_id


def text(connection: Connection, document_id: int) -> str:
    """The stored text; a duplicate has its original's, a rejected file has none ("")."""
    key = original(connection, document_id)
    query = select(DocumentRow.text).where(DocumentRow.id == key)
    return connection.execute(query).scalar() or ""


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
    active = collection.model.fingerprint
    chunk_rows = (
        select(func.count(), func.count().filter(ChunkRow.fingerprint == active))
        .select_from(ChunkRow)
        .join(DocumentRow, DocumentRow.id == ChunkRow.document_id)
        .where(mine)
    )
    vector_rows = (
        select(func.count())
        .select_from(VectorRow)
        .join(ChunkRow, ChunkRow.id == VectorRow.chunk_id)
        .join(DocumentRow, DocumentRow.id == ChunkRow.document_id)
        .where(mine, VectorRow.fingerprint == active)
    )
    all_chunks, chunks = connection.execute(chunk_rows).one()
    return Counts(
        documents=by_status,
        chunks=chunks,
        vectors=connection.execute(vector_rows).scalar_one(),
        size=size,
        former=all_chunks - chunks,
    )


def versions(connection: Connection, collection: StoredCollection) -> list[StoredCollection]:
    """A collection as it is, was or will be, for each model that has chunks in it.

    Of another model than its own only the fingerprint is known.
    """
    query = (
        select(ChunkRow.fingerprint)
        .distinct()
        .join(DocumentRow, DocumentRow.id == ChunkRow.document_id)
        .where(DocumentRow.collection_id == collection.id)
    )
    fingerprints = {collection.model.fingerprint, *connection.execute(query).scalars()}
    models = [collection.model._replace(fingerprint=each) for each in sorted(fingerprints)]
    return [replace(collection, model=model) for model in models]


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


def _begins(prefix: str) -> ColumnElement[bool]:
    """Not LIKE, which on SQLite takes capitals for small letters."""
    return func.substr(DocumentRow.path, 1, len(prefix)) == prefix


def _collection(row: AnyRow) -> StoredCollection:
    model = Model(row.model_name, row.model_fingerprint, row.dimensions)
    return StoredCollection(
        id=row.id,
        name=row.name,
        model=model,
        fusion_weight=row.fusion_weight,
        uid=row.uid,
        adapter_id=row.adapter_id,
        rerank_weight=row.rerank_weight,
    )


def _stored(row: AnyRow, n_vectors: int) -> StoredDocument:
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
        pending=row.n_chunks - n_vectors,
        modified=row.modified,
        tags=tuple(sorted(row.tags.split("\n"))) if row.tags else (),
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
