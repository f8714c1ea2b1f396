import re
import unicodedata
from dataclasses import replace

import numpy as np
import pytest

from index import Catalog, Chunk, Collection, Model
from index.errors import (
    AmbiguousDocument,
    ModelMismatch,
    StorageError,
    UnknownCollection,
    UnknownDocument,
)
from tests.index.library import MODEL, document, feed_of, rejected, vectors_of


@pytest.fixture
def stocked(catalog: Catalog, collection: Collection) -> Catalog:
    for path in ("docs/한글.txt", "docs/b.txt", "old\\b.txt"):
        new = document(path, f"passage of {path}", "second")
        collection.add(new, vectors_of(new))
    return catalog


def test_a_collection_is_made_by_its_first_document(catalog: Catalog) -> None:
    collection = Collection.open(catalog, "default", MODEL)
    assert catalog.collections() == []
    new = document("a.txt", "one")
    collection.add(new, vectors_of(new))
    (stored,) = catalog.collections()
    assert (stored.name, stored.model, stored.fusion_weight) == ("default", MODEL, 0.5)


def test_a_collection_keeps_to_its_model(collection: Collection, catalog: Catalog) -> None:
    new = document("a.txt", "one")
    collection.add(new, vectors_of(new))
    other = Model("huge", "another-fingerprint", 9)
    with pytest.raises(ModelMismatch) as raised:
        Collection.open(catalog, "default", other)
    for part in ("tiny", "fingerprint-", "8 dim", "huge", "another-fin", "another collection name"):
        assert part in str(raised.value)
    with pytest.raises(ModelMismatch):
        catalog.create("default", other)
    with pytest.raises(ModelMismatch):
        catalog.add("default", new, vectors_of(new), other.fingerprint)
    assert Collection.open(catalog, "default").lexical("one").ids.size == 1


def test_what_is_not_there_is_named_with_what_is(catalog: Catalog) -> None:
    with pytest.raises(UnknownCollection, match=r"no collection 'default': there is none yet"):
        Collection.open(catalog, "default")
    catalog.create("letters", MODEL)
    with pytest.raises(UnknownCollection, match=r"no collection 'default': there are letters"):
        catalog.documents("default")
    with pytest.raises(UnknownDocument, match=r"no document 'x.txt': give the id, path or file"):
        catalog.find("letters", "x.txt")
    for method in (catalog.document, catalog.text, catalog.chunks_of, catalog.remove):
        with pytest.raises(StorageError, match="no document 77"):
            method(77)


def test_documents_cannot_be_added_without_a_model(catalog: Catalog) -> None:
    catalog.create("default", MODEL)
    new = document("a.txt", "one")
    with pytest.raises(ValueError, match="open 'default' with a model"):
        Collection.open(catalog, "default").add(new, vectors_of(new))


def test_what_does_not_fit_is_refused_whole(collection: Collection, catalog: Catalog) -> None:
    new = document("a.txt", "one", "two")
    shapes = "2 chunks of tiny need vectors of shape (2, 8), not (1, 8)"
    with pytest.raises(ValueError, match=re.escape(shapes)):
        collection.add(new, vectors_of(new)[:1])
    shifted = replace(new, chunks=(Chunk("one", 1, 4, None, (), 1),))
    with pytest.raises(ValueError, match=re.escape("a.txt: chunk 0 is not text[1:4]")):
        collection.add(shifted, vectors_of(shifted))
    with pytest.raises(ValueError, match=r"a.txt has no chunks: reject it as empty"):
        collection.add(replace(new, chunks=()), np.empty((0, 8), np.float32))
    with pytest.raises(ValueError, match=r"vector 1 of 2 has length 0.0"):
        collection.add(new, vectors_of(new) * [[1], [0]])
    assert catalog.documents("default") == []


def test_documents_are_found_by_path_id_and_file_name(stocked: Catalog) -> None:
    by_path = {found.path: found for found in stocked.documents("default")}
    korean = by_path["docs/한글.txt"]
    assert list(by_path) == sorted(by_path)
    assert stocked.find("default", "docs/한글.txt") == korean
    assert stocked.find("default", str(korean.id)) == korean
    assert stocked.find("default", "한글.txt") == korean
    assert stocked.find("default", unicodedata.normalize("NFD", "한글.txt")) == korean
    assert stocked.find("default", "docs/b.txt") == by_path["docs/b.txt"]
    assert stocked.at("default", "docs/b.txt") == by_path["docs/b.txt"]
    assert stocked.at("default", "b.txt") is None
    message = "'b.txt' names 2 documents (docs/b.txt, old\\b.txt): give a path or an id"
    with pytest.raises(AmbiguousDocument, match=re.escape(message)):
        stocked.find("default", "b.txt")


def test_chunks_come_in_the_order_asked(stocked: Catalog) -> None:
    first, second = stocked.chunks_of(stocked.find("default", "docs/b.txt").id)
    other = stocked.chunks_of(stocked.find("default", "한글.txt").id)[0]
    ids = np.array([second.id, 9999, other.id, first.id])
    assert stocked.chunks(ids) == [second, other, first]
    assert stocked.chunks([]) == []
    assert feed_of(stocked).live(ids) == {first.id, second.id, other.id}


def test_more_chunks_than_one_query_can_bind(collection: Collection, catalog: Catalog) -> None:
    new = document("long.txt", *(f"passage {i}" for i in range(1203)))
    stored = collection.add(new, vectors_of(new))
    ids = [chunk.id for chunk in catalog.chunks_of(stored.id)]
    assert [chunk.id for chunk in catalog.chunks(ids[::-1])] == ids[::-1]
    assert feed_of(catalog).vectors(ids).ids.tolist() == ids
    assert len(feed_of(catalog).entries(ids)) == len(ids) == 1203


def test_all_vectors_come_in_blocks(stocked: Catalog) -> None:
    blocks = list(feed_of(stocked).vector_blocks(size=4))
    assert [len(block.ids) for block in blocks] == [4, 2]
    ids = np.concatenate([block.ids for block in blocks])
    assert ids.tolist() == sorted(ids.tolist())
    rows = np.concatenate([block.rows for block in blocks])
    assert np.array_equal(rows, feed_of(stocked).vectors(ids).rows)


def test_entries_hold_titles_and_headings_and_never_file_names(
    collection: Collection, catalog: Catalog
) -> None:
    for path, title in (("dir/named.txt", "A found title"), ("dir/plain.v2.txt", "plain.v2")):
        new = document(path, f"passage of {title}", title=title)
        collection.add(new, vectors_of(new))
    texts = {entry.chunk_id: entry.text for entry in feed_of(catalog).entries([1, 2])}
    assert texts[1] == "A found title\nPart\nHeading\npassage of A found title"
    assert texts[2] == "\nPart\nHeading\npassage of plain.v2"


def test_counts(stocked: Catalog, collection: Collection) -> None:
    collection.reject(rejected("c.pdf"))
    new = document("copy.txt", "passage of docs/b.txt", "second")
    collection.add(new, vectors_of(new))
    counts = stocked.counts("default")
    assert counts.documents == {
        "indexed": 3,
        "duplicate": 1,
        "empty": 0,
        "unsupported": 0,
        "failed": 1,
    }
    assert (counts.chunks, counts.vectors, counts.size) == (6, 6, 407)


def test_the_fusion_weight_is_kept(catalog: Catalog) -> None:
    catalog.create("default", MODEL)
    catalog.set_fusion_weight("default", 0.7)
    assert catalog.collection("default").fusion_weight == 0.7
    with pytest.raises(ValueError, match=r"fusion weight 1.5 must lie between 0"):
        catalog.set_fusion_weight("default", 1.5)
