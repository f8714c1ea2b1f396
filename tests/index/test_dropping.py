import numpy as np
import pytest

from index import Catalog, Collection, Model
from index.errors import CollectionBusy, CollectionExists, UnknownCollection
from index.jobs import Jobs
from index.keys import Keys
from index.verify import verify
from tests.index.library import (
    MODEL,
    document,
    feed_of,
    kept_indexes,
    reopened,
    vector_of,
    vectors_of,
)

ON_EACH_ENGINE = True


def _add(collection: Collection, path: str, *passages: str) -> int:
    new = document(path, *passages)
    return collection.add(new, vectors_of(new)).id


@pytest.fixture
def stocked(catalog: Catalog) -> Catalog:
    for name in ("default", "letters"):
        collection = Collection.open(catalog, name, MODEL)
        catalog.tag(_add(collection, "a.txt", "the pump", "the crane"), add=["law"])
        collection.rebuild()
    return catalog


def _rows(catalog: Catalog) -> dict[str, int]:
    tables = ("collection", "document", "tag", "chunk", "vector", "change")
    with catalog.database.reading() as connection:
        count = "SELECT count(*) FROM {}"
        return {
            name: connection.exec_driver_sql(count.format(name)).scalar_one() for name in tables
        }


def test_a_dropped_collection_leaves_nothing(stocked: Catalog) -> None:
    assert kept_indexes(stocked) == 2
    stocked.drop("letters")
    assert _rows(stocked) == {
        "collection": 1,
        "document": 1,
        "tag": 1,
        "chunk": 2,
        "vector": 2,
        "change": 4,
    }
    assert kept_indexes(stocked) == 1
    assert Collection.open(stocked, "default", MODEL).lexical("pump").ids.size == 1
    assert verify(stocked).problems == ()
    with pytest.raises(UnknownCollection, match=r"no collection 'letters': there are default"):
        stocked.drop("letters")


def test_indexes_of_a_model_on_the_way_go_too(stocked: Catalog) -> None:
    wide = Model("wide", "fingerprint-of-wide", 12)
    move = stocked.move("letters", wide)
    (text,) = move.texts(0, 10)
    move.add(text, [document("x", text.text.replace("\n", " ")).chunks[0]], np.ones((1, 12)))
    Collection.open(stocked, "letters", MODEL).prepare(wide)
    assert kept_indexes(stocked) == 3
    stocked.drop("letters")
    assert kept_indexes(stocked) == 1


def test_a_cleared_home_is_empty_and_goes_on_counting(stocked: Catalog) -> None:
    latest = feed_of(stocked).latest("vector")
    documents = max(row.id for row in stocked.documents("letters"))
    stocked.clear()
    assert set(_rows(stocked).values()) == {0}
    assert kept_indexes(stocked) == 0
    collection = Collection.open(stocked, "default", MODEL)
    key = _add(collection, "a.txt", "the winch")
    assert key > documents
    assert stocked.chunk_ids(key) == [5]
    assert stocked.collection("default").id == 3
    assert feed_of(stocked).latest("text") > latest
    assert collection.lexical("pump winch").ids.tolist() == [5]
    stocked.clear()
    stocked.clear()
    assert stocked.collections() == []


def test_who_had_it_open_finds_nothing_and_can_begin_anew(stocked: Catalog) -> None:
    """As a server does, beside which another process resets the home."""
    collection = Collection.open(stocked, "default", MODEL)
    _add(collection, "b.txt", "the winch")
    assert len(collection.dense(vector_of("x")).ids) == 3
    with reopened(stocked) as elsewhere:
        elsewhere.clear()
    assert not collection.dense(vector_of("x")).ids.size
    assert not collection.lexical("pump").ids.size
    assert collection.documents() == []
    _add(collection, "b.txt", "the winch")
    assert len(collection.dense(vector_of("x")).ids) == 1
    assert collection.lexical("pump winch").ids.size == 1


def test_a_collection_goes_by_another_name_with_its_keys(stocked: Catalog) -> None:
    keys, jobs = Keys(stocked.database), Jobs(stocked.database, "w")
    key, _ = keys.create("a", "read", ["letters", "other"])
    all_, _ = keys.create("b", "read", None)
    uid = stocked.collection("letters").uid
    waiting = jobs.put("add", "letters", {})
    with pytest.raises(CollectionBusy, match="'letters' has 1 jobs that are not done"):
        stocked.rename_collection("letters", "편지")
    jobs.cancel(waiting.id)
    stocked.rename_collection("letters", "편지")
    assert stocked.collection("편지").uid == uid
    assert Collection.open(stocked, "편지", MODEL).lexical("pump").ids.size == 1
    assert [each.collections for each in keys.all()] == [("other", "편지"), None]
    assert jobs.get(waiting.id).collection == "편지"
    assert (key.id, all_.id) == (1, 2)
    with pytest.raises(CollectionExists, match="there is a collection 'default' already"):
        stocked.rename_collection("편지", "default")
    with pytest.raises(UnknownCollection, match="no collection 'letters'"):
        stocked.rename_collection("letters", "x")
    stocked.rename_collection("default", "default")
