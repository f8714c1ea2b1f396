"""Proves that a home is as it should be: the rows among themselves, and the indexes against them.

The rows are looked at in one reading transaction. The indexes catch up after it, so that they may
know more than it saw where others are writing: what the log says has changed since is passed over.
Chunks that wait for a vector and chunks of other models are counted and are no problem.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, exists, select

from index import feed, reads
from index.catalog import Catalog
from index.checks import Kind, checks, damaged_texts, damaged_vectors
from index.derived import DerivedIndexes
from index.engines import Dense, Lexical, asked
from index.errors import IndexMismatch, StorageUnreachable
from index.records import Counts, Model, Side, Status, StoredCollection
from index.schema import AnySelect, ChangeRow, ChunkRow, DocumentRow, VectorRow

_EXAMPLES = 3
_ABANDONED_S = 3600  # a file that was being written this long ago belongs to a process now dead
_Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Problem:
    kind: Kind
    collection: str | None  # None where it is of the home as a whole
    detail: str  # what is wrong, with the first few it is wrong of
    count: int  # of how many


@dataclass(frozen=True, slots=True)
class CollectionState:
    """What a collection holds. `chunks` = `lexical` and `vectors` = `dense`, or it is told."""

    name: str
    model: Model
    documents: dict[Status, int]  # every status, 0 included
    chunks: int
    vectors: int
    pending: int  # chunks that are found by their words only, until they have a vector
    former: int  # chunks of other models
    dense: int  # entries of the dense index
    lexical: int  # entries of the lexical index


@dataclass(frozen=True, slots=True)
class Verification:
    collections: tuple[CollectionState, ...]
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class _Rows:
    """What the indexes of a collection should hold, as the rows say."""

    collection: StoredCollection
    counts: Counts
    ids: dict[Side, _Ids]
    seq: dict[Side, int]


@dataclass(frozen=True, slots=True)
class _Index:
    """What an index does hold; without ids where it could not be looked at."""

    size: int
    ids: _Ids | None
    error: str | None = None


def verify(catalog: Catalog, *, threads: int = 1) -> Verification:
    """Looks at everything once. Others may go on reading and writing.

    Args:
        threads: For FAISS.

    Returns:
        Where the file of the database cannot be read at all, that alone.
    """
    try:
        return _verified(catalog, threads)
    except StorageUnreachable as error:
        if catalog.database.url.get_backend_name() != "sqlite":
            raise
        return Verification((), (Problem("database", None, str(error), 1),))


def _verified(catalog: Catalog, threads: int) -> Verification:
    with catalog.database.reading() as connection:
        collections = reads.collections(connection)
        problems = [
            *_database_problems(connection),
            *_row_problems(connection, collections),
            *_vector_problems(connection, collections),
            *_text_problems(connection, collections),
        ]
        rows = [_rows(connection, collection) for collection in collections]
    states = []
    for each in rows:
        state, found = _compared(catalog, each, threads)
        states.append(state)
        problems += found
    problems += _file_problems(catalog)
    return Verification(tuple(states), tuple(problems))


def abandoned_files(home: Path) -> list[Path]:
    """Files that a process was writing when it died."""
    found = [*home.glob("*.tmp")]
    for folder in ("indexes", "uploads"):
        found += (home / folder).rglob("*.tmp")
    return sorted(filter(_is_old, found))


def _is_old(path: Path) -> bool:
    with suppress(OSError):  # renamed, or removed, meanwhile
        return path.stat().st_mtime < time.time() - _ABANDONED_S
    return False


def _database_problems(connection: Connection) -> Iterator[Problem]:
    if connection.dialect.name != "sqlite":
        return
    faults = [str(row[0]) for row in connection.exec_driver_sql("PRAGMA quick_check")]
    if faults != ["ok"]:
        remedy = "put back a copy of the home, or export what can still be read"
        yield Problem("database", None, f"{_shown('faults', faults)}: {remedy}", len(faults))
    lost: Counter[str] = Counter()
    for table, _, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check"):
        lost[f"{table} rows that refer to a {parent} which is gone"] += 1
    for fault, count in lost.items():
        yield Problem("database", None, f"{count} {fault}", count)


def _row_problems(
    connection: Connection, collections: Sequence[StoredCollection]
) -> Iterator[Problem]:
    for check in checks(connection):
        found = connection.execute(check.rows)
        yield from _problems(check.kind, check.fault, found, collections)


def _problems(
    kind: Kind, fault: str, rows: Iterable[Any], collections: Sequence[StoredCollection]
) -> Iterator[Problem]:
    """One for each collection, of rows (collection id, what to name)."""
    names = {collection.id: collection.name for collection in collections}
    counts: Counter[str | None] = Counter()
    examples: dict[str | None, list[object]] = {}
    for collection_id, named in rows:
        name = names.get(collection_id)
        counts[name] += 1
        if counts[name] <= _EXAMPLES:
            examples.setdefault(name, []).append(named)
    for name, count in counts.items():
        yield Problem(kind, name, _shown(fault, examples[name], count), count)


def _vector_problems(
    connection: Connection, collections: Sequence[StoredCollection]
) -> Iterator[Problem]:
    for collection in collections:
        fault = f"chunks whose vector has not {collection.model.dimensions} dimensions or length 1"
        found = ((collection.id, key) for key in damaged_vectors(connection, collection))
        yield from _problems("vectors", fault, found, collections)


def _text_problems(
    connection: Connection, collections: Sequence[StoredCollection]
) -> Iterator[Problem]:
    fault = "documents with chunks that are not what their text says"
    found = ((damage.collection_id, damage.path) for damage in damaged_texts(connection))
    yield from _problems("text", fault, found, collections)


def _rows(connection: Connection, collection: StoredCollection) -> _Rows:
    active = collection.model.fingerprint
    chunks = (
        select(ChunkRow.id)
        .join(DocumentRow, DocumentRow.id == ChunkRow.document_id)
        .where(DocumentRow.collection_id == collection.id, ChunkRow.fingerprint == active)
        .order_by(ChunkRow.id)
    )
    made = exists().where(VectorRow.chunk_id == ChunkRow.id, VectorRow.fingerprint == active)
    return _Rows(
        collection,
        reads.counts(connection, collection),
        ids={"text": _keys(connection, chunks), "vector": _keys(connection, chunks.where(made))},
        seq={side: feed.latest(connection, collection.id, side) for side in ("text", "vector")},
    )


def _keys(connection: Connection, query: AnySelect) -> _Ids:
    return np.fromiter(connection.execute(query).scalars(), np.int64)


def _compared(catalog: Catalog, rows: _Rows, threads: int) -> tuple[CollectionState, list[Problem]]:
    collection, counts = rows.collection, rows.counts
    indexes = DerivedIndexes(catalog.engine, catalog.database, collection, threads)
    dense = _looked_at("dense", lambda: asked(indexes.dense, _held))
    lexical = _looked_at("lexical", lambda: asked(indexes.lexical, _held))
    with catalog.database.reading() as connection:
        changed = {side: _changed(connection, rows, side) for side in rows.seq}
        is_there = any(each.uid == collection.uid for each in reads.collections(connection))
    problems = [
        *_differences(collection, "dense", dense, rows.ids["vector"], changed["vector"]),
        *_differences(collection, "lexical", lexical, rows.ids["text"], changed["text"]),
    ]
    state = CollectionState(
        name=collection.name,
        model=collection.model,
        documents=counts.documents,
        chunks=counts.chunks,
        vectors=counts.vectors,
        pending=counts.chunks - counts.vectors,
        former=counts.former,
        dense=dense.size,
        lexical=lexical.size,
    )
    return state, problems if is_there else []  # else it was dropped meanwhile


def _looked_at(kind: Literal["dense", "lexical"], look: Callable[[], _Index]) -> _Index:
    try:
        return look()
    except ValueError as error:  # rows that no index can be made of
        return _Index(0, None, f"the {kind} index cannot be made of the rows: {error}")
    except IndexMismatch as error:
        return _Index(0, None, str(error))


def _held(index: Dense | Lexical) -> _Index:
    return _Index(len(index), index.ids())


def _changed(connection: Connection, rows: _Rows, side: Side) -> _Ids:
    """The chunks of which a side has changed since the rows were looked at."""
    query = select(ChangeRow.chunk_id).where(
        ChangeRow.collection_id == rows.collection.id,
        ChangeRow.side == side,
        ChangeRow.seq > rows.seq[side],
    )
    return _keys(connection, query)


def _differences(
    collection: StoredCollection,
    kind: Literal["dense", "lexical"],
    index: _Index,
    expected: _Ids,
    changed: _Ids,
) -> Iterator[Problem]:
    remedy = f"rebuild it with `attest rebuild -c {collection.name}`"
    if index.error is not None:
        yield Problem(kind, collection.name, index.error, 1)
    elif index.ids is None:
        wrong = abs(index.size - len(expected)) - len(changed)
        if wrong > 0:
            detail = f"the {kind} index has {index.size} entries for {len(expected)} chunks"
            yield Problem(kind, collection.name, f"{detail}: {remedy}", wrong)
    else:
        parts = (
            (np.setdiff1d(expected, index.ids), "chunks are not in"),
            (np.setdiff1d(index.ids, expected), "chunks that are gone are still in"),
        )
        for ids, fault in parts:
            wrong_ids = np.setdiff1d(ids, changed).tolist()
            if wrong_ids:
                detail = _shown(f"{fault} the {kind} index", wrong_ids)
                yield Problem(kind, collection.name, f"{detail}: {remedy}", len(wrong_ids))


def _file_problems(catalog: Catalog) -> Iterator[Problem]:
    abandoned = abandoned_files(catalog.home)
    found = {
        "indexes of no collection": catalog.engine.unused(catalog.database),
        "files that were never finished": [
            path.relative_to(catalog.home).as_posix() for path in abandoned
        ],
    }
    for fault, names in found.items():
        if names:
            yield Problem("files", None, _shown(fault, names), len(names))


def _shown(fault: str, examples: Sequence[object], count: int | None = None) -> str:
    n = len(examples) if count is None else count
    shown = ", ".join(map(str, examples[:_EXAMPLES])) + (", …" if n > _EXAMPLES else "")
    return f"{n} {fault} ({shown})"
