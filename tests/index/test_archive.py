import json
import math
import os
import stat
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import delete, select

from index import Catalog, Collection
from index.archive import export, import_archive
from index.conversations import Conversations
from index.errors import BadArchive, CollectionExists, StorageError, UnknownCollection
from index.records import Model, StoredChunk, StoredDocument
from index.schema import ChunkRow, VectorRow
from index.verify import verify
from tests.index.library import MODEL, document, rejected, vector_of, vectors_of

_LEARNED = ("adapter.bin", "questions.jsonl", "conversations.jsonl")
_SINCE_3 = ("conversations", "calibrations", "evaluations")
OTHER = Model("other", "fingerprint-of-other", 4)


@pytest.fixture
def empty(request: pytest.FixtureRequest, tmp_path: Path, url: str | None) -> Iterator[Catalog]:
    """On the other kind of database than `catalog`, so that each archive changes sides."""
    other = None if url else request.getfixturevalue("postgres_url")
    with Catalog(tmp_path / "other home", other) as found:
        yield found


@pytest.fixture
def stocked(catalog: Catalog) -> Catalog:
    collection = Collection.open(catalog, "default", MODEL)
    gone = document("gone.txt", "takes ids")
    collection.remove(collection.add(gone, vectors_of(gone)).id)
    layout = {"pages": [{"number": 1, "start": 0}], "sections": [["제목", 3]]}
    for path in ("b.txt", "a/한글 문서.txt", "C:\\docs\\c.txt"):
        new = document(path, f"first of {path}", "same passage", "셋째 휴가")
        new = replace(new, layout=layout, modified="2024-05-31T00:00:00+00:00")
        catalog.tag(collection.add(new, vectors_of(new)).id, add=["law", "법"])
    # Its chunks are younger than those of documents with higher ids.
    again = document("b.txt", "changed of b.txt", "same passage")
    collection.add(again, vectors_of(again))
    collection.add(document("copy.txt", "changed of b.txt", "same passage"), None)
    collection.reject(rejected("bad.pdf"))
    collection.add(document("later.txt", "waits for its vector", "same passage"), None)
    waiting = catalog.waiting("default")
    collection.add_vectors([waiting[1].id], vector_of("same passage")[None])
    catalog.set_fusion_weight("default", 0.3)
    catalog.create("letters", OTHER)
    _teach(catalog)
    return catalog


def _teach(catalog: Catalog) -> None:
    again = catalog.find("default", "b.txt")
    catalog.remember("default", "무엇이 바뀌었나?")
    catalog.remember("default", "What is the same?")
    catalog.judge("default", "What is the same?", catalog.chunk_ids(again.id)[1], "up")
    catalog.judge("default", "What is the same?", catalog.chunk_ids(again.id)[0], "opened")
    report = {"뜻": [1], "better": [{"question": "What is the same?", "change": 0.5}]}
    given = {"base": MODEL.fingerprint, "kind": "query", "report": report}
    catalog.add_adapter("default", fingerprint="former", data=b"none", **given)  # type: ignore[arg-type]
    key = catalog.add_adapter("default", fingerprint="adapted", data=b"\0\1\2\3", **given)  # type: ignore[arg-type]
    catalog.use_adapter("default", key)
    catalog.set_rerank_weight("default", 0.2)


def _learned(catalog: Catalog) -> list[object]:
    """Adapter, weight and questions without ids; passages by their words."""
    adapter = catalog.active_adapter("default")
    assert adapter is not None
    held: list[object] = [replace(adapter, id=0), catalog.collection("default").rerank_weight]
    for question in catalog.asked("default"):
        plain = replace(question, opened=(), up=(), down=())
        judged = (question.opened, question.up, question.down)
        held.append((plain, [[chunk.text for chunk in catalog.chunks(ids)] for ids in judged]))
    return held


def _plain(stored: StoredDocument) -> StoredDocument:
    return replace(stored, id=0)


def _chunk(chunk: StoredChunk) -> StoredChunk:
    return replace(chunk, id=0, document=_plain(chunk.document))


def _held(catalog: Catalog, name: str) -> list[object]:
    """All there is of a collection but its ids."""
    stored = catalog.collection(name)
    rows = catalog.documents(name)
    held: list[object] = [stored.model, stored.fusion_weight, *map(_plain, rows)]
    for row in rows:
        held += [catalog.text(row.id), *map(_chunk, catalog.chunks_of(row.id))]
        held.append({key: data.tolist() for key, data in catalog.known_vectors(row.id).items()})
    held += [replace(text, id=0) for text in catalog.move(name, OTHER).texts(0, 100)]
    return held


def _blobs(catalog: Catalog) -> list[bytes]:
    query = select(VectorRow.data).join(ChunkRow, ChunkRow.id == VectorRow.chunk_id)
    with catalog.database.reading() as connection:
        return list(connection.execute(query.order_by(ChunkRow.id)).scalars())


def _searched(catalog: Catalog) -> Iterator[tuple[list[tuple[str, str]], list[float]]]:
    """What is found, best first and equals by name, with the scores."""
    collection = Collection.open(catalog, "default", MODEL)
    for words in ("same passage", "휴가", "first changed waits"):
        for hits in (collection.lexical(words), collection.dense(vector_of(words))):
            chunks = collection.chunks(hits.ids)
            named = [(chunk.document.path, chunk.text) for chunk in chunks]
            scores = hits.scores.tolist()
            order = sorted(range(len(scores)), key=lambda i: (-round(scores[i], 4), named[i]))
            yield [named[i] for i in order], scores


def test_everything_comes_back_on_the_other_kind_of_database(
    stocked: Catalog, empty: Catalog, tmp_path: Path
) -> None:
    file = tmp_path / "library.zip"
    export(stocked, file)
    assert import_archive(empty, file) == ["default", "letters"]
    assert sorted(map(repr, _held(empty, "default"))) == sorted(
        map(repr, _held(stocked, "default"))
    )
    assert empty.collection("letters").model == OTHER
    assert empty.collection("default").uid != stocked.collection("default").uid
    assert _blobs(empty) == _blobs(stocked)
    assert verify(empty).problems == ()
    assert verify(empty).collections == verify(stocked).collections


def test_what_was_learned_comes_along_and_the_questions_if_asked(
    stocked: Catalog, empty: Catalog, tmp_path: Path
) -> None:
    file = tmp_path / "library.zip"
    export(stocked, file, history=True)
    import_archive(empty, file)
    assert _learned(empty) == _learned(stocked)
    assert len(empty.asked("default")) == 2
    assert len(empty.adapters("default")) == 1  # the former one served to go back, there
    empty.remember("default", "WHAT is the same? ")
    assert len(empty.asked("default")) == 2
    empty.clear()
    export(stocked, file)
    with zipfile.ZipFile(file) as archive:
        assert not any(b"What is the same" in archive.read(name) for name in archive.namelist())
    import_archive(empty, file)
    adapter = stocked.active_adapter("default")
    assert adapter is not None
    assert _learned(empty) == [replace(adapter, id=0, report={}), 0.2]
    assert empty.asked("default") == ()
    assert verify(empty).problems == ()


@pytest.mark.parametrize("url", [None])
def test_an_archive_of_the_second_version_is_read(file: Path, tmp_path: Path) -> None:
    def date_back(members: dict[str, bytes]) -> None:
        manifest = json.loads(members[MANIFEST]) | {"version": 2}
        for collection in manifest["collections"]:
            for key in _SINCE_3:
                del collection[key]
        members[MANIFEST] = json.dumps(manifest).encode()
        for name in [name for name in members if name.endswith("conversations.jsonl")]:
            del members[name]

    with Catalog(tmp_path / "other home") as empty:
        assert import_archive(empty, _rewritten(file, date_back)) == ["default", "letters"]
        assert empty.collection("default").rerank_weight == 0.2
        assert empty.calibrations("default") == ()


@pytest.mark.parametrize("url", [None])
def test_an_archive_of_the_first_version_is_read(file: Path, tmp_path: Path) -> None:
    def date_back(members: dict[str, bytes]) -> None:
        manifest = json.loads(members[MANIFEST]) | {"version": 1}
        for collection in manifest["collections"]:
            for key in ("rerank_weight", "adapter", "questions", *_SINCE_3):
                del collection[key]
        members[MANIFEST] = json.dumps(manifest).encode()
        for name in [name for name in members if name.endswith(_LEARNED)]:
            del members[name]

    with Catalog(tmp_path / "other home") as empty:
        assert import_archive(empty, _rewritten(file, date_back)) == ["default", "letters"]
        stored = empty.collection("default")
        assert (stored.fusion_weight, stored.rerank_weight, stored.adapter_id) == (0.3, 0.0, None)


def test_searches_find_the_same_before_and_after(
    stocked: Catalog, empty: Catalog, tmp_path: Path
) -> None:
    Collection.open(stocked, "default").rebuild()  # scores without rows that were deleted
    export(stocked, tmp_path / "library.zip")
    import_archive(empty, tmp_path / "library.zip")
    for before, after in zip(_searched(stocked), _searched(empty), strict=True):
        assert after[0] == before[0]
        assert after[1] == pytest.approx(before[1], abs=1e-6)
        assert before[0]


def test_an_imported_library_lives_on(stocked: Catalog, empty: Catalog, tmp_path: Path) -> None:
    export(stocked, tmp_path / "library.zip")
    import_archive(empty, tmp_path / "library.zip")
    heir = empty.find("default", "copy.txt")
    empty.remove(empty.find("default", "b.txt").id)
    assert empty.document(heir.id).status == "indexed"
    collection = Collection.open(empty, "default", MODEL)
    for waiting in empty.waiting("default"):
        collection.add_vectors([waiting.id], vector_of(waiting.text)[None])
    assert empty.counts("default").vectors == empty.counts("default").chunks
    assert verify(empty).problems == ()


def test_some_collections_can_be_chosen(stocked: Catalog, empty: Catalog, tmp_path: Path) -> None:
    export(stocked, tmp_path / "letters.zip", ["letters", "letters"])
    assert import_archive(empty, tmp_path / "letters.zip") == ["letters"]
    assert [found.name for found in empty.collections()] == ["letters"]
    with pytest.raises(UnknownCollection, match="no collection 'none'"):
        export(stocked, tmp_path / "none.zip", ["none"])
    assert sorted(path.name for path in tmp_path.glob("*.zip*")) == ["letters.zip"]


def test_a_name_that_is_taken_is_refused(stocked: Catalog, empty: Catalog, tmp_path: Path) -> None:
    export(stocked, tmp_path / "library.zip")
    empty.create("letters", MODEL)
    with pytest.raises(CollectionExists, match="there is a collection 'letters' already"):
        import_archive(empty, tmp_path / "library.zip")
    assert [found.name for found in empty.collections()] == ["letters"]


def test_former_chunks_stay_behind(stocked: Catalog, empty: Catalog, tmp_path: Path) -> None:
    move = stocked.move("default", OTHER)
    (text, *_) = move.texts(0, 1)
    chunk = replace(document("x", text.text).chunks[0], text=text.text, end=len(text.text))
    move.add(text, [chunk], np.ones((1, 4), np.float32))
    export(stocked, tmp_path / "library.zip")
    import_archive(empty, tmp_path / "library.zip")
    assert stocked.counts("default").former == 1
    assert empty.counts("default").former == 0
    assert empty.counts("default").chunks == stocked.counts("default").chunks


def test_uploads_come_along_and_are_found_in_the_new_home(
    stocked: Catalog, empty: Catalog, tmp_path: Path
) -> None:
    file = stocked.home / "uploads" / "0f" / "메모.txt"
    file.parent.mkdir(parents=True)
    file.write_text("the memo", encoding="utf-8")
    for path in (str(file), f"{file}/inner.txt"):
        new = document(path, f"passage of {Path(path).name}")
        stocked.add("default", new, vectors_of(new), MODEL.fingerprint)
    new = document(str(file.with_name("copy.txt")), "passage of 메모.txt")
    stocked.add("default", new, None, MODEL.fingerprint)
    export(stocked, tmp_path / "library.zip", files=[file])
    import_archive(empty, tmp_path / "library.zip")
    moved = empty.home / "uploads" / "0f" / "메모.txt"
    assert moved.read_text(encoding="utf-8") == "the memo"
    assert empty.at("default", str(moved)) is not None
    assert empty.at("default", f"{moved}/inner.txt") is not None
    copy = empty.at("default", str(moved.with_name("copy.txt")))
    assert copy is not None
    assert copy.reason == f"same content as {moved}"
    assert str(stocked.home) not in repr(_held(empty, "default"))
    assert not list(empty.home.glob("*.tmp"))


def test_a_file_that_is_there_already_is_kept_or_told(
    stocked: Catalog, empty: Catalog, tmp_path: Path
) -> None:
    name = Path("uploads") / "0f" / "memo.txt"
    for catalog in (stocked, empty):
        (catalog.home / name).parent.mkdir(parents=True)
        (catalog.home / name).write_bytes(b"the memo")
    export(stocked, tmp_path / "library.zip", ["letters"], files=[stocked.home / name])
    import_archive(empty, tmp_path / "library.zip")
    empty.drop("letters")
    (empty.home / name).write_bytes(b"another")
    with pytest.raises(BadArchive, match=r"another file .*memo.txt than lies there: move that"):
        import_archive(empty, tmp_path / "library.zip")
    assert (empty.home / name).read_bytes() == b"another"


def test_only_uploads_can_come_along(stocked: Catalog, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.touch()
    inside = stocked.home / "attest.toml"
    inside.touch()
    linked = stocked.home / "uploads" / "link.txt"
    linked.parent.mkdir()
    linked.symlink_to(outside)
    for file in (outside, inside, linked):
        with pytest.raises(ValueError, match="only what does can come along"):
            export(stocked, tmp_path / "library.zip", files=[file])


def test_an_export_that_fails_leaves_the_earlier_one(stocked: Catalog, tmp_path: Path) -> None:
    file = tmp_path / "library.zip"
    export(stocked, file, ["letters"])
    before = file.read_bytes()
    with stocked.database.writing() as connection:
        connection.execute(delete(ChunkRow))
    with pytest.raises(StorageError, match="has lost its chunks: run `attest rebuild`"):
        export(stocked, file)
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["library.zip"]


def test_an_export_is_of_one_moment(stocked: Catalog, empty: Catalog, tmp_path: Path) -> None:
    """Documents that come and go while it runs are in it whole or not at all."""
    stop = threading.Event()

    def write() -> None:
        i = 0
        while not stop.is_set():
            new = document(f"w{i % 5}.txt", *(f"passage {i} {n}" for n in range(1 + i % 3)))
            stocked.add("default", new, vectors_of(new), MODEL.fingerprint)
            i += 1

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(5):
            export(stocked, tmp_path / "library.zip", ["default"])
            import_archive(empty, tmp_path / "library.zip")
            assert verify(empty).problems == ()
            empty.drop("default")
    finally:
        stop.set()
        thread.join()


def _rewritten(file: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    changed = file.with_name("changed.zip")
    with zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return changed


MANIFEST, DOCUMENTS, CHUNKS, VECTORS, DATA, QUESTIONS = (
    "manifest.json",
    "collections/0/documents.jsonl",
    "collections/0/chunks.jsonl",
    "collections/0/vectors.f16",
    "collections/0/adapter.bin",
    "collections/0/questions.jsonl",
)
ADAPTER = {
    "fingerprint": "adapted",
    "base": MODEL.fingerprint,
    "kind": "query",
    "made_at": "2024-05-31T00:00:00+00:00",
    "report": {"뜻": [1]},
    "size": 4,
}


def _edit(name: str, line: int = 0, **values: object) -> Callable[[dict[str, bytes]], None]:
    def change(members: dict[str, bytes]) -> None:
        lines = members[name].splitlines()
        lines[line] = json.dumps(json.loads(lines[line]) | values).encode()
        members[name] = b"\n".join(lines) + b"\n"

    return change


def _manifest(**values: object) -> Callable[[dict[str, bytes]], None]:
    def change(members: dict[str, bytes]) -> None:
        members[MANIFEST] = json.dumps(json.loads(members[MANIFEST]) | values).encode()

    return change


def _of_collection(**values: object) -> Callable[[dict[str, bytes]], None]:
    def change(members: dict[str, bytes]) -> None:
        manifest = json.loads(members[MANIFEST])
        manifest["collections"][0] |= values
        members[MANIFEST] = json.dumps(manifest).encode()

    return change


def _twice(name: str) -> Callable[[dict[str, bytes]], None]:
    def change(members: dict[str, bytes]) -> None:
        members[name] = members[name].splitlines(keepends=True)[0] * 2

    return change


def _set(name: str, data: bytes) -> Callable[[dict[str, bytes]], None]:
    return lambda members: members.update({name: data})


def _cut(name: str, end: int) -> Callable[[dict[str, bytes]], None]:
    return lambda members: members.update({name: members[name][:end]})


BAD: dict[str, tuple[Callable[[dict[str, bytes]], object], str]] = {
    "another format": (_manifest(format="zip"), "its format is 'zip', not 'attest-archive'"),
    "a later version": (_manifest(version=4), "of version 4, this program reads versions up to 3"),
    "no format": (_set(MANIFEST, b"{}"), "the manifest has no 'format'"),
    "no object": (_set(MANIFEST, b"[]"), "the manifest is a value, not of type dict"),
    "no JSON": (_set(MANIFEST, b"{"), "manifest.json is no JSON"),
    "deep JSON": (_set(MANIFEST, b"[" * 100_000), "manifest.json is no JSON"),
    "no member": (lambda members: members.pop(CHUNKS), r"its members are not .*chunks.jsonl"),
    "a stray member": (_set("more.txt", b""), r"its members are not .*more.txt"),
    "a weight": (_of_collection(fusion_weight=1.5), "a fusion weight of the manifest is 1.5"),
    "another weight": (_of_collection(rerank_weight=-1), "a rerank weight of the manifest is -1"),
    "another adapter": (
        _of_collection(adapter=ADAPTER | {"base": "another"}),
        "an adapter of the manifest is for the model 'another', its collection has 'fingerprint-of",
    ),
    "no number": (
        _of_collection(adapter=ADAPTER | {"report": {"gain": [math.nan]}}),
        "an adapter of the manifest has 'report' nan, not a number that JSON has",
    ),
    "a huge adapter": (_of_collection(adapter=ADAPTER | {"size": 2**40}), "has 'size' 1099511627"),
    "no adapter": (_of_collection(adapter=None), r"its members are not .*adapter.bin"),
    "less of an adapter": (_cut(DATA, 3), "adapter.bin ends 1 bytes too early"),
    "more of an adapter": (_set(DATA, b"12345"), "adapter.bin goes on where it should end"),
    "no questions": (_of_collection(questions=None), r"its members are not .*questions.jsonl"),
    "more questions": (_of_collection(questions=9), "questions.jsonl ends before line 3"),
    "fewer questions": (_of_collection(questions=1), "questions.jsonl goes on where it should end"),
    "a question of no text": (_edit(QUESTIONS, text=""), "has 'text' '', not a name"),
    "a question twice": (_twice(QUESTIONS), "line 2 of .* is a question that was there before"),
    "a judgement": (
        _edit(QUESTIONS, 0, judgements=[{"kind": "liked"}]),
        "a judgement of line 1 of .* is of the kind 'liked'",
    ),
    "a long name": (_of_collection(name="n" * 256), "a 'name' of 256 characters, 255 at most"),
    "dimensions": (
        _of_collection(model={"name": "m", "fingerprint": "f", "dimensions": 0}),
        "'dimensions' 0, not a whole number from 1 to 65536",
    ),
    "fewer documents": (_of_collection(documents=1), "documents.jsonl goes on where it should end"),
    "more documents": (_of_collection(documents=99), "documents.jsonl ends before line"),
    "fewer chunks": (_of_collection(chunks=2), "has more chunks than the manifest says"),
    "more chunks": (_of_collection(chunks=99), "chunks and 0 vectors fewer than the manifest"),
    "fewer vectors": (_of_collection(vectors=2), "has more vectors than the manifest says"),
    "a status": (_edit(DOCUMENTS, status="new"), "line 1 of .* has the status 'new'"),
    "a bool": (_edit(DOCUMENTS, size=True), "has 'size' True, not a whole number"),
    "a big size": (_edit(DOCUMENTS, size=2**63), "has 'size' 9223372036854775808, not"),
    "a hash": (_edit(DOCUMENTS, sha256="xyz"), "has the hash 'xyz'"),
    "a title": (_edit(DOCUMENTS, title=None), "has 'title' None, not of type str"),
    "a NUL": (_edit(DOCUMENTS, title="a\0b"), "not text that a database can hold"),
    "half a pair": (_edit(DOCUMENTS, title="\ud800"), "not text that a database can hold"),
    "half a pair inside": (
        _edit(DOCUMENTS, layout={"a": [{"b": "\udfff"}]}),
        "not text that a database can hold",
    ),
    "a tag": (_edit(DOCUMENTS, tags=["t" * 256]), "a 'tags' of 256 characters, 255 at most"),
    "a date": (_edit(DOCUMENTS, added="today"), "'added' 'today', not a time in ISO 8601"),
    "no text": (_edit(DOCUMENTS, text=None), "is indexed, with 3 chunks and no text"),
    "no chunks": (_edit(DOCUMENTS, chunks=0), "is indexed, with 0 chunks and"),
    "a shorter text": (_edit(DOCUMENTS, text="first"), "of a text of 5 characters"),
    "the same path": (_edit(DOCUMENTS, 1, path="a/한글 문서.txt"), "the path of another document"),
    "the same content": (
        lambda members: _edit(
            DOCUMENTS, 1, sha256=json.loads(members[DOCUMENTS].splitlines()[0])["sha256"]
        )(members),
        "has the content of another document",
    ),
    "a lost original": (_edit(DOCUMENTS, 4, sha256="0" * 63 + "1"), "is a duplicate of a document"),
    "a path astray": (
        _edit(DOCUMENTS, path="../../etc/passwd", in_home=True),
        "has the path '../../etc/passwd', which leads out of the home",
    ),
    "an absolute path": (_edit(DOCUMENTS, path="/etc/passwd", in_home=True), "leads out"),
    "a drive": (_edit(DOCUMENTS, path="C:/Windows/x", in_home=True), "leads out"),
    "a backslash": (_edit(DOCUMENTS, path="..\\x", in_home=True), "leads out"),
    "an empty slice": (_edit(CHUNKS, start=3, end=3), r"line 1 of .* is \[3:3\] of a text"),
    "a slice beyond": (_edit(CHUNKS, end=10_000), r"is \[0:10000\] of a text of"),
    "a negative slice": (_edit(CHUNKS, start=-1), "has 'start' -1, not a whole number from 0"),
    "a page": (_edit(CHUNKS, page="1"), "has 'page' '1', not a whole number"),
    "a heading": (_edit(CHUNKS, heading="Part"), "has 'heading' 'Part', not of type list"),
    "a vector less": (_cut(VECTORS, -16), "vectors.f16 ends 16 bytes too early"),
    "half a vector": (_cut(VECTORS, -3), "vectors.f16 ends 3 bytes too early"),
    "a vector more": (
        lambda members: members.update({VECTORS: members[VECTORS] + b"\0" * 16}),
        "vectors.f16 goes on where it should end",
    ),
    "a zero vector": (
        lambda members: members.update({VECTORS: b"\0" * 16 + members[VECTORS][16:]}),
        "vector 1 of collections/0/vectors.f16 is damaged: its length is not 1",
    ),
    "a NaN": (
        lambda members: members.update({VECTORS: b"\0\x7e" * 8 + members[VECTORS][16:]}),
        "vector 1 of collections/0/vectors.f16 is damaged",
    ),
    "a file astray": (_set("files/../x", b""), r"has the path '../x', which leads out"),
    "an absolute file": (_set("files//etc/x", b""), "has the path '/etc/x', which leads out"),
    "a file elsewhere": (_set("files/attest.toml", b""), "does not lie in uploads"),
    "a file by detour": (_set("files/uploads/../attest.db", b""), "which leads out of the home"),
    "the folder itself": (_set("files/uploads", b""), "does not lie in uploads"),
}


@pytest.fixture
def file(stocked: Catalog, tmp_path: Path) -> Path:
    export(stocked, tmp_path / "library.zip", history=True)
    return tmp_path / "library.zip"


def _untouched(catalog: Catalog) -> bool:
    left = {path.name for path in catalog.home.iterdir()}
    return catalog.collections() == [] and left <= {
        "attest.db",
        "attest.db-wal",
        "attest.db-shm",
    } | {"attest.lock"}


@pytest.mark.parametrize("url", [None])
def test_bad_archives_are_told_and_leave_nothing(file: Path, tmp_path: Path) -> None:
    with Catalog(tmp_path / "other home") as empty:
        for name, (change, message) in BAD.items():
            changed = _rewritten(file, change)  # type: ignore[arg-type]
            with pytest.raises(BadArchive, match=message) as raised:
                import_archive(empty, changed)
            assert str(raised.value).startswith(f"{changed} cannot be imported: "), name
            assert _untouched(empty), name


@pytest.mark.parametrize("url", [None])
@pytest.mark.parametrize("damage", ["no archive", "cut", "flipped", "encrypted", "twice"])
def test_damaged_archives_are_told(file: Path, tmp_path: Path, damage: str) -> None:
    data = file.read_bytes()
    with Catalog(tmp_path / "other home") as empty:
        match damage:
            case "no archive":
                file.write_bytes(b"some text")
            case "cut":
                file.write_bytes(data[: len(data) // 2])
            case "flipped":
                middle = data.index(b"documents.jsonl") + 200
                file.write_bytes(data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :])
            case "encrypted":
                with zipfile.ZipFile(file) as archive:
                    starts = [info.header_offset for info in archive.infolist()]
                changed = bytearray(data)
                for start in starts:
                    changed[start + 6] |= 1
                at = data.index(b"PK\x01\x02")
                while at >= 0:
                    changed[at + 8] |= 1
                    at = data.find(b"PK\x01\x02", at + 1)
                file.write_bytes(bytes(changed))
            case "twice":
                with (
                    pytest.warns(UserWarning, match="Duplicate name"),
                    zipfile.ZipFile(file, "a") as archive,
                ):
                    archive.writestr(MANIFEST, archive.read(MANIFEST))
        with pytest.raises(BadArchive, match="cannot be imported"):
            import_archive(empty, file)
        assert _untouched(empty)


@pytest.mark.parametrize("url", [None])
def test_what_unpacks_to_far_too_much_is_refused(file: Path, tmp_path: Path) -> None:
    bomb = _rewritten(file, _set("files/uploads/bomb.txt", b"\0" * (80 << 20)))
    with (
        Catalog(tmp_path / "other home") as empty,
        pytest.raises(BadArchive, match=r"its 0 MB unpack to 83 MB, more than 200 times as much"),
    ):
        import_archive(empty, bomb)


@pytest.mark.parametrize("url", [None])
def test_a_failure_takes_the_files_away_again(stocked: Catalog, tmp_path: Path) -> None:
    upload = stocked.home / "uploads" / "0f" / "memo.txt"
    upload.parent.mkdir(parents=True)
    upload.write_bytes(b"the memo")
    export(stocked, tmp_path / "library.zip", files=[upload])
    changed = _rewritten(tmp_path / "library.zip", _cut(VECTORS, -16))
    with Catalog(tmp_path / "other home") as empty:
        with pytest.raises(BadArchive, match="too early"):
            import_archive(empty, changed)
        assert not list(empty.home.rglob("memo.txt"))
        assert import_archive(empty, tmp_path / "library.zip") == ["default", "letters"]
        moved = empty.home / "uploads" / "0f" / "memo.txt"
        assert moved.read_bytes() == b"the memo"
        assert not moved.stat().st_mode & stat.S_IXUSR


@pytest.mark.parametrize("url", [None])
def test_a_link_in_the_home_leads_no_file_astray(stocked: Catalog, tmp_path: Path) -> None:
    upload = stocked.home / "uploads" / "0f" / "memo.txt"
    upload.parent.mkdir(parents=True)
    upload.touch()
    export(stocked, tmp_path / "library.zip", files=[upload])
    outside = tmp_path / "outside"
    outside.mkdir()
    with Catalog(tmp_path / "other home") as empty:
        (empty.home / "uploads").mkdir()
        os.symlink(outside, empty.home / "uploads" / "0f")
        with pytest.raises(BadArchive, match="does not lie in uploads"):
            import_archive(empty, tmp_path / "library.zip")
    assert list(outside.iterdir()) == []


def test_conversations_and_fits_come_along_with_ids_of_the_new_home(
    stocked: Catalog, empty: Catalog, tmp_path: Path
) -> None:
    row = stocked.find("default", "b.txt")
    first = stocked.chunk_ids(row.id)[0]
    talks = Conversations(stocked.database)
    answer = {
        "citations": [{"chunk_id": first, "document": {"id": row.id, "path": row.path}}],
        "passages": [{"chunk_id": 9999, "document": {"id": 9999, "path": "gone.txt"}}],
    }
    uid, message = talks.ask("default", "", "무엇이 바뀌었나?", title="바뀐 것")
    talks.settle(message, "answered", "다 바뀌었다.", answer)
    talks.think(uid, "", message, "up", "good")
    talks.ask("default", "key 3", "secret of a program", title="of a key")
    fitted = {"threshold": -0.5, "scale": 1.5, "curve": [{"answered_pct": 5.0, "wrong_pct": 0.0}]}
    stocked.calibrate("default", encoder="e+judge", generator="", fitted=fitted)
    stocked.keep_evaluation("default", "retrieval", {"queries": 3})
    file = tmp_path / "library.zip"
    export(stocked, file, history=True)
    import_archive(empty, file)

    there = Conversations(empty.database)
    (head,) = there.listed("default", "")
    assert head.title == "바뀐 것"
    assert head.uid != uid
    assert there.count("default") == 1  # a key of the same number here is another one
    ((said,),) = there.read(head.uid, "")[1:]
    assert (said.state, said.thumb, said.note) == ("answered", "up", "good")
    assert said.answer is not None
    (citation,), (passage,) = said.answer["citations"], said.answer["passages"]
    moved = empty.find("default", "b.txt")
    assert citation["document"] == {"id": moved.id, "path": row.path}
    assert citation["chunk_id"] == empty.chunk_ids(moved.id)[0]
    assert (passage["chunk_id"], passage["document"]["id"]) == (0, 0)
    fit = empty.calibration("default", encoder="e+judge", generator="")
    assert fit is not None
    assert fit.fitted == fitted
    assert [one.figures for one in empty.evaluations("default")] == [{"queries": 3}]

    empty.clear()
    export(stocked, file)
    with zipfile.ZipFile(file) as archive:
        assert not any("바뀌었나".encode() in archive.read(name) for name in archive.namelist())
    import_archive(empty, file)
    assert there.count("default") == 0
    assert empty.calibration("default", encoder="e+judge", generator="") is not None


@pytest.mark.parametrize("url", [None])
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"fitted": {"threshold": "x", "scale": 1}}, "threshold and scale"),
        ({"fitted": {"threshold": 0.0, "scale": 0}}, "threshold and scale"),
        ({"encoder": 7}, "'encoder' 7"),
    ],
)
def test_a_fit_that_cannot_be_is_refused(
    stocked: Catalog, tmp_path: Path, change: dict[str, object], told: str
) -> None:
    stocked.calibrate("default", encoder="e", generator="", fitted={"threshold": 0, "scale": 1})
    file = tmp_path / "library.zip"
    export(stocked, file)

    def spoil(members: dict[str, bytes]) -> None:
        manifest = json.loads(members[MANIFEST])
        manifest["collections"][0]["calibrations"][0] |= change
        members[MANIFEST] = json.dumps(manifest).encode()

    with Catalog(tmp_path / "other home") as empty, pytest.raises(BadArchive, match=told):
        import_archive(empty, _rewritten(file, spoil))
