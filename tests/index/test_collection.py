import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index import Catalog, Collection
from index.collection import living
from index.derived import DerivedIndexes
from index.records import Candidates, Ids
from tests.index.library import MODEL, document, reopened, vector_of, vectors_of
from tests.index.writer import finish, start

ON_EACH_ENGINE = True


def _add(collection: Collection, path: str, *passages: str) -> int:
    new = document(path, *passages)
    return collection.add(new, vectors_of(new)).id


def _texts(collection: Collection, found: Candidates) -> list[str]:
    return [chunk.text for chunk in collection.chunks(found.ids)]


def _dense(collection: Collection, text: str, documents: Ids | None = None) -> list[str]:
    return _texts(collection, collection.dense(vector_of(text), documents=documents))


def _lexical(collection: Collection, text: str, documents: Ids | None = None) -> list[str]:
    return _texts(collection, collection.lexical(text, documents=documents))


def test_both_sides_find_what_was_added(collection: Collection) -> None:
    assert not collection.dense(vector_of("pump")).ids.size
    assert not collection.lexical("pump").ids.size
    _add(collection, "a.txt", "the pump QX-808", "휴가는 15일이다")
    assert _dense(collection, "휴가는 15일이다")[0] == "휴가는 15일이다"
    assert _lexical(collection, "휴가") == ["휴가는 15일이다"]
    found = collection.dense(vector_of("the pump QX-808"), k=1)
    assert found.scores.tolist() == pytest.approx([1.0], abs=1e-3)
    assert collection.lexical("qx-808", k=1).scores.dtype == np.float32


def test_headings_and_titles_are_searched(collection: Collection) -> None:
    _add(collection, "a.txt", "the pump")
    assert _lexical(collection, "heading") == ["the pump"]
    assert _lexical(collection, "title") == ["the pump"]


def test_updates_and_removals_are_seen_by_both_sides(collection: Collection) -> None:
    key = _add(collection, "a.txt", "old pump", "old crane")
    assert len(_dense(collection, "x")) == 2
    _add(collection, "a.txt", "new pump")
    assert _dense(collection, "x") == _lexical(collection, "pump") == ["new pump"]
    collection.remove(key)
    assert _dense(collection, "x") == _lexical(collection, "pump") == []


def test_search_within_documents(collection: Collection) -> None:
    first = _add(collection, "a.txt", "pump one", "pump two")
    _add(collection, "b.txt", "pump three")
    third = _add(collection, "c.txt", "pump four")
    for search in (_dense, _lexical):
        assert sorted(search(collection, "pump", [first])) == ["pump one", "pump two"]
        both = search(collection, "pump", np.array([first, third, 999]))
        assert sorted(both) == ["pump four", "pump one", "pump two"]
        assert search(collection, "pump", []) == []


def test_chunks_that_move_to_a_duplicate_move_in_the_indexes(collection: Collection) -> None:
    original = _add(collection, "a.txt", "the pump")
    heir = _add(collection, "b.txt", "the pump")
    for search in (_dense, _lexical):
        assert search(collection, "pump", [heir]) == []
    collection.remove(original)
    for search in (_dense, _lexical):
        assert search(collection, "pump", [heir]) == ["the pump"]
        assert search(collection, "pump", [original]) == []


def test_what_another_instance_writes_is_found(collection: Collection, catalog: Catalog) -> None:
    with reopened(catalog) as elsewhere:
        other = Collection.open(elsewhere, "default", MODEL)
        key = _add(other, "a.txt", "the pump")
        assert _dense(collection, "x") == _lexical(collection, "pump") == ["the pump"]
        _add(collection, "b.txt", "the crane")
        assert sorted(_dense(other, "x")) == ["the crane", "the pump"]
        assert _lexical(other, "crane") == ["the crane"]
        other.remove(key)
        assert _dense(collection, "x") == ["the crane"]
        assert _lexical(collection, "pump") == []


def test_what_another_process_writes_is_found(collection: Collection, catalog: Catalog) -> None:
    _add(collection, "a.txt", "the pump")
    assert _lexical(collection, "pump crane") == _dense(collection, "x") == ["the pump"]
    finish(start(catalog, "replace", "a.txt", "crane"))
    assert sorted(_lexical(collection, "pump crane")) == ["first of crane", "second of crane"]
    assert sorted(_dense(collection, "x")) == ["first of crane", "second of crane"]


def test_a_chunk_deleted_while_the_search_ran_is_not_shown(
    collection: Collection, catalog: Catalog
) -> None:
    key = _add(collection, "a.txt", "the pump")
    _add(collection, "b.txt", "the crane")
    indexes = DerivedIndexes(catalog.engine, catalog.database, catalog.collection("default"), 1)
    index = indexes.dense()
    found, applied = index.search(vector_of("x"), 10), index.applied
    assert living(found, indexes.feed, "vector", applied) is found
    catalog.remove(key)
    assert len(found.ids) == 2
    assert living(found, indexes.feed, "vector", applied).ids.tolist() == [
        chunk.id for chunk in collection.chunks(found.ids)
    ]
    assert len(living(found, indexes.feed, "vector", applied).ids) == 1


IN_FOLDERS = pytest.mark.parametrize("milvus", ["embedded"], indirect=True)


@IN_FOLDERS
def test_derived_files_can_be_deleted(collection: Collection, catalog: Catalog) -> None:
    _add(collection, "a.txt", "the pump")
    collection.rebuild()
    (folder,) = (catalog.home / "indexes").iterdir()
    assert {path.name.split("-")[0] for path in folder.iterdir()} >= {"dense", "lexical"}
    shutil.rmtree(catalog.home / "indexes")
    # The same instance, with a change and without one, and a fresh instance.
    assert _lexical(collection, "pump") == ["the pump"]
    _add(collection, "b.txt", "the crane")
    for opened in (collection, Collection.open(catalog, "default", MODEL)):
        assert sorted(_dense(opened, "x")) == ["the crane", "the pump"]
        assert _lexical(opened, "crane") == ["the crane"]


@IN_FOLDERS
def test_a_damaged_file_is_made_again_from_the_database(
    collection: Collection, catalog: Catalog
) -> None:
    _add(collection, "a.txt", "the pump")
    collection.rebuild()
    (path,) = catalog.home.glob("indexes/*/dense-*")
    path.write_bytes(path.read_bytes()[:-1])
    again = Collection.open(catalog, "default", MODEL)
    assert _dense(again, "x") == ["the pump"]


def test_a_saved_index_follows_what_came_later(collection: Collection, catalog: Catalog) -> None:
    key = _add(collection, "a.txt", "the pump")
    _add(collection, "b.txt", "the crane")
    collection.rebuild()
    collection.remove(key)
    _add(collection, "c.txt", "the winch")
    again = Collection.open(catalog, "default", MODEL)
    assert sorted(_dense(again, "x")) == ["the crane", "the winch"]


def test_indexes_of_an_older_copy_of_the_database_start_anew(tmp_path: Path) -> None:
    with Catalog(tmp_path / "home") as catalog:
        collection = Collection.open(catalog, "default", MODEL)
        _add(collection, "a.txt", "the pump")
    shutil.copytree(tmp_path / "home", tmp_path / "copy")
    with Catalog(tmp_path / "home") as catalog:
        collection = Collection.open(catalog, "default", MODEL)
        _add(collection, "b.txt", "the crane")
        collection.rebuild()
    (tmp_path / "home" / "attest.db").write_bytes((tmp_path / "copy" / "attest.db").read_bytes())
    with Catalog(tmp_path / "home") as catalog:
        collection = Collection.open(catalog, "default", MODEL)
        assert _dense(collection, "x") == _lexical(collection, "pump crane") == ["the pump"]


def test_indexes_of_another_database_are_not_used(tmp_path: Path) -> None:
    for passage in ("the pump", "the crane"):
        with Catalog(tmp_path) as catalog:
            collection = Collection.open(catalog, "default", MODEL)
            _add(collection, "a.txt", passage)
            collection.rebuild()
            assert _dense(collection, passage) == _lexical(collection, "pump crane") == [passage]
            assert collection.dense(vector_of(passage)).scores[0] == pytest.approx(1, abs=1e-3)
        for path in tmp_path.glob("attest.db*"):
            path.unlink()


def test_collections_do_not_mix(collection: Collection, catalog: Catalog) -> None:
    other = Collection.open(catalog, "other", MODEL)
    _add(collection, "a.txt", "the pump")
    key = _add(other, "a.txt", "the other pump")
    for search in (_dense, _lexical):
        assert search(collection, "pump") == ["the pump"]
        assert search(other, "pump") == ["the other pump"]
        assert search(collection, "pump", [key]) == []


PATHS = st.sampled_from(["a", "b", "c"])
CONTENTS = st.sampled_from(["pump", "crane", "winch"])
STEPS = st.one_of(
    st.tuples(st.just("add"), PATHS, CONTENTS),
    st.tuples(st.just("remove"), PATHS),
    st.tuples(st.just("search")),
    st.tuples(st.just("reopen")),
)


@settings(max_examples=10, deadline=None, derandomize=True)
@given(st.lists(STEPS, min_size=4, max_size=12))
def test_any_history_leaves_what_a_dictionary_holds(steps: list[tuple[str, ...]]) -> None:
    held: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder, Catalog(Path(folder)) as catalog:
        collection = Collection.open(catalog, "default", MODEL)
        for step in [*steps, ("search",)]:
            match step:
                case "add", path, content:
                    _add(collection, path, f"the {content}")
                    held[path] = content
                case "remove", path if path in held:
                    collection.remove(catalog.find("default", path).id)
                    del held[path]
                case ("reopen",):
                    collection = Collection.open(catalog, "default", MODEL)
                case ("search",):
                    _check(catalog, collection, held)


def _check(catalog: Catalog, collection: Collection, held: dict[str, str]) -> None:
    """Each content is found once, at one of the paths that hold it."""
    contents = sorted({f"the {content}" for content in held.values()})
    assert sorted(_dense(collection, "x")) == contents
    assert sorted(_lexical(collection, "pump crane winch")) == contents
    for chunk in collection.chunks(collection.dense(vector_of("x")).ids):
        assert chunk.text == f"the {held[chunk.document.path]}"
    if held:
        stored = catalog.documents("default")
        assert [document.path for document in stored] == sorted(held)
        indexed = [document for document in stored if document.status == "indexed"]
        assert len(indexed) == len(contents)
        assert {document.status for document in stored} <= {"indexed", "duplicate"}


def test_all_vectors_come_with_their_documents(collection: Collection) -> None:
    first = _add(collection, "a.txt", "pump one", "pump two")
    second = _add(collection, "b.txt", "crane")
    found = collection.vectors()
    owners = [chunk.document.id for chunk in collection.chunks(found.ids.tolist())]
    assert found.documents.tolist() == owners == [first, first, second]
    assert np.linalg.norm(found.rows, axis=1) == pytest.approx(np.ones(3), abs=1e-3)
    collection.remove(first)
    assert collection.vectors().documents.tolist() == [second]
    assert [row.id for row in collection.documents()] == [second]
    assert collection.text(second) == "crane"
