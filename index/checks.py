"""What must hold of the rows, as queries for those of which it does not.

Each check names the rows that break one rule, with the collection they are in. None of them should
be there: the rows are written whole, by code that keeps to the rules. They come from a program that
did not (SQLite checks foreign keys only for who asks for it) or from a damaged disk.
"""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from sqlalchemy import ColumnElement, Connection, Label, exists, func, literal, null, select
from sqlalchemy.orm import InstrumentedAttribute

from index.codec import is_encoded
from index.records import Side, StoredCollection
from index.schema import (
    AdapterRow,
    AnySelect,
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

Kind = Literal[
    "database",
    "orphans",
    "ids",
    "log",
    "documents",
    "text",
    "vectors",
    "adapters",
    "dense",
    "lexical",
    "files",
]
_BLOCK = 4096  # rows held at a time


class Check(NamedTuple):
    """Rows that should not be there.

    Attributes:
        rows: (collection id or NULL, what names the row), one a row.
    """

    kind: Kind
    fault: str
    rows: AnySelect


class DamagedText(NamedTuple):
    """A document with chunks that are no slices of its text."""

    collection_id: int
    document_id: int
    path: str
    chunks: int


def _in(collection: InstrumentedAttribute[int]) -> Label[int]:
    return collection.label("collection_id")


def _named(name: InstrumentedAttribute[int] | InstrumentedAttribute[str]) -> Label[Any]:
    return name.label("named")


_nowhere = null().label("collection_id")
_in_document = ChunkRow.document_id == DocumentRow.id
_has_document = exists().where(_in_document)
_has_collection = exists().where(CollectionRow.id == DocumentRow.collection_id)
_has_chunk = exists().where(ChunkRow.id == VectorRow.chunk_id)
_tags_document = exists().where(DocumentRow.id == TagRow.document_id)
_logs_collection = exists().where(CollectionRow.id == ChangeRow.collection_id)
_asks_collection = exists().where(CollectionRow.id == QuestionRow.collection_id)
_judges_question = exists().where(QuestionRow.id == JudgementRow.question_id)
_adapts_collection = exists().where(CollectionRow.id == AdapterRow.collection_id)
_calibrates_collection = exists().where(CollectionRow.id == CalibrationRow.collection_id)
_fits_adapter = exists().where(
    AdapterRow.id == CollectionRow.adapter_id,
    AdapterRow.collection_id == CollectionRow.id,
    AdapterRow.base == CollectionRow.model_fingerprint,
)
_logged_chunk_lives = exists().where(ChunkRow.id == ChangeRow.chunk_id)
_logged_vector_lives = exists().where(
    ChunkRow.id == ChangeRow.chunk_id,
    VectorRow.chunk_id == ChunkRow.id,
    VectorRow.fingerprint == ChunkRow.fingerprint,
)
_logged = exists().where(
    ChangeRow.chunk_id == ChunkRow.id,
    ChangeRow.collection_id == DocumentRow.collection_id,
    ChangeRow.op == "upsert",
)
_has_vector = exists().where(
    VectorRow.chunk_id == ChunkRow.id, VectorRow.fingerprint == ChunkRow.fingerprint
)
_active = (
    select(CollectionRow.model_fingerprint)
    .where(CollectionRow.id == DocumentRow.collection_id)
    .correlate(DocumentRow)
    .scalar_subquery()
)
_has_chunks = exists().where(_in_document, ChunkRow.fingerprint == _active)
_Other = DocumentRow.__table__.alias("other")
_has_original = exists().where(
    _Other.c.collection_id == DocumentRow.collection_id,
    _Other.c.sha256 == DocumentRow.sha256,
    _Other.c.status == "indexed",
)
_owned = select(_in(DocumentRow.collection_id), _named(ChunkRow.id)).join(DocumentRow, _in_document)
_changes = select(_in(ChangeRow.collection_id), _named(ChangeRow.chunk_id))
_documents = select(_in(DocumentRow.collection_id), _named(DocumentRow.path))

ORPHAN_DOCUMENTS = ~_has_collection
ORPHAN_CHUNKS = ~_has_document
ORPHAN_VECTORS = ~_has_chunk
ORPHAN_TAGS = ~_tags_document
ORPHAN_CHANGES = ~_logs_collection
ORPHAN_QUESTIONS = ~_asks_collection
ORPHAN_JUDGEMENTS = ~_judges_question
ORPHAN_ADAPTERS = ~_adapts_collection
ORPHAN_CALIBRATIONS = ~_calibrates_collection
USELESS_ADAPTER = (CollectionRow.adapter_id.is_not(None), ~_fits_adapter)
DANGLING: dict[Side, tuple[ColumnElement[bool], ...]] = {
    "text": (ChangeRow.side == "text", ChangeRow.op == "upsert", ~_logged_chunk_lives),
    "vector": (ChangeRow.side == "vector", ChangeRow.op == "upsert", ~_logged_vector_lives),
}
SIDES: tuple[Side, ...] = ("text", "vector")
NOT_LOGGED: dict[Side, tuple[ColumnElement[bool], ...]] = {
    "text": (~_logged.where(ChangeRow.side == "text"),),
    "vector": (_has_vector, ~_logged.where(ChangeRow.side == "vector")),
}
WITHOUT_CHUNKS = (DocumentRow.status == "indexed", ~_has_chunks)
NOT_TO_HAVE_CHUNKS = DocumentRow.status != "indexed"
WITHOUT_ORIGINAL = (DocumentRow.status == "duplicate", ~_has_original)

_EVERYWHERE = (
    Check(
        "orphans",
        "documents of a collection that is gone",
        select(_nowhere, _named(DocumentRow.path)).where(ORPHAN_DOCUMENTS),
    ),
    Check(
        "orphans",
        "chunks of a document that is gone",
        select(_nowhere, _named(ChunkRow.id)).where(ORPHAN_CHUNKS),
    ),
    Check(
        "orphans",
        "vectors of a chunk that is gone",
        select(_nowhere, _named(VectorRow.chunk_id)).where(ORPHAN_VECTORS),
    ),
    Check(
        "orphans",
        "tags of a document that is gone",
        select(_nowhere, _named(TagRow.name)).where(ORPHAN_TAGS),
    ),
    Check(
        "orphans",
        "changes in a collection that is gone",
        select(_nowhere, _named(ChangeRow.seq)).where(ORPHAN_CHANGES),
    ),
    Check(
        "orphans",
        "questions to a collection that is gone",
        select(_nowhere, _named(QuestionRow.id)).where(ORPHAN_QUESTIONS),
    ),
    Check(
        "orphans",
        "judgements about a question that is gone",
        select(_nowhere, _named(JudgementRow.id)).where(ORPHAN_JUDGEMENTS),
    ),
    Check(
        "orphans",
        "adapters of a collection that is gone",
        select(_nowhere, _named(AdapterRow.id)).where(ORPHAN_ADAPTERS),
    ),
    Check(
        "orphans",
        "calibrations of a collection that is gone",
        select(_nowhere, _named(CalibrationRow.id)).where(ORPHAN_CALIBRATIONS),
    ),
    Check(
        "adapters",
        "collections whose adapter is gone, or was made for another model",
        select(_in(CollectionRow.id), _named(CollectionRow.name)).where(*USELESS_ADAPTER),
    ),
    Check(
        "log",
        "changes that say that a chunk is there which is gone",
        _changes.where(*DANGLING["text"]),
    ),
    Check(
        "log",
        "changes that say that a vector is there which is gone",
        _changes.where(*DANGLING["vector"]),
    ),
    Check(
        "log",
        "chunks whose text is not in the log of changes",
        _owned.where(*NOT_LOGGED["text"]),
    ),
    Check(
        "log",
        "chunks whose vector is not in the log of changes",
        _owned.where(*NOT_LOGGED["vector"]),
    ),
    Check("documents", "indexed documents without chunks", _documents.where(*WITHOUT_CHUNKS)),
    Check(
        "documents",
        "chunks of documents that are not indexed",
        _owned.where(NOT_TO_HAVE_CHUNKS),
    ),
    Check(
        "documents",
        "duplicates of a document that is gone",
        _documents.where(*WITHOUT_ORIGINAL),
    ),
)
_REFERENCES = (
    DocumentRow.collection_id,
    ChunkRow.document_id,
    VectorRow.chunk_id,
    TagRow.document_id,
    ChangeRow.collection_id,
    ChangeRow.chunk_id,
    QuestionRow.collection_id,
    JudgementRow.question_id,
    AdapterRow.collection_id,
    CalibrationRow.collection_id,
)


def checks(connection: Connection) -> Iterator[Check]:
    yield from _EVERYWHERE
    if connection.dialect.name == "sqlite":  # which takes bytes into a column of integers
        for column in _REFERENCES:
            fault = f"{column.class_.__tablename__} rows whose {column.key} is no integer"
            named = func.typeof(column).label("named")
            wrong = func.typeof(column) != literal("integer")
            yield Check("ids", fault, select(_nowhere, named).where(wrong))


def damaged_texts(connection: Connection) -> Iterator[DamagedText]:
    """One text is held at a time."""
    last = 0
    query = select(DocumentRow.id).where(exists().where(_in_document)).order_by(DocumentRow.id)
    while (
        ids := connection.execute(query.where(DocumentRow.id > last).limit(_BLOCK)).scalars().all()
    ):
        for key in ids:
            if damage := damaged_text(connection, key):
                yield damage
        last = ids[-1]


def damaged_text(connection: Connection, document_id: int) -> DamagedText | None:
    mine = DocumentRow.id == document_id
    query = select(DocumentRow.collection_id, DocumentRow.path, DocumentRow.text).where(mine)
    row = connection.execute(query).first()
    if row is None:
        return None
    text = row.text or ""
    slices = select(ChunkRow.start, ChunkRow.end, ChunkRow.text)
    wrong = sum(
        not 0 <= start < end <= len(text) or text[start:end] != part
        for start, end, part in connection.execute(
            slices.where(ChunkRow.document_id == document_id)
        )
    )
    return DamagedText(row.collection_id, document_id, row.path, wrong) if wrong else None


def damaged_vectors(connection: Connection, collection: StoredCollection) -> Iterator[int]:
    """The chunks whose vector is not of the collection's width, or not of length 1."""
    query = (
        select(VectorRow.chunk_id, VectorRow.data)
        .join(ChunkRow, ChunkRow.id == VectorRow.chunk_id)
        .join(DocumentRow, _in_document)
        .where(
            DocumentRow.collection_id == collection.id,
            VectorRow.fingerprint == collection.model.fingerprint,
        )
        .order_by(VectorRow.chunk_id)
    )
    last = 0
    while rows := connection.execute(query.where(VectorRow.chunk_id > last).limit(_BLOCK)).all():
        yield from (key for key, data in rows if not is_encoded(data, collection.model.dimensions))
        last = rows[-1].chunk_id
