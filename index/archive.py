"""Collections as one file, to be kept, handed on, or taken from one kind of database to another."""

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from sqlalchemy import Connection, func, select

from index import adapters, calibrations, evaluations, reads
from index.archive_format import (
    ADAPTER,
    CONVERSATIONS,
    FILES,
    FORMAT,
    MANIFEST,
    PARTS,
    QUESTIONS,
    UPLOADS,
    VERSION,
    ArchivedChunk,
    ArchivedCollection,
    ArchivedDocument,
    member,
)
from index.archive_learned import ArchivedAdapter, questions
from index.archive_talks import (
    conversations,
    places,
    written_calibration,
    written_evaluation,
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
    *,
    history: bool = False,
) -> None:
    """Writes collections as they are at one moment, while others go on writing into them.

    Everything that is kept of their documents is in it, but for what can be made from that, and
    the adapter that is in use. The file comes to its name when it is whole.

    Args:
        file: The archive; one of that name is replaced.
        collections: Their names; all where it is None.
        files: What else is to come along, from `<home>/uploads`.
        history: The questions that were asked and the conversations come along too, with what
            was thought of passages and answers, and the adapter's report, which quotes some: they
            are private.

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
                _write_collections(archive, catalog, collections, history=history)
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


def _write_collections(
    archive: ZipFile, catalog: Catalog, names: Sequence[str] | None, *, history: bool
) -> None:
    with catalog.database.reading() as connection:
        if names is None:
            found = reads.collections(connection)
        else:
            found = [reads.collection(connection, name) for name in dict.fromkeys(names)]
        written = [
            _write_collection(
                archive, connection, catalog.home, number, collection, history=history
            ).written()
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
    *,
    history: bool,
) -> ArchivedCollection:
    names = [member(number, part) for part in PARTS]
    with _created(archive, names[0]) as out:
        found = _documents(connection, home, collection)
        documents = _write_lines(out, (each.written() for each in found))
    with _created(archive, names[1]) as out:
        chunks = _write_lines(out, (each.written() for each in _chunks(connection, collection)))
    with _created(archive, names[2], ZIP_STORED) as out:
        vectors = 0
        for data in _vectors(connection, collection):
            out.write(data)
            vectors += 1
    asked = talks = None
    if history:
        with _created(archive, member(number, QUESTIONS)) as out:
            asked = _write_lines(out, questions(connection, collection))
        known = [places(ids) for ids in _ids(connection, collection)]
        with _created(archive, member(number, CONVERSATIONS)) as out:
            talks = _write_lines(out, conversations(connection, collection, *known))
    return ArchivedCollection(
        name=collection.name,
        model=collection.model,
        fusion_weight=collection.fusion_weight,
        documents=documents,
        chunks=chunks,
        vectors=vectors,
        rerank_weight=collection.rerank_weight,
        adapter=_write_adapter(archive, connection, number, collection, history=history),
        questions=asked,
        conversations=talks,
        calibrations=list(map(written_calibration, calibrations.listed(connection, collection))),
        evaluations=list(map(written_evaluation, evaluations.listed(connection, collection))),
    )


def _ids(connection: Connection, collection: StoredCollection) -> tuple[list[int], list[int]]:
    """Those of the documents and of the chunks, in the order in which they are written."""
    order = _order(collection)
    query = select(order.c.document_id).order_by(
        order.c.first.is_(None), order.c.first, order.c.document_id
    )
    chunks = connection.scalars(_in_order(collection, ChunkRow.id))
    return list(connection.scalars(query)), list(chunks)


def _write_adapter(
    archive: ZipFile,
    connection: Connection,
    number: int,
    collection: StoredCollection,
    *,
    history: bool,
) -> ArchivedAdapter | None:
    """Only the one in use: those before it served to go back, here."""
    adapter = adapters.active(connection, collection)
    if adapter is None:
        return None
    with _created(archive, member(number, ADAPTER), ZIP_STORED) as out:
        out.write(adapter.data)
    return ArchivedAdapter.of(adapter, history=history)


def _created(archive: ZipFile, name: str, compression: int = ZIP_DEFLATED) -> IO[bytes]:
    info = ZipInfo(name)
    info.compress_type = compression
    return archive.open(info, "w", force_zip64=True)


def _write_lines(out: IO[bytes], records: Iterator[dict[str, Any]]) -> int:
    lines = 0
    for record in records:
        out.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
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
