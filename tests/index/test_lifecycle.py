from dataclasses import replace

import numpy as np
import pytest

from index import Catalog, Collection, feed
from index.errors import UnknownDocument
from index.records import Model
from tests.index.library import MODEL, document, feed_of, rejected, vector_of, vectors_of


def _add(catalog: Catalog, path: str, *passages: str, title: str = "A title") -> int:
    catalog.create("default", MODEL)
    new = document(path, *passages, title=title)
    return catalog.add("default", new, vectors_of(new), MODEL.fingerprint).id


def _statuses(catalog: Catalog) -> dict[str, str]:
    return {found.path: found.status for found in catalog.documents("default")}


def _changes(catalog: Catalog, since: int = 0) -> tuple[tuple[int, ...], tuple[int, ...]]:
    changes = feed_of(catalog).changes("text", since, 1000)
    return changes.upserted, changes.deleted


def test_an_added_document_is_stored_whole(catalog: Catalog) -> None:
    key = _add(catalog, "a.txt", "first passage", "둘째 passage")
    stored = catalog.document(key)
    assert (stored.path, stored.status, stored.chunks) == ("a.txt", "indexed", 2)
    assert (stored.warnings, stored.reason, stored.size) == (("warned",), None, 100)
    assert stored.added.endswith("+00:00")
    text = catalog.text(key)
    chunks = catalog.chunks_of(key)
    assert [chunk.text for chunk in chunks] == ["first passage", "둘째 passage"]
    for chunk in chunks:
        assert text[chunk.start : chunk.end] == chunk.text
        assert (chunk.page, chunk.heading, chunk.document) == (1, ("Part", "Heading"), stored)
    assert _changes(catalog) == (tuple(chunk.id for chunk in chunks), ())


def test_an_update_replaces_the_chunks_and_keeps_the_document_id(catalog: Catalog) -> None:
    key = _add(catalog, "a.txt", "one", "two")
    before = [chunk.id for chunk in catalog.chunks_of(key)]
    assert _add(catalog, "a.txt", "three") == key
    (after,) = catalog.chunks_of(key)
    assert after.text == "three"
    assert after.id > max(before)
    assert catalog.chunks(before) == []
    assert _changes(catalog) == ((after.id,), tuple(before))
    assert catalog.counts("default").vectors == 1


def test_adding_the_same_again_replaces_it(catalog: Catalog) -> None:
    key = _add(catalog, "a.txt", "one", title="Old")
    assert _add(catalog, "a.txt", "one", title="New") == key
    assert catalog.document(key).title == "New"
    assert catalog.counts("default").chunks == 1


def test_a_removed_document_leaves_nothing_but_its_changes(catalog: Catalog) -> None:
    key = _add(catalog, "a.txt", "one", "two")
    ids = [chunk.id for chunk in catalog.chunks_of(key)]
    catalog.remove(key)
    counts = catalog.counts("default")
    assert (sum(counts.documents.values()), counts.chunks, counts.vectors) == (0, 0, 0)
    assert _changes(catalog) == ((), tuple(ids))
    with pytest.raises(UnknownDocument, match=f"no document {key}"):
        catalog.remove(key)


def test_ids_are_never_used_again(catalog: Catalog) -> None:
    key = _add(catalog, "a.txt", "one")
    (chunk,) = catalog.chunks_of(key)
    latest = feed_of(catalog).latest("text")
    catalog.remove(key)
    again = _add(catalog, "a.txt", "one")
    assert again > key
    assert catalog.chunks_of(again)[0].id > chunk.id
    assert feed_of(catalog).latest("text") == latest + 4  # both sides


def test_ids_are_integers_in_the_database(sqlite_catalog: Catalog) -> None:
    catalog = sqlite_catalog
    key = _add(catalog, "a.txt", "one")
    catalog.remove(np.int64(key))  # type: ignore[arg-type]
    _add(catalog, "a.txt", "one")
    with catalog.database.reading() as connection:
        for column in ("document.id", "chunk.id", "chunk.document_id", "vector.chunk_id"):
            table, name = column.split(".")
            query = f"SELECT DISTINCT typeof({name}) FROM {table}"
            assert connection.exec_driver_sql(query).scalars().all() == ["integer"], column
        query = "SELECT DISTINCT typeof(seq), typeof(chunk_id) FROM change"
        assert connection.exec_driver_sql(query).all() == [("integer", "integer")]


def test_json_columns_stay_readable(catalog: Catalog) -> None:
    catalog.create("default", MODEL)
    catalog.reject("default", replace(rejected("a.pdf"), warnings=("경고",)))
    with catalog.database.reading() as connection:
        query = "SELECT CAST(warnings AS text) FROM document"
        assert connection.exec_driver_sql(query).scalar() == '["경고"]'


def test_the_same_content_elsewhere_is_a_duplicate(catalog: Catalog) -> None:
    original = _add(catalog, "a.txt", "same", "text")
    copy = catalog.document(_add(catalog, "b.txt", "same", "text"))
    assert (copy.status, copy.chunks) == ("duplicate", 0)
    assert copy.reason == "same content as a.txt"
    assert catalog.text(copy.id) == catalog.text(original) == "same\ntext"
    assert catalog.counts("default").chunks == 2


def test_a_duplicate_takes_the_place_of_a_removed_original(catalog: Catalog) -> None:
    original = _add(catalog, "a.txt", "same", "text")
    ids = [chunk.id for chunk in catalog.chunks_of(original)]
    heir = _add(catalog, "b.txt", "same", "text")
    _add(catalog, "c.txt", "same", "text")
    seq = feed_of(catalog).latest("text")
    catalog.remove(original)
    assert _statuses(catalog) == {"b.txt": "indexed", "c.txt": "duplicate"}
    assert catalog.document(heir).reason is None
    assert catalog.text(heir) == "same\ntext"
    assert [chunk.id for chunk in catalog.chunks_of(heir)] == ids
    assert _changes(catalog, seq) == (tuple(ids), ())
    assert catalog.find("default", "c.txt").reason == "same content as b.txt"


def test_a_duplicate_takes_the_place_of_an_original_that_changes(catalog: Catalog) -> None:
    key = _add(catalog, "a.txt", "same")
    _add(catalog, "b.txt", "same")
    _add(catalog, "a.txt", "changed")
    assert _statuses(catalog) == {"a.txt": "indexed", "b.txt": "indexed"}
    assert [chunk.text for chunk in catalog.chunks_of(key)] == ["changed"]
    assert catalog.text(catalog.find("default", "b.txt").id) == "same"


def test_an_original_can_become_the_duplicate_of_another(catalog: Catalog) -> None:
    _add(catalog, "a.txt", "one")
    _add(catalog, "b.txt", "two")
    _add(catalog, "a.txt", "two")
    assert _statuses(catalog) == {"a.txt": "duplicate", "b.txt": "indexed"}
    assert catalog.counts("default").chunks == 1


def test_a_duplicate_that_changes_is_indexed(catalog: Catalog) -> None:
    _add(catalog, "a.txt", "one")
    _add(catalog, "b.txt", "one")
    _add(catalog, "b.txt", "two")
    assert _statuses(catalog) == {"a.txt": "indexed", "b.txt": "indexed"}


def test_adding_an_original_again_keeps_its_duplicates(catalog: Catalog) -> None:
    _add(catalog, "a.txt", "one")
    _add(catalog, "b.txt", "one")
    _add(catalog, "a.txt", "one")
    assert _statuses(catalog) == {"a.txt": "indexed", "b.txt": "duplicate"}


def test_a_duplicate_is_recorded_without_being_read(catalog: Catalog) -> None:
    original = catalog.document(_add(catalog, "dir/a.txt", "one", title="a"))
    assert catalog.add_duplicate("default", "dir/a.txt", original.sha256, 100) is None
    assert catalog.add_duplicate("default", "b.txt", "f" * 64, 100) is None
    copy = catalog.add_duplicate("default", "dir/b.txt", original.sha256, 101)
    assert copy is not None
    assert (copy.status, copy.title, copy.size) == ("duplicate", "b", 101)
    assert copy.media_type == original.media_type


def test_the_same_content_in_another_collection_is_no_duplicate(catalog: Catalog) -> None:
    _add(catalog, "a.txt", "one")
    other = Collection.open(catalog, "other", MODEL)
    new = document("b.txt", "one")
    assert other.add(new, vectors_of(new)).status == "indexed"


def test_a_rejected_file_keeps_a_row_until_it_is_good(catalog: Catalog) -> None:
    catalog.create("default", MODEL)
    bad = catalog.reject("default", rejected("a.pdf"))
    assert (bad.status, bad.reason, bad.chunks) == ("failed", "encrypted", 0)
    assert catalog.text(bad.id) == ""
    assert catalog.reject("default", rejected("a.pdf", "damaged")).reason == "damaged"
    good = catalog.document(_add(catalog, "a.pdf", "one"))
    assert (good.id, good.status, good.reason) == (bad.id, "indexed", None)


@pytest.mark.parametrize("path", ["a.txt", "b.txt"])
def test_an_update_that_fails_keeps_the_earlier_version(catalog: Catalog, path: str) -> None:
    _add(catalog, "a.txt", "one")
    _add(catalog, "b.txt", "one")
    before = catalog.find("default", path)
    assert catalog.reject("default", rejected(path)) == before
    assert catalog.counts("default").chunks == 1


def test_vectors_come_back_as_unit_rows(catalog: Catalog) -> None:
    key = _add(catalog, "a.txt", "one", "two")
    ids = [chunk.id for chunk in catalog.chunks_of(key)]
    found = feed_of(catalog).vectors([ids[1], 999, ids[0]])
    assert found.ids.tolist() == [ids[1], ids[0]]
    expected = vector_of("two") / np.linalg.norm(vector_of("two"))
    assert found.rows[0] == pytest.approx(expected, abs=1e-3)
    assert np.abs(np.linalg.norm(found.rows, axis=1) - 1).max() < 1e-5
    assert feed_of(catalog).vectors([999]).rows.shape == (0, 8)
    with catalog.database.reading() as connection:
        other = Model("another", "fingerprint-of-another", 8)
        assert feed.vectors(connection, ids, other).ids.size == 0
