"""Words first, vectors later: the two sides of a chunk come, stay and go each in its own time."""

import unicodedata

import numpy as np
import pytest

from index import Catalog, Collection, Model
from index.chunk_rows import chunk_key
from index.errors import ModelMismatch, UnknownDocument
from tests.index.library import document, feed_of, rejected, vector_of, vectors_of

ON_EACH_ENGINE = True


def _texts(collection: Collection, ids: object) -> list[str]:
    return sorted(chunk.text for chunk in collection.chunks(np.asarray(ids)))


def test_words_are_found_before_the_vectors_are_there(
    collection: Collection, catalog: Catalog
) -> None:
    new = document("a.txt", "the pump", "the crane")
    stored = collection.add(new, None)
    assert (stored.chunks, stored.pending) == (2, 2)
    assert _texts(collection, collection.lexical("pump").ids) == ["the pump"]
    assert not collection.dense(vector_of("the pump")).ids.size
    waiting = catalog.waiting("default")
    assert [(each.title, each.heading, each.text) for each in waiting] == [
        ("A title", ("Part", "Heading"), "the pump"),
        ("A title", ("Part", "Heading"), "the crane"),
    ]
    assert collection.add_vectors([waiting[1].id], vectors_of(new)[1:]) == 1
    assert _texts(collection, collection.dense(vector_of("x")).ids) == ["the crane"]
    assert catalog.document(stored.id).pending == 1
    assert collection.add_vectors([waiting[0].id], vectors_of(new)[:1]) == 1
    assert len(collection.dense(vector_of("x")).ids) == 2
    assert catalog.waiting("default") == []
    assert collection.lexical("pump").ids.size == 1


def test_vectors_touch_only_their_side_of_the_log(collection: Collection, catalog: Catalog) -> None:
    new = document("a.txt", "the pump")
    collection.add(new, None)
    feed = feed_of(catalog)
    words, vectors = feed.latest("text"), feed.latest("vector")
    assert vectors == 0
    (waiting,) = catalog.waiting("default")
    collection.add_vectors([waiting.id], vectors_of(new))
    assert feed.latest("text") == words
    assert feed.latest("vector") > words


def test_waiting_chunks_come_in_pieces(collection: Collection, catalog: Catalog) -> None:
    collection.add(document("a.txt", *(f"passage {i}" for i in range(5))), None)
    first = catalog.waiting("default", limit=3)
    assert len(first) == 3
    rest = catalog.waiting("default", after=first[-1].id, limit=3)
    assert [each.text for each in rest] == ["passage 3", "passage 4"]


def test_vectors_of_chunks_that_went_are_passed_over(
    collection: Collection, catalog: Catalog
) -> None:
    new, other = document("a.txt", "the pump"), document("b.txt", "the crane")
    collection.add(new, None)
    collection.add(other, None)
    gone, left = catalog.waiting("default")
    collection.add(document("a.txt", "the winch"), None)
    ids = np.array([gone.id, left.id, 999])
    rows = np.concatenate([vectors_of(new), vectors_of(other), vectors_of(other)])
    assert collection.add_vectors(ids, rows) == 1
    assert collection.add_vectors(ids, rows) == 0  # it has one now
    found = collection.dense(vector_of("the crane"))
    assert _texts(collection, found.ids) == ["the crane"]
    assert found.scores[0] == pytest.approx(1, abs=1e-3)
    assert [each.text for each in catalog.waiting("default")] == ["the winch"]


def test_vectors_of_another_model_or_shape_are_refused(
    collection: Collection, catalog: Catalog
) -> None:
    new = document("a.txt", "the pump")
    collection.add(new, None)
    (waiting,) = catalog.waiting("default")
    with pytest.raises(ModelMismatch, match="holds vectors of tiny"):
        catalog.add_vectors("default", [waiting.id], vectors_of(new), "another")
    with pytest.raises(ValueError, match=r"1 chunks of tiny need vectors of shape \(1, 8\), not"):
        collection.add_vectors([waiting.id], np.ones((2, 8), np.float32))
    assert catalog.counts("default").vectors == 0


def test_an_update_keeps_the_vectors_of_what_reads_the_same(
    collection: Collection, catalog: Catalog
) -> None:
    new = document("a.txt", "the pump", "the crane")
    key = collection.add(new, vectors_of(new)).id
    known = catalog.known_vectors(key)
    kept = known[chunk_key("A title", ("Part", "Heading"), "the crane")]
    expected = vector_of("the crane") / np.linalg.norm(vector_of("the crane"))
    assert kept == pytest.approx(expected, abs=1e-3)
    assert chunk_key("A title", (), "the crane") not in known
    collection.add(document("b.txt", "waits"), None)
    assert catalog.known_vectors(catalog.find("default", "b.txt").id) == {}


def test_a_pending_document_keeps_waiting_when_it_moves_to_a_duplicate(
    collection: Collection, catalog: Catalog
) -> None:
    original = collection.add(document("a.txt", "the pump"), None).id
    heir = collection.add(document("b.txt", "the pump"), None).id
    collection.remove(original)
    assert catalog.document(heir).pending == 1
    (waiting,) = catalog.waiting("default")
    collection.add_vectors([waiting.id], vector_of("the pump")[None])
    assert len(collection.dense(vector_of("x"), documents=[heir]).ids) == 1
    assert len(collection.lexical("pump", documents=[heir]).ids) == 1


def test_a_renamed_document_keeps_its_chunks(collection: Collection, catalog: Catalog) -> None:
    new = document("dir/old.txt", "the pump", title="old")
    key = collection.add(new, vectors_of(new)).id
    copy = collection.add(document("copy.txt", "the pump"), None)
    ids = catalog.chunk_ids(key)
    seq = feed_of(catalog).latest("text")
    renamed = catalog.rename(key, "dir/new.txt", "2024-05-31T00:00:00+00:00")
    assert (renamed.id, renamed.path, renamed.title) == (key, "dir/new.txt", "new")
    assert renamed.modified == "2024-05-31T00:00:00+00:00"
    assert catalog.chunk_ids(key) == ids
    assert feed_of(catalog).latest("text") == seq  # nothing to do for the indexes
    assert catalog.document(copy.id).reason == "same content as dir/new.txt"
    with pytest.raises(UnknownDocument, match="no document 999"):
        catalog.rename(999, "x", None)


def test_a_rename_replaces_what_was_at_the_new_path(
    collection: Collection, catalog: Catalog
) -> None:
    collection.reject(rejected("b.txt"))
    new = document("a.txt", "the pump")
    key = collection.add(new, vectors_of(new)).id
    catalog.rename(key, "b.txt", None)
    (stored,) = catalog.documents("default")
    assert (stored.id, stored.path, stored.status) == (key, "b.txt", "indexed")


def test_a_rename_to_the_same_path_changes_nothing(
    collection: Collection, catalog: Catalog
) -> None:
    new = document("a.txt", "the pump")
    key = collection.add(new, vectors_of(new)).id
    assert catalog.rename(key, "a.txt", None).chunks == 1


def test_a_duplicate_renamed_onto_its_original_takes_its_place(
    collection: Collection, catalog: Catalog
) -> None:
    new = document("a.txt", "the pump")
    collection.add(new, vectors_of(new))
    heir = collection.add(document("b.txt", "the pump"), None).id
    other = collection.add(document("c.txt", "the pump"), None).id
    assert catalog.rename(heir, "a.txt", None).status == "indexed"
    assert catalog.document(other).reason == "same content as a.txt"
    assert len(collection.dense(vector_of("x"), documents=[heir]).ids) == 1


def test_tags_are_put_on_and_taken_off(collection: Collection, catalog: Catalog) -> None:
    new = document("a.txt", "the pump")
    key = collection.add(new, vectors_of(new)).id
    assert catalog.tag(key, add=["law", "draft", "law"]).tags == ("draft", "law")
    assert catalog.tag(key, add=["법"], remove=["draft", "none"]).tags == ("law", "법")
    collection.add(document("a.txt", "the crane"), None)
    assert catalog.document(key).tags == ("law", "법")  # an update keeps them
    collection.remove(key)
    with catalog.database.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM tag").scalar() == 0
    with pytest.raises(UnknownDocument, match=f"no document {key}"):
        catalog.tag(key, add=["law"])


def test_touching_notes_the_date_alone(collection: Collection, catalog: Catalog) -> None:
    new = document("a.txt", "the pump")
    key = collection.add(new, vectors_of(new)).id
    seq = feed_of(catalog).latest("text")
    catalog.touch(key, "2024-05-31T00:00:00+00:00")
    assert catalog.document(key).modified == "2024-05-31T00:00:00+00:00"
    assert feed_of(catalog).latest("text") == seq


def test_paths_keep_the_order_of_code_points(collection: Collection, catalog: Catalog) -> None:
    paths = [
        "Z.txt",
        "a b.txt",
        "a.txt",
        "a_b.txt",
        "É.txt",
        "é.txt",
        "가.txt",
        "나.txt",
        "\U00020000.txt",
    ]
    for path in [*paths, unicodedata.normalize("NFD", "각.txt")]:
        collection.reject(rejected(path))
    found = [row.path for row in catalog.documents("default")]
    assert found == sorted(found)
    for name in ("b", "A", "B", "a"):
        catalog.create(name, Model("m", "f", 1))
    assert [each.name for each in catalog.collections()] == ["A", "B", "a", "b", "default"]
