"""Brings a home back to what `verify` asks of it, as far as the rows still say what that is.

Nothing is guessed: rows that belong to nothing go, a vector that is damaged is made again like one
that was never there, and a document of which too little is left says so and waits for its file.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from sqlalchemy import Connection, delete, func, null, select, update

from index import checks, reads
from index.catalog import Catalog
from index.chunk_rows import log, log_gone, take_turn
from index.codec import is_encoded
from index.derived import DerivedIndexes
from index.schema import (
    AdapterRow,
    CalibrationRow,
    ChangeRow,
    ChunkRow,
    CollectionRow,
    DocumentRow,
    JudgementRow,
    QuestionRow,
    TagRow,
    VectorRow,
)
from index.verify import Verification, abandoned_files, verify

_LOST_CHUNKS = "its chunks were lost: add the file again"
_DAMAGED_TEXT = "its stored text was damaged: add the file again"
_LOST_ORIGINAL = "the document that it is a copy of was lost: add the file again"


def repair(catalog: Catalog, *, threads: int = 1) -> Verification:
    """Mends the rows in one transaction, then makes every index anew.

    Args:
        threads: For FAISS.

    Returns:
        What `verify` finds afterwards: nothing, unless the file of the database is damaged itself.
    """
    # Reading every text and vector takes long; others may write until it is known which to mend.
    with catalog.database.reading() as connection:
        documents = [found.document_id for found in checks.damaged_texts(connection)]
        chunks = [
            key
            for collection in reads.collections(connection)
            for key in checks.damaged_vectors(connection, collection)
        ]
    with catalog.database.writing() as connection:
        for collection in sorted(reads.collections(connection), key=lambda each: each.id):
            take_turn(connection, collection.id)
        _remove_orphans(connection)
        _remove_damaged_vectors(connection, chunks)
        _give_up_documents(connection, documents)
        _take_off_adapters(connection)
        _mend_log(connection)
    catalog.engine.discard(catalog.engine.unused(catalog.database))
    for path in abandoned_files(catalog.home):
        with suppress(OSError):
            path.unlink()
    for collection in catalog.collections():
        DerivedIndexes(catalog.engine, catalog.database, collection, threads).rebuild()
    return verify(catalog, threads=threads)


def _remove_orphans(connection: Connection) -> None:
    """From the top, since what hangs on a row becomes an orphan where nothing takes it along."""
    connection.execute(delete(DocumentRow).where(checks.ORPHAN_DOCUMENTS))
    connection.execute(delete(ChunkRow).where(checks.ORPHAN_CHUNKS))
    connection.execute(delete(VectorRow).where(checks.ORPHAN_VECTORS))
    connection.execute(delete(TagRow).where(checks.ORPHAN_TAGS))
    connection.execute(delete(ChangeRow).where(checks.ORPHAN_CHANGES))
    connection.execute(delete(QuestionRow).where(checks.ORPHAN_QUESTIONS))
    connection.execute(delete(JudgementRow).where(checks.ORPHAN_JUDGEMENTS))
    connection.execute(delete(AdapterRow).where(checks.ORPHAN_ADAPTERS))
    connection.execute(delete(CalibrationRow).where(checks.ORPHAN_CALIBRATIONS))
    if connection.dialect.name == "sqlite":
        no_integer = func.typeof(ChangeRow.chunk_id) != "integer"
        connection.execute(delete(ChangeRow).where(no_integer))


def _remove_damaged_vectors(connection: Connection, chunks: Sequence[int]) -> None:
    query = (
        select(
            VectorRow.chunk_id,
            VectorRow.data,
            VectorRow.fingerprint,
            CollectionRow.id.label("collection_id"),
            CollectionRow.dimensions,
        )
        .join(ChunkRow, ChunkRow.id == VectorRow.chunk_id)
        .join(DocumentRow, DocumentRow.id == ChunkRow.document_id)
        .join(CollectionRow, CollectionRow.id == DocumentRow.collection_id)
        .where(VectorRow.fingerprint == CollectionRow.model_fingerprint)
    )
    for row in list(reads.by_id(connection, query, VectorRow.chunk_id, chunks)):
        if not is_encoded(row.data, row.dimensions):
            mine = (VectorRow.chunk_id == row.chunk_id, VectorRow.fingerprint == row.fingerprint)
            connection.execute(delete(VectorRow).where(*mine))
            log(connection, row.collection_id, [row.chunk_id], "vector", "delete")


def _give_up_documents(connection: Connection, damaged: Sequence[int]) -> None:
    still = [key for key in damaged if checks.damaged_text(connection, key)]
    for key in still:
        _fail(connection, (DocumentRow.id == key,), _DAMAGED_TEXT)
    _fail(connection, checks.WITHOUT_CHUNKS, _LOST_CHUNKS)
    _fail(connection, checks.WITHOUT_ORIGINAL, _LOST_ORIGINAL)
    for collection in reads.collections(connection):
        _drop_chunks_of_unsearchable(connection, collection.id)


def _fail(connection: Connection, which: Sequence[Any], reason: str) -> None:
    lost = {"status": "failed", "reason": reason, "text": null(), "layout": null()}
    connection.execute(update(DocumentRow).where(*which).values(lost))


def _drop_chunks_of_unsearchable(connection: Connection, collection_id: int) -> None:
    documents = select(DocumentRow.id).where(
        DocumentRow.collection_id == collection_id, checks.NOT_TO_HAVE_CHUNKS
    )
    mine = ChunkRow.document_id.in_(documents)
    ids = list(connection.execute(select(ChunkRow.id).where(mine)).scalars())
    connection.execute(delete(ChunkRow).where(mine))
    log_gone(connection, collection_id, ids)


def _take_off_adapters(connection: Connection) -> None:
    """The model answers as it came, as it does already while its adapter does not fit."""
    useless = update(CollectionRow).where(*checks.USELESS_ADAPTER)
    connection.execute(useless.values(adapter_id=None))


def _mend_log(connection: Connection) -> None:
    """Writes anew what the log has wrong, so that whoever has read that far reads it again."""
    for collection in reads.collections(connection):
        mine = ChangeRow.collection_id == collection.id
        for side in checks.SIDES:
            gone = select(ChangeRow.chunk_id).where(mine, *checks.DANGLING[side])
            log(connection, collection.id, _all(connection, gone), side, "delete")
            here = (
                select(ChunkRow.id)
                .join(DocumentRow, DocumentRow.id == ChunkRow.document_id)
                .where(DocumentRow.collection_id == collection.id, *checks.NOT_LOGGED[side])
                .order_by(ChunkRow.id)
            )
            log(connection, collection.id, _all(connection, here), side, "upsert")


def _all(connection: Connection, query: Any) -> list[int]:
    return list(connection.execute(query).scalars())
