from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from index import Catalog, Chunk, Collection, Model
from index.errors import ModelMismatch
from index.records import StoredText
from index.reembedding import Move, clear_others
from index.verify import verify
from tests.index.library import MODEL, document, kept_indexes, reopened, vector_of, vectors_of

ON_EACH_ENGINE = True

NEW = Model("wide", "fingerprint-of-wide", 12)


def _add(collection: Collection, path: str, *passages: str) -> int:
    new = document(path, *passages)
    return collection.add(new, vectors_of(new)).id


def _wide(n: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((n, NEW.dimensions)).astype(np.float32)


def _cut(text: StoredText) -> list[Chunk]:
    """The whole text as one chunk: another cut than that of the old model."""
    return [Chunk(text.text, 0, len(text.text), None, (), 3)]


def _move_all(move: Move, after: int = 0) -> int:
    moved = 0
    for text in move.texts(after, 100):
        moved += move.add(text, _cut(text), _wide(1, text.id))
    return moved


@pytest.fixture
def stocked(collection: Collection) -> Collection:
    for path in "abc":
        _add(collection, path, f"pump {path}", f"crane {path}")
    return collection


def _words(catalog: Catalog, query: str) -> list[str]:
    collection = Collection.open(catalog, "default")
    return sorted(chunk.text for chunk in collection.chunks(collection.lexical(query).ids))


def test_a_collection_moves_whole(stocked: Collection, catalog: Catalog) -> None:
    _add(stocked, "copy", "pump a", "crane a")
    move = catalog.move("default", NEW)
    assert move.left() == 3
    assert [text.path for text in move.texts(0, 2)] == ["a", "b"]
    assert [text.path for text in move.texts(move.texts(0, 2)[-1].id, 2)] == ["c"]
    assert _move_all(move) == 3
    assert move.left() == 0
    assert move.finish()
    assert catalog.collection("default").model == NEW
    assert catalog.clear_former("default") == 6
    assert catalog.clear_former("default") == 0
    counts = catalog.counts("default")
    assert (counts.chunks, counts.vectors, counts.former) == (3, 3, 0)
    assert _words(catalog, "pump") == ["pump a\ncrane a", "pump b\ncrane b", "pump c\ncrane c"]
    moved = Collection.open(catalog, "default", NEW)
    assert len(moved.dense(_wide(1)[0]).ids) == 3
    assert verify(catalog).problems == ()


def test_texts_come_with_what_is_needed_to_cut_them(catalog: Catalog) -> None:
    catalog.create("default", MODEL)
    layout = {"pages": [{"start": 0, "number": 7}]}
    new = replace(document("dir/plain.txt", "본문", title="plain"), layout=layout)
    catalog.add("default", new, vectors_of(new), MODEL.fingerprint)
    (text,) = catalog.move("default", NEW).texts(0, 10)
    assert (text.path, text.text, text.layout) == ("dir/plain.txt", "본문", layout)
    assert text.title == ""  # it only repeats the file name


def test_until_the_switch_the_old_model_answers(stocked: Collection, catalog: Catalog) -> None:
    before = stocked.dense(vector_of("pump a"))
    words = stocked.lexical("pump")
    move = catalog.move("default", NEW)
    _move_all(move)
    assert catalog.counts("default").former == 3
    assert [row.chunks for row in catalog.documents("default")] == [2, 2, 2]
    for opened in (stocked, Collection.open(catalog, "default", MODEL)):
        after = opened.dense(vector_of("pump a"))
        assert after.ids.tolist() == before.ids.tolist()
        assert opened.lexical("pump").ids.tolist() == words.ids.tolist()
    assert verify(catalog).problems == ()
    assert move.finish()
    with pytest.raises(ModelMismatch, match=r"holds vectors of wide .* not of tiny"):
        stocked.dense(vector_of("pump a"))
    assert verify(catalog).problems == ()  # the old chunks are counted, and not yet cleared away


def test_a_move_that_was_killed_goes_on(stocked: Collection, catalog: Catalog) -> None:
    first = catalog.move("default", NEW)
    (text, *_) = first.texts(0, 10)
    assert first.add(text, _cut(text), _wide(1))
    with reopened(catalog) as later:
        move = later.move("default", NEW)
        assert move.left() == 2
        assert [each.path for each in move.texts(0, 10)] == ["b", "c"]
        assert not move.add(text, _cut(text), _wide(1))  # it has them already
        assert _move_all(move) == 2
        assert move.finish()


def test_a_switch_waits_for_the_last_document(stocked: Collection, catalog: Catalog) -> None:
    move = catalog.move("default", NEW)
    _move_all(move, after=move.texts(0, 1)[0].id)
    assert move.left() == 1
    assert not move.finish()
    assert catalog.collection("default").model == MODEL
    _move_all(move)
    assert move.finish()


def test_a_document_that_changed_meanwhile_is_moved_again(
    stocked: Collection, catalog: Catalog
) -> None:
    move = catalog.move("default", NEW)
    texts = {text.path: text for text in move.texts(0, 10)}
    _add(stocked, "a", "winch a")
    stocked.remove(texts["b"].id)
    assert not move.add(texts["a"], _cut(texts["a"]), _wide(1))
    assert not move.add(texts["b"], _cut(texts["b"]), _wide(1))
    assert move.add(texts["c"], _cut(texts["c"]), _wide(1))
    assert move.left() == 1
    # What has moved and changes then has to move once more.
    _add(stocked, "c", "winch c")
    assert move.left() == 2
    assert _move_all(move) == 2
    assert move.finish()
    assert catalog.clear_former("default") == 2
    assert _words(catalog, "winch") == ["winch a", "winch c"]
    assert verify(catalog).problems == ()


def test_what_is_added_during_a_move_comes_along(stocked: Collection, catalog: Catalog) -> None:
    move = catalog.move("default", NEW)
    _move_all(move)
    _add(stocked, "d", "winch d")
    assert _words(catalog, "winch") == ["winch d"]
    assert not move.finish()
    assert _move_all(move) == 1
    assert move.finish()
    new = document("e", "winch e")
    with pytest.raises(ModelMismatch, match="reembed"):
        catalog.add("default", new, vectors_of(new), MODEL.fingerprint)


def test_an_heir_takes_the_chunks_of_both_models(stocked: Collection, catalog: Catalog) -> None:
    heir = _add(stocked, "copy", "pump a", "crane a")
    move = catalog.move("default", NEW)
    _move_all(move)
    stocked.remove(catalog.find("default", "a").id)
    assert move.left() == 0
    assert move.finish()
    assert [chunk.text for chunk in catalog.chunks_of(heir)] == ["pump a\ncrane a"]
    assert verify(catalog).problems == ()


def test_indexes_that_were_prepared_are_those_of_the_new_model(
    stocked: Collection, catalog: Catalog
) -> None:
    move = catalog.move("default", NEW)
    _move_all(move)
    stocked.prepare(NEW)
    assert kept_indexes(catalog) >= 1
    assert verify(catalog).problems == ()  # its folder is no stray
    assert move.finish()
    moved = Collection.open(catalog, "default", NEW)
    assert len(moved.dense(_wide(1)[0]).ids) == len(moved.lexical("pump").ids) == 3


def test_clearing_keeps_what_a_collection_is_on_its_way_to(
    stocked: Collection, catalog: Catalog
) -> None:
    _move_all(catalog.move("default", NEW))
    abandoned = catalog.move("default", Model("third", "fingerprint-of-third", NEW.dimensions))
    _move_all(abandoned)
    assert catalog.counts("default").former == 6
    assert catalog.clear_former("default", keep=[NEW.fingerprint]) == 3
    assert catalog.move("default", NEW).left() == 0
    assert abandoned.left() == 3
    assert verify(catalog).problems == ()


def test_a_model_that_is_in_use_is_never_cleared(stocked: Collection, catalog: Catalog) -> None:
    assert clear_others(catalog.database, catalog.collection("default").id, ["other"]) == 0
    assert catalog.counts("default").chunks == 6


def test_indexes_of_a_former_model_are_cleared_too(stocked: Collection, catalog: Catalog) -> None:
    stocked.rebuild()
    move = catalog.move("default", NEW)
    _move_all(move)
    assert move.finish()
    Collection.open(catalog, "default", NEW).rebuild()
    assert kept_indexes(catalog) == 2
    catalog.clear_former("default")
    assert kept_indexes(catalog) == 1
    assert verify(catalog).problems == ()


def test_an_empty_collection_moves_at_once(catalog: Catalog) -> None:
    catalog.create("default", MODEL)
    move = catalog.move("default", NEW)
    assert move.texts(0, 10) == []
    assert move.finish()
    assert catalog.collection("default").model == NEW


def test_collections_of_several_models_are_counted_each_by_its_own(
    stocked: Collection, catalog: Catalog
) -> None:
    catalog.create("another", NEW)
    new = document("x", "pump x")
    catalog.add("another", new, _wide(1), NEW.fingerprint)
    assert [row.chunks for row in catalog.documents("another")] == [1]
    assert [row.chunks for row in catalog.documents("default")] == [2, 2, 2]
    assert [row.pending for row in catalog.documents("default")] == [0, 0, 0]
