import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from index import Catalog, Collection, Model, NewDocument
from index.errors import UnknownDocument
from index.records import Chunk
from rag import Assistant
from rag.centring import centre_of, centred
from rag.errors import NotFound, Unreadable, UsageError
from rag.records import Within
from rag.similar import Asked, find, nearest
from tests.rag.conftest import Ran


def unit(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def test_the_score_is_the_mean_of_best_matches_both_ways() -> None:
    rng = np.random.default_rng(0)
    asked, rows = unit(rng.normal(size=(3, 8))), unit(rng.normal(size=(20, 8)))
    owners = rng.integers(1, 6, size=20)
    ids = np.arange(100, 120)

    found = nearest(asked, rows, ids, owners, k=10)

    for match in found:
        own = asked @ rows[owners == match.document_id].T
        expected = (own.max(axis=1).mean() + own.max(axis=0).mean()) / 2
        assert match.score == pytest.approx(float(expected), abs=1e-5)
        assert match.cosine == pytest.approx(float(own.max()), abs=1e-6)
        assert owners[match.chunk_id - 100] == match.document_id
    assert [m.document_id for m in found] == [
        m.document_id for m in sorted(found, key=lambda m: -m.score)
    ]
    assert {m.document_id for m in found} == set(owners.tolist())


def test_a_copy_of_the_document_scores_one() -> None:
    rows = unit(np.random.default_rng(1).normal(size=(4, 8)))

    first = nearest(rows, np.tile(rows, (2, 1)), np.arange(8), np.repeat([7, 8], 4), k=5)

    assert [match.score for match in first] == pytest.approx([1.0, 1.0], abs=1e-6)


def test_an_empty_library_has_no_near_document() -> None:
    empty = np.empty((0, 8), np.float32)
    assert nearest(unit(np.ones((1, 8))), empty, np.empty(0, int), np.empty(0, int), k=5) == []


def test_no_more_than_k() -> None:
    rows = unit(np.random.default_rng(2).normal(size=(6, 8)))
    assert len(nearest(rows[:1], rows, np.arange(6), np.arange(6), k=2)) == 2


def test_pairs_are_the_best_matches_and_each_passage_stands_in_one() -> None:
    rows = unit(np.eye(5, 8) + 0.05)
    (match,) = nearest(rows[:3], rows[[2, 0, 4, 1]], np.arange(10, 14), np.full(4, 7), k=1)

    assert [(mine, its) for mine, its, _ in match.pairs] == [(0, 11), (1, 13), (2, 10)]
    assert match.chunk_id == match.pairs[0][1]
    assert match.cosine == pytest.approx(match.pairs[0][2])


TEXTS = {
    "a.txt": "The pump moves water. It runs all day.\n",
    "b.txt": "The pump moves water. It runs all night.\n",
    "c.txt": "zzzz qqqq 9999 ####\n",
}


@pytest.fixture
def pumps(attest: Assistant, tmp_path: Path) -> Assistant:
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    attest.add(*(tmp_path / name for name in TEXTS))
    return attest


def test_a_document_is_not_like_itself_and_shows_what_matches(pumps: Assistant) -> None:
    found = pumps.similar("a.txt")
    assert [Path(hit.chunk.document.path).name for hit in found.hits] == ["b.txt", "c.txt"]
    (pair,) = found.aligned[0]
    assert pair.asked.text == TEXTS["a.txt"].strip()
    assert pair.other.text == TEXTS["b.txt"].strip()
    assert pair.cosine == pytest.approx(found.hits[0].dense, abs=1e-3)


def test_a_file_a_text_and_a_passage_find_the_same_and_nothing_is_stored(
    pumps: Assistant, tmp_path: Path
) -> None:
    before = len(pumps.documents())
    other = tmp_path / "new.txt"
    other.write_text(TEXTS["a.txt"], encoding="utf-8")
    by_file = pumps.similar(other)
    by_text = pumps.similar_to_text(TEXTS["a.txt"])
    assert [hit.score for hit in by_file.hits] == pytest.approx(
        [hit.score for hit in by_text.hits], abs=1e-3
    )
    assert Path(by_text.hits[0].chunk.document.path).name == "a.txt"
    assert by_text.hits[0].score == pytest.approx(1, abs=1e-2)
    assert len(pumps.documents()) == before

    chunk = by_text.hits[0].chunk
    by_passage = pumps.similar_to_passage(chunk.id)
    assert [Path(hit.chunk.document.path).name for hit in by_passage.hits] == ["b.txt", "c.txt"]


def test_filters_hold(pumps: Assistant) -> None:
    found = pumps.similar("a.txt", within=Within(documents=("c.txt",)))
    assert [Path(hit.chunk.document.path).name for hit in found.hits] == ["c.txt"]


def test_what_cannot_be_compared_says_so(pumps: Assistant, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the text is empty"):
        pumps.similar_to_text(" \n ")
    with pytest.raises(NotFound, match="passage 99999 is not in the library"):
        pumps.similar_to_passage(99999)
    with pytest.raises(UnknownDocument):
        pumps.similar(12345)
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.4 nothing")
    with pytest.raises(Unreadable):
        pumps.similar(broken)


def test_a_passage_of_another_collection_is_not_told(pumps: Assistant, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("A secret plan of the board.", encoding="utf-8")
    (done,) = pumps.add(secret, collection="private")
    assert done.id is not None
    (chunk,) = pumps.catalog.chunk_ids(done.id)
    with pytest.raises(NotFound, match="not in the library"):
        pumps.similar_to_passage(chunk)


def test_a_copy_has_its_originals_passages(pumps: Assistant, tmp_path: Path) -> None:
    copy = tmp_path / "copy.txt"
    copy.write_text(TEXTS["a.txt"], encoding="utf-8")
    (done,) = pumps.add(copy)
    assert done.status == "duplicate"
    names = [Path(hit.chunk.document.path).name for hit in pumps.similar("copy.txt").hits]
    assert names == ["b.txt", "c.txt"]


def test_many_documents_are_ranked_as_if_all_were_compared(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    model = Model("tiny", "0" * 64, 16)
    topics = rng.normal(size=(20, 16))
    with Catalog(tmp_path) as catalog:
        collection = Collection.open(catalog, "default", model)
        for number in range(300):
            rows = unit(topics[number % 20] + 0.7 * rng.normal(size=(3, 16)))
            chunks = tuple(Chunk(f"p{i}", 3 * i, 3 * i + 2, None, (), 1) for i in range(3))
            name = f"{number}.txt"
            made = NewDocument(name, name, "text/plain", f"{number:064}", 8, "p0 p1 p2", chunks)
            collection.add(made, rows)
        asked = unit(topics[0] + 0.7 * rng.normal(size=(3, 16)))
        found = find(Asked("asked", asked, ()), collection, catalog, k=10)
        everything = collection.vectors()
        centre = centre_of(catalog, "default")
        mine, theirs = centred(asked, centre), centred(everything.rows, centre)
        exact = nearest(mine, theirs, everything.ids, everything.documents, 10)
    assert [match.document_id for match in found] == [match.document_id for match in exact]


def test_the_command_shows_pairs(run: Callable[..., Ran], tmp_path: Path) -> None:
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    run("add", *(tmp_path / name for name in TEXTS))
    said = json.loads(run("similar", "a.txt", "--json").out)
    assert said["hits"][0]["aligned"][0]["asked"]["text"] == TEXTS["a.txt"].strip()
    assert said["hits"][0]["aligned"][0]["text"] == TEXTS["b.txt"].strip()
    plain = run("similar", "a.txt", "-k", "1").out
    assert "here:" in plain
    assert "there:" in plain
