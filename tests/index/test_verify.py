import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import delete, insert, select, update

from index import Catalog, Collection
from index.codec import encode
from index.derived import DerivedIndexes
from index.records import Model
from index.repair import repair
from index.schema import ChangeRow, ChunkRow, CollectionRow, DocumentRow, VectorRow
from index.verify import CollectionState, Problem, verify
from tests.index.library import MODEL, document, rejected, reopened, vector_of, vectors_of
from tests.index.writer import finish, start

on_each_engine = pytest.mark.parametrize("milvus", ["embedded", "milvus"], indirect=True)


def _add(collection: Collection, path: str, *passages: str) -> int:
    new = document(path, *passages)
    return collection.add(new, vectors_of(new)).id


@pytest.fixture
def stocked(collection: Collection) -> Collection:
    """Documents 1 to 3 with chunks 1 to 6; a duplicate, a rejected and a pending one."""
    for path in ("a.txt", "b.txt", "c.txt"):
        _add(collection, path, f"first of {path}", f"second of {path}")
    _add(collection, "copy.txt", "first of a.txt", "second of a.txt")
    collection.reject(rejected("bad.pdf"))
    collection.add(document("later.txt", "waits for its vector"), None)
    return collection


def _problems(catalog: Catalog) -> list[tuple[str, str | None, int]]:
    return [(each.kind, each.collection, each.count) for each in verify(catalog).problems]


def _details(catalog: Catalog) -> str:
    return "\n".join(each.detail for each in verify(catalog).problems)


def _run(catalog: Catalog, *statements: object) -> None:
    with catalog.database.writing() as connection:
        for statement in statements:
            connection.execute(statement)  # type: ignore[call-overload]


@on_each_engine
def test_a_sound_home_has_no_problems_and_is_counted(stocked: Collection, catalog: Catalog) -> None:
    catalog.create("empty", MODEL)
    found = verify(catalog)
    assert found.problems == ()
    assert [state.name for state in found.collections] == ["default", "empty"]
    assert found.collections[0] == CollectionState(
        name="default",
        model=MODEL,
        documents={"indexed": 4, "duplicate": 1, "empty": 0, "unsupported": 0, "failed": 1},
        chunks=7,
        vectors=6,
        pending=1,
        former=0,
        dense=6,
        lexical=7,
    )
    assert found.collections[1].chunks == found.collections[1].dense == 0


def test_chunks_of_other_models_are_counted(stocked: Collection, catalog: Catalog) -> None:
    move = catalog.move("default", Model("wide", "fingerprint-of-wide", 12))
    (text, *_) = move.texts(0, 10)
    chunk = replace(document("x", text.text).chunks[0], text=text.text, end=len(text.text))
    assert move.add(text, [chunk], np.ones((1, 12), np.float32))
    found = verify(catalog)
    assert found.problems == ()
    assert (found.collections[0].former, found.collections[0].chunks) == (1, 7)


# What each fault does to the rows, what is told of it, and what is left of the documents.
FAULTS: dict[str, tuple[list[object], set[str], str]] = {
    "a chunk was deleted and not logged": (
        [delete(ChunkRow).where(ChunkRow.id == 1)],
        {"log", "dense", "lexical"},
        "chunks that are gone are still in the dense index (1)",
    ),
    "a vector was deleted and not logged": (
        [delete(VectorRow).where(VectorRow.chunk_id == 2)],
        {"log", "dense"},
        "1 chunks that are gone are still in the dense index (2): rebuild it with `attest rebuild",
    ),
    "all chunks of a document were deleted": (
        [delete(ChunkRow).where(ChunkRow.document_id == 2)],
        {"documents", "log", "dense", "lexical"},
        "1 indexed documents without chunks (b.txt)",
    ),
    "a change was lost": (
        [delete(ChangeRow).where(ChangeRow.chunk_id == 5)],
        {"log"},
        "1 chunks whose vector is not in the log of changes (5)",
    ),
    "a change says that a living chunk is gone": (
        [update(ChangeRow).where(ChangeRow.chunk_id == 3).values(op="delete")],
        {"log"},
        "1 chunks whose text is not in the log of changes (3)",
    ),
    "a change names a chunk that never was": (
        [insert(ChangeRow).values(collection_id=1, chunk_id=77, side="text", op="upsert")],
        {"log"},
        "1 changes that say that a chunk is there which is gone (77)",
    ),
    "a text was cut short": (
        [update(DocumentRow).where(DocumentRow.id == 1).values(text="first")],
        {"text"},
        "1 documents with chunks that are not what their text says (a.txt)",
    ),
    "a text was lost": (
        [update(DocumentRow).where(DocumentRow.id == 3).values(text=None)],
        {"text"},
        "1 documents with chunks that are not what their text says (c.txt)",
    ),
    "a chunk says something else": (
        [update(ChunkRow).where(ChunkRow.id == 4).values(text="second of B.txt")],
        {"text"},
        "1 documents with chunks that are not what their text says (b.txt)",
    ),
    "a vector is too short": (
        [update(VectorRow).where(VectorRow.chunk_id == 6).values(data=b"\0\x3c")],
        {"vectors"},
        "1 chunks whose vector has not 8 dimensions or length 1 (6)",
    ),
    "a vector is of length 2": (
        [update(VectorRow).where(VectorRow.chunk_id == 6).values(data=b"\0\x40" + b"\0" * 14)],
        {"vectors"},
        "1 chunks whose vector has not 8 dimensions or length 1 (6)",
    ),
    "a vector is no number": (
        [update(VectorRow).where(VectorRow.chunk_id == 6).values(data=b"\0\x7e" * 8)],
        {"vectors"},
        "1 chunks whose vector has not 8 dimensions or length 1 (6)",
    ),
    "an adapter is in use that is gone": (
        [update(CollectionRow).values(adapter_id=7)],
        {"adapters"},
        "1 collections whose adapter is gone, or was made for another model (default)",
    ),
    "an original is not indexed any more": (
        [
            update(DocumentRow)
            .where(DocumentRow.id == 1)
            .values(status="failed", reason="damaged", text=None)
        ],
        {"documents", "text"},
        "1 duplicates of a document that is gone (copy.txt)",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told_and_mended(stocked: Collection, catalog: Catalog, fault: str) -> None:
    statements, kinds, detail = FAULTS[fault]
    stocked.catch_up()
    stocked.rebuild()
    _run(catalog, *statements)
    assert {kind for kind, _, _ in _problems(catalog)} == kinds
    assert detail in _details(catalog)
    assert repair(catalog).problems == ()
    assert _problems(catalog) == []
    _check_search(stocked, catalog)
    with reopened(catalog) as elsewhere:
        _check_search(Collection.open(elsewhere, "default", MODEL), elsewhere)


def _check_search(collection: Collection, catalog: Catalog) -> None:
    """What is found is what the rows say, and what they say is whole."""
    chunks = [chunk for row in catalog.documents("default") for chunk in catalog.chunks_of(row.id)]
    waiting = {each.id for each in catalog.waiting("default")}
    ids = {chunk.id for chunk in chunks}
    assert set(collection.dense(vector_of("x")).ids.tolist()) == ids - waiting
    assert set(collection.lexical("first second waits").ids.tolist()) == ids
    for row in catalog.documents("default"):
        assert (row.chunks > 0) == (row.status == "indexed")


def test_what_cannot_be_mended_waits_for_its_file(stocked: Collection, catalog: Catalog) -> None:
    _run(
        catalog,
        update(DocumentRow).where(DocumentRow.id == 1).values(text="other"),
        delete(ChunkRow).where(ChunkRow.document_id == 2),
    )
    found = repair(catalog)
    assert found.problems == ()
    assert found.collections[0].documents["failed"] == 4
    reasons = {row.path: row.reason for row in catalog.documents("default")}
    assert reasons["a.txt"] == "its stored text was damaged: add the file again"
    assert reasons["b.txt"] == "its chunks were lost: add the file again"
    assert reasons["copy.txt"] == ("the document that it is a copy of was lost: add the file again")
    assert reasons["bad.pdf"] == "encrypted"
    for path in ("a.txt", "b.txt"):
        _add(stocked, path, f"first of {path}", f"second of {path}")
    assert catalog.counts("default").documents["failed"] == 2
    assert _problems(catalog) == []


@on_each_engine
def test_a_damaged_vector_is_waited_for_again(stocked: Collection, catalog: Catalog) -> None:
    _run(catalog, update(VectorRow).where(VectorRow.chunk_id == 6).values(data=b"\0" * 16))
    assert ("dense", "default", 1) in _problems(catalog)  # no index can be made of it
    repair(catalog)
    assert [each.id for each in catalog.waiting("default")] == [6, 7]
    assert stocked.add_vectors([6], vector_of("second of c.txt")[None]) == 1
    assert stocked.dense(vector_of("second of c.txt")).ids[0] == 6


def _without_foreign_keys(catalog: Catalog, *statements: str) -> None:
    """As a program does that has not asked SQLite to check them."""
    with closing(sqlite3.connect(catalog.home / "attest.db")) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


ORPHANS = {
    "a document": (
        "DELETE FROM document WHERE id = 1",
        "2 chunks of a document that is gone (1, 2)",
    ),
    "a chunk": ("DELETE FROM chunk WHERE id = 3", "1 vectors of a chunk that is gone (3)"),
    "a tagged document": (
        "DELETE FROM document WHERE path = 'bad.pdf'",
        "1 tags of a document that is gone (law)",
    ),
    "a question": (
        "DELETE FROM question",
        "1 judgements about a question that is gone (1)",
    ),
    "what a collection learned": ("DELETE FROM collection", "1 adapters of a collection that"),
    "what a collection was asked": ("DELETE FROM collection", "1 questions to a collection that"),
    "a collection": (
        "DELETE FROM collection",
        "6 documents of a collection that is gone (a.txt, b.txt, ",
    ),
}


@pytest.mark.parametrize("what", ORPHANS)
def test_orphans_are_told_and_removed(sqlite_catalog: Catalog, what: str) -> None:
    catalog = sqlite_catalog
    collection = Collection.open(catalog, "default", MODEL)
    for path in ("a.txt", "b.txt", "c.txt", "d.txt", "e.txt"):
        _add(collection, path, f"first of {path}", f"second of {path}")
    collection.reject(rejected("bad.pdf"))
    catalog.tag(catalog.find("default", "bad.pdf").id, add=["law"])
    catalog.judge("default", "first?", 3, "up")
    catalog.add_adapter(
        "default", fingerprint="a", base=MODEL.fingerprint, kind="query", data=b"a", report={}
    )
    collection.rebuild()
    statement, detail = ORPHANS[what]
    _without_foreign_keys(catalog, statement)
    assert detail in _details(catalog)
    assert "which is gone" in _details(catalog)  # SQLite's own check says so too
    assert repair(catalog).problems == ()
    with catalog.database.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA foreign_key_check").all() == []
    if "collection" not in what:
        _check_search(collection, catalog)


@pytest.mark.parametrize(
    "damage", ["DELETE FROM adapter", "UPDATE adapter SET base = 'another'"], ids=["gone", "unfit"]
)
def test_an_adapter_that_cannot_be_in_use_is_told_and_taken_off(
    sqlite_catalog: Catalog, damage: str
) -> None:
    catalog = sqlite_catalog
    catalog.create("default", MODEL)
    key = catalog.add_adapter(
        "default", fingerprint="a", base=MODEL.fingerprint, kind="query", data=b"a", report={}
    )
    catalog.use_adapter("default", key)
    assert verify(catalog).problems == ()
    _without_foreign_keys(catalog, damage)
    assert "1 collections whose adapter is gone, or was made for another" in _details(catalog)
    assert catalog.active_adapter("default") is None
    assert repair(catalog).problems == ()
    assert catalog.collection("default").adapter_id is None


def test_ids_that_are_bytes_are_told_and_removed(sqlite_catalog: Catalog) -> None:
    catalog = sqlite_catalog
    collection = Collection.open(catalog, "default", MODEL)
    _add(collection, "a.txt", "one", "two")
    _without_foreign_keys(
        catalog,
        "UPDATE vector SET chunk_id = x'01' WHERE chunk_id = 1",
        "UPDATE change SET chunk_id = x'02' WHERE chunk_id = 2 AND side = 'text'",
    )
    details = _details(catalog)
    assert "1 vector rows whose chunk_id is no integer (blob)" in details
    assert "1 change rows whose chunk_id is no integer (blob)" in details
    assert repair(catalog).problems == ()
    assert [each.id for each in catalog.waiting("default")] == [1]


def test_a_damaged_file_is_told(sqlite_catalog: Catalog) -> None:
    catalog = sqlite_catalog
    collection = Collection.open(catalog, "default", MODEL)
    _add(collection, "a.txt", *(f"passage {i}" for i in range(300)))
    catalog.close()
    for path in catalog.home.glob("attest.db-*"):
        path.unlink()
    file = catalog.home / "attest.db"
    whole = file.read_bytes()
    middle = len(whole) // 2 // 4096 * 4096
    file.write_bytes(whole[:middle] + b"\xff" * 16384 + whole[middle + 16384 :])
    (problem,) = verify(catalog).problems[:1]
    assert (problem.kind, problem.collection) == ("database", None)


@on_each_engine
def test_an_index_that_disagrees_is_told(stocked: Collection, catalog: Catalog) -> None:
    """As if it had missed a change, or taken in one that never was."""
    stocked.remove(_add(stocked, "d.txt", "comes and goes"))
    stocked.rebuild()
    (data,) = encode(vector_of("x")[None])
    with catalog.database.reading() as connection:
        used = set(connection.execute(select(ChangeRow.seq)).scalars())
    free = min(set(range(1, max(used))) - used)
    _run(
        catalog,
        insert(VectorRow).values(chunk_id=7, fingerprint=MODEL.fingerprint, data=data),
        # With a number that the index has left behind.
        insert(ChangeRow).values(seq=free, collection_id=1, chunk_id=7, side="vector", op="upsert"),
    )
    indexes = DerivedIndexes(catalog.engine, catalog.database, catalog.collection("default"), 1)
    lexical = indexes.lexical()
    with lexical.updating():
        lexical.apply(lexical.applied, [3], [replace(indexes.feed.entries([4])[0], chunk_id=99)])
    with reopened(catalog) as elsewhere:
        assert _problems(elsewhere) == [
            ("dense", "default", 1),
            ("lexical", "default", 1),
            ("lexical", "default", 1),
        ]
        details = _details(elsewhere)
        assert "1 chunks are not in the dense index (7)" in details
        assert "1 chunks are not in the lexical index (3)" in details
        assert "1 chunks that are gone are still in the lexical index (99)" in details
        assert repair(elsewhere).problems == ()


@on_each_engine
def test_strays_and_leftovers_are_told_and_removed(stocked: Collection, catalog: Catalog) -> None:
    stocked.rebuild()
    stray = catalog.home / "indexes" / "of-nothing"
    (stray / "deep").mkdir(parents=True)
    running = catalog.home / "y.tmp"
    upload = catalog.home / "uploads" / "abc" / ".7.tmp"
    upload.parent.mkdir(parents=True)
    for path in (running, upload):
        path.touch()
    os.utime(upload, (0, 0))
    found = verify(catalog).problems
    assert found == (
        Problem("files", None, "1 indexes of no collection (indexes/of-nothing)", 1),
        Problem("files", None, "1 files that were never finished (uploads/abc/.7.tmp)", 1),
    )
    assert repair(catalog).problems == ()
    assert not stray.exists()
    assert not upload.exists()
    assert running.exists()


def test_writers_beside_it_cause_no_alarm(stocked: Collection, catalog: Catalog) -> None:
    stop = threading.Event()
    failures: list[BaseException] = []

    def write() -> None:
        i = 0
        try:
            while not stop.is_set():
                key = _add(stocked, f"w{i % 3}.txt", f"version {i}", f"more of {i}")
                stocked.add(document(f"p{i % 2}.txt", f"pending {i}"), None)
                if i % 4 == 3:
                    stocked.remove(key)
                i += 1
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(6):
            assert verify(catalog).problems == ()
    finally:
        stop.set()
        thread.join()
    assert not failures


def test_another_process_that_writes_causes_no_alarm(stocked: Collection, catalog: Catalog) -> None:
    writer = start(catalog, "threads", "other")
    try:
        while writer.poll() is None:
            assert verify(catalog).problems == ()
    finally:
        finish(writer)


@on_each_engine
def test_what_changes_between_the_rows_and_the_indexes_is_passed_over(
    stocked: Collection, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The indexes are opened after the rows were read: here others come in between."""
    opened = DerivedIndexes.dense
    between: list[Callable[[], object]] = [
        lambda: stocked.remove(1),
        lambda: _add(stocked, "new.txt", "brand new"),
        lambda: stocked.add_vectors([7], vector_of("x")[None]),
    ]

    def later(self: DerivedIndexes) -> object:
        while between:
            between.pop()()
        return opened(self)

    monkeypatch.setattr(DerivedIndexes, "dense", later)
    assert verify(catalog).problems == ()
    assert between == []


@on_each_engine
def test_a_collection_dropped_meanwhile_is_no_problem(
    stocked: Collection, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    stocked.rebuild()
    opened = DerivedIndexes.dense

    def later(self: DerivedIndexes) -> object:
        _run(catalog, delete(CollectionRow))
        return opened(self)

    monkeypatch.setattr(DerivedIndexes, "dense", later)
    assert [each for each in verify(catalog).problems if each.kind != "files"] == []


def test_repair_leaves_a_sound_home_as_it_is(stocked: Collection, catalog: Catalog) -> None:
    before = verify(catalog)
    documents = catalog.documents("default")
    assert repair(catalog) == before
    assert catalog.documents("default") == documents


@on_each_engine
def test_other_processes_learn_what_repair_has_done(stocked: Collection, catalog: Catalog) -> None:
    with reopened(catalog) as elsewhere:
        other = Collection.open(elsewhere, "default", MODEL)
        assert len(other.dense(vector_of("x")).ids) == 6
        _run(catalog, delete(VectorRow).where(VectorRow.chunk_id == 2))
        repair(catalog)
        assert sorted(other.dense(vector_of("x")).ids.tolist()) == [1, 3, 4, 5, 6]


def test_the_home_may_have_any_name(tmp_path: Path) -> None:
    with Catalog(tmp_path / "home 한글 %") as catalog:
        assert verify(catalog).problems == ()
