"""Collections as one file, to be kept, handed on, or taken from one kind of database to another."""

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from sqlalchemy import Connection, func, select

from index import reads
from index.archive_format import (
    FILES,
    FORMAT,
    MANIFEST,
    PARTS,
    UPLOADS,
    VERSION,
    ArchivedChunk,
    ArchivedCollection,
    ArchivedDocument,
    member,
)
from index.catalog import Catalog
from index.errors import StorageError
from index.records import StoredCollection
from index.schema import AnyRow, AnySelect, ChunkRow, DocumentRow, TagRow, VectorRow
from index.titles import nfc
from index.unpacking import import_archive

__all__ = ["export", "import_archive"]

_TEXTS = 16  # held at a time
_ROWS = 1000  # of chunks and vectors, likewise


def export(
    catalog: Catalog,
    file: Path,
    collections: Sequence[str] | None = None,
    files: Iterable[Path] = (),
) -> None:
    """Writes collections as they are at one moment, while others go on writing into them.

    Everything that is kept of them is in it, but for what can be made from that. The file comes
    to its name when it is whole.

    Args:
        file: The archive; one of that name is replaced.
        collections: Their names; all where it is None.
        files: What else is to come along, from `<home>/uploads`.

    Raises:
        UnknownCollection: One of the names is none.
        ValueError: A file lies elsewhere.
        StorageError: A document lacks its chunks, so that it could not be read in again.
    """
    along = {_uploaded(catalog.home, path): path for path in files}
    aside = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    try:
        with aside.open("wb") as out:
            with ZipFile(out, "w", ZIP_DEFLATED, strict_timestamps=False) as archive:
                _write_collections(archive, catalog, collections)
                for name, path in along.items():
                    archive.write(path, f"{FILES}{name}")
            out.flush()
            os.fsync(out.fileno())
        aside.replace(file)
    finally:
        aside.unlink(missing_ok=True)


def _uploaded(home: Path, path: Path) -> str:
    inside = _in_home(home, str(path.absolute()))
    uploads = (home / UPLOADS).resolve()
    if inside is None or not path.resolve().is_relative_to(uploads):
        raise ValueError(f"{path} does not lie in {home / UPLOADS}: only what does can come along")
    return inside


def _in_home(home: Path, path: str) -> str | None:
    """The path relative to the home, if it lies in it."""
    for root in (home.absolute(), home.resolve()):
        wanted, start = PurePath(nfc(path)), PurePath(nfc(str(root)))
        if wanted.is_relative_to(start) and wanted != start:
            return wanted.relative_to(start).as_posix()
    return None


def _write_collections(archive: ZipFile, catalog: Catalog, names: Sequence[str] | None) -> None:
    with catalog.database.reading() as connection:
        if names is None:
            found = reads.collections(connection)
        else:
            found = [reads.collection(connection, name) for name in dict.fromkeys(names)]
        written = [
            _write_collection(archive, connection, catalog.home, number, collection).written()
            for number, collection in enumerate(found)
        ]
    manifest = {"format": FORMAT, "version": VERSION, "collections": written}
    archive.writestr(MANIFEST, json.dumps(manifest, ensure_ascii=False, indent=1))


def _write_collection(
    archive: ZipFile,
    connection: Connection,
    home: Path,
    number: int,
    collection: StoredCollection,
) -> ArchivedCollection:
    names = [member(number, part) for part in PARTS]
    with _created(archive, names[0]) as out:
        documents = _write_lines(out, _documents(connection, home, collection))
    with _created(archive, names[1]) as out:
        chunks = _write_lines(out, _chunks(connection, collection))
    with _created(archive, names[2], ZIP_STORED) as out:
        vectors = 0
        for data in _vectors(connection, collection):
            out.write(data)
            vectors += 1
    return ArchivedCollection(
        collection.name, collection.model, collection.fusion_weight, documents, chunks, vectors
    )


def _created(archive: ZipFile, name: str, compression: int = ZIP_DEFLATED) -> IO[bytes]:
    info = ZipInfo(name)
    info.compress_type = compression
    return archive.open(info, "w", force_zip64=True)


def _write_lines(out: IO[bytes], records: Iterator[ArchivedDocument | ArchivedChunk]) -> int:
    lines = 0
    for record in records:
        out.write(json.dumps(record.written(), ensure_ascii=False).encode() + b"\n")
        lines += 1
    return lines


def _order(collection: StoredCollection) -> Any:
    """The documents by their first chunk: read in again, chunks have their order to each other."""
    return (
        select(
            DocumentRow.id.label("document_id"),
            func.min(ChunkRow.id).label("first"),
            func.count(ChunkRow.id).label("n_chunks"),
        )
        .outerjoin(
            ChunkRow,
            (ChunkRow.document_id == DocumentRow.id)
            & (ChunkRow.fingerprint == collection.model.fingerprint)
            & (DocumentRow.status == "indexed"),
        )
        .where(DocumentRow.collection_id == collection.id)
        .group_by(DocumentRow.id)
        .subquery()
    )


def _documents(
    connection: Connection, home: Path, collection: StoredCollection
) -> Iterator[ArchivedDocument]:
    tags = _tags(connection, collection)
    order = _order(collection)
    query = (
        select(DocumentRow.__table__, order.c.n_chunks)
        .join(order, order.c.document_id == DocumentRow.id)
        .order_by(order.c.first.is_(None), order.c.first, DocumentRow.id)
    )
    for row in _streamed(connection, query, _TEXTS):
        if row.status == "indexed" and not row.n_chunks:
            raise StorageError(f"{row.path} has lost its chunks: run `attest rebuild`")
        yield _document(row, home, tags.get(row.id, ()))


def _tags(connection: Connection, collection: StoredCollection) -> dict[int, list[str]]:
    query = (
        select(TagRow.document_id, TagRow.name)
        .join(DocumentRow, DocumentRow.id == TagRow.document_id)
        .where(DocumentRow.collection_id == collection.id)
    )
    tags = defaultdict[int, list[str]](list)
    for row in connection.execute(query):
        tags[row.document_id].append(row.name)
    return tags


def _document(row: AnyRow, home: Path, tags: Sequence[str]) -> ArchivedDocument:
    inside = _in_home(home, row.path)
    return ArchivedDocument(
        path=row.path if inside is None else inside,
        in_home=inside is not None,
        title=row.title,
        media_type=row.media_type,
        sha256=row.sha256,
        size=row.size,
        status=row.status,
        reason=row.reason,
        warnings=tuple(row.warnings),
        added=row.added,
        modified=row.modified,
        tags=tuple(sorted(tags)),
        chunks=row.n_chunks,
        text=row.text,
        layout=row.layout,
    )


def _chunks(connection: Connection, collection: StoredCollection) -> Iterator[ArchivedChunk]:
    columns = (
        ChunkRow.start,
        ChunkRow.end,
        ChunkRow.page,
        ChunkRow.heading,
        ChunkRow.tokens,
        VectorRow.chunk_id.label("has_vector"),
    )
    for row in _streamed(connection, _in_order(collection, *columns), _ROWS):
        has_vector = row.has_vector is not None
        yield ArchivedChunk(
            row.start, row.end, row.page, tuple(row.heading), row.tokens, has_vector
        )


def _vectors(connection: Connection, collection: StoredCollection) -> Iterator[bytes]:
    query = _in_order(collection, VectorRow.data).where(VectorRow.chunk_id.is_not(None))
    for row in _streamed(connection, query, _ROWS):
        yield row.data


def _in_order(collection: StoredCollection, *columns: Any) -> AnySelect:
    active = collection.model.fingerprint
    order = _order(collection)
    return (
        select(*columns)
        .select_from(ChunkRow)
        .join(order, order.c.document_id == ChunkRow.document_id)
        .outerjoin(
            VectorRow, (VectorRow.chunk_id == ChunkRow.id) & (VectorRow.fingerprint == active)
        )
        .where(ChunkRow.fingerprint == active, order.c.n_chunks > 0)
        .order_by(order.c.first, ChunkRow.position)
    )


def _streamed(connection: Connection, query: AnySelect, rows: int) -> Iterator[AnyRow]:
    with connection.execute(query, execution_options={"yield_per": rows}) as found:
        yield from found
