"""What every engine's indexes keep to: the same questions, the same answers."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from index import Catalog, Model
from index.codec import unit
from index.engines import Dense, Engine, Lexical
from index.records import Entry, MilvusAddress, StoredCollection, Vectors
from tests.index.library import TEXTS, bm25

ON_EACH_ENGINE = True
D = 16


Stored = tuple[Engine, StoredCollection]


@pytest.fixture
def stored(tmp_path: Path, milvus: MilvusAddress | None) -> Iterator[Stored]:
    with Catalog(tmp_path, None, milvus) as catalog:
        yield catalog.engine, catalog.create("default", Model("m", "fingerprint-of-m", D))


@pytest.fixture
def dense(stored: Stored) -> Dense:
    engine, collection = stored
    return engine.dense(collection, 1)


@pytest.fixture
def lexical(stored: Stored) -> Lexical:
    engine, collection = stored
    index = engine.lexical(collection)
    with index.updating():
        index.apply(5, [], _entries(TEXTS))
    return index


def _entries(texts: list[str], first: int = 1) -> list[Entry]:
    return [Entry(i, 100 + i, text) for i, text in enumerate(texts, first)]


def _rows(n: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((n, D)).astype(np.float32)


def _vectors(ids: list[int], seed: int = 0) -> Vectors:
    return Vectors(np.array(ids, np.int64), _rows(len(ids), seed))


def _apply(index: Dense, seq: int, changed: list[int], vectors: Vectors) -> None:
    with index.updating():
        index.apply(seq, changed, vectors)


def _nearest(vectors: Vectors, query: NDArray[np.float32], k: int) -> list[int]:
    cosines = unit(vectors.rows) @ unit(query)
    return [int(vectors.ids[i]) for i in np.lexsort((vectors.ids, -cosines))[:k]]


def test_dense_finds_what_brute_force_finds(dense: Dense) -> None:
    vectors = _vectors([3, 1, 4, 15, 9, 2, 6])
    _apply(dense, 1, [], vectors)
    for query in _rows(20, seed=1):
        found = dense.search(query, 4)
        assert found.ids.tolist() == _nearest(vectors, query, 4)
        pairs = zip(vectors.ids, vectors.rows, strict=True)
        cosines = {int(i): float(unit(row) @ unit(query)) for i, row in pairs}
        assert found.scores == pytest.approx([cosines[i] for i in found.ids.tolist()], abs=1e-5)


def test_dense_chooses_among_the_allowed_only(dense: Dense) -> None:
    _apply(dense, 1, [], _vectors(list(range(1, 41))))
    allowed = np.array([7, 30, 12, 999])
    found = dense.search(_rows(1, seed=1)[0], 10, allowed)
    assert sorted(found.ids.tolist()) == [7, 12, 30]
    assert not dense.search(_rows(1)[0], 10, np.array([], np.int64)).ids.size
    many = np.arange(120_000, dtype=np.int64)
    assert sorted(dense.search(_rows(1)[0], 40, many).ids.tolist()) == list(range(1, 41))


def test_dense_gives_what_there_is(dense: Dense) -> None:
    assert (dense.applied, len(dense), dense.ids().tolist()) == (0, 0, [])
    assert not dense.search(_rows(1)[0], 5).ids.size
    _apply(dense, 1, [], _vectors([8, 5]))
    assert sorted(dense.search(_rows(1)[0], 100).ids.tolist()) == [5, 8]
    assert len(dense.search(_rows(1)[0], 1).ids) == 1
    assert (dense.applied, len(dense), dense.ids().tolist()) == (1, 2, [5, 8])


def test_dense_replaces_and_removes(dense: Dense) -> None:
    _apply(dense, 1, [1, 2, 3], _vectors([1, 2, 3], seed=0))
    again = _vectors([2], seed=5)
    _apply(dense, 2, [2, 3], again)
    assert len(dense) == 2
    found = dense.search(again.rows[0], 10)
    assert found.ids[0] == 2
    assert sorted(found.ids.tolist()) == [1, 2]
    assert dense.applied == 2


def test_dense_scores_stay_within_one_and_ties_go_by_id(dense: Dense) -> None:
    row = _rows(1)[0]
    _apply(dense, 1, [], Vectors(np.array([9, 4, 7]), np.stack([row * 3, row, row * 0.01])))
    found = dense.search(row * 1000, 3)
    assert found.ids.tolist() == [4, 7, 9]
    assert found.scores.max() <= 1.0
    assert dense.search(-row, 3).scores.min() >= -1.0


def test_dense_refuses_what_cannot_be_searched(dense: Dense) -> None:
    with pytest.raises(ValueError, match=re.escape("the query is (3,), the index holds (16,)")):
        dense.search(np.ones(3, np.float32), 1)
    with pytest.raises(ValueError, match=r"k \(0\) must be at least 1"):
        dense.search(_rows(1)[0], 0)
    with pytest.raises(ValueError, match=r"vector 0 of 1 has length 0.0"):
        dense.search(np.zeros(D, np.float32), 1)


def test_another_instance_goes_on(stored: Stored, dense: Dense) -> None:
    engine, collection = stored
    _apply(dense, 7, [], _vectors([10, 20, 30]))
    dense.save()
    other = engine.dense(collection, 1)
    assert other.applied == 7
    assert other.search(_rows(3)[1], 1).ids.tolist() == [20]
    dense.reset()
    assert (dense.applied, len(dense)) == (0, 0)
    assert engine.dense(collection, 1).applied == 0


@pytest.mark.parametrize("query", ["pump", "QX-808 pump pump", "휴가가 며칠인가", "the branch log"])
def test_lexical_scores_are_those_of_bm25(lexical: Lexical, query: str) -> None:
    expected = bm25(dict(enumerate(TEXTS, 1)), query)
    found = lexical.search(query, 10)
    assert dict(zip(found.ids.tolist(), found.scores.tolist(), strict=True)) == pytest.approx(
        expected, rel=1e-4
    )
    assert found.scores.tolist() == sorted(found.scores.tolist(), reverse=True)


def test_lexical_finds_our_tokens_and_no_others(lexical: Lexical) -> None:
    assert lexical.search("학교", 5).ids.tolist() == [
        4
    ]  # 학교에서는: its particle does not hide it
    assert lexical.search("qx-808", 5).ids.tolist() == [1]
    assert lexical.search("808", 5).ids.tolist() == [1]  # a code by its part
    assert lexical.search("serviced", 5).ids.tolist() == [2]


def test_lexical_chooses_among_documents(lexical: Lexical, milvus: MilvusAddress | None) -> None:
    found = lexical.search("pump", 10)
    everywhere = dict(zip(found.ids.tolist(), found.scores.tolist(), strict=True))
    within = lexical.search("pump", 10, [102, 105, 106, 999])
    assert sorted(within.ids.tolist()) == [2, 5]
    if milvus is None:  # Milvus Lite counts words among the chosen rows alone
        scores = [everywhere[i] for i in within.ids.tolist()]
        assert within.scores.tolist() == pytest.approx(scores)
    assert not lexical.search("pump", 10, []).ids.size


def test_lexical_gives_what_there_is(lexical: Lexical) -> None:
    assert len(lexical.search("pump", 10_000_000).ids) == 3
    assert len(lexical.search("pump", 1).ids) == 1
    assert not lexical.search("submarine", 5).ids.size
    assert not lexical.search("is it the", 5).ids.size
    assert not lexical.search('"(*:+-', 5).ids.size
    with pytest.raises(ValueError, match=r"k \(0\) must be at least 1"):
        lexical.search("pump", 0)
    assert (lexical.applied, len(lexical), lexical.ids().tolist()) == (5, 6, [1, 2, 3, 4, 5, 6])


def test_lexical_is_empty_before_the_first_change(stored: Stored) -> None:
    engine, collection = stored
    index = engine.lexical(collection)
    assert not index.search("pump", 5).ids.size
    assert index.frequencies(["pump"]).counts == {"pump": 0}
    assert (index.applied, len(index)) == (0, 0)


def test_lexical_counts_chunks_by_word(lexical: Lexical) -> None:
    found = lexical.frequencies(["pump", "휴가", "submarine", "pump"])
    assert (found.chunks, found.counts) == (6, {"pump": 3, "휴가": 2, "submarine": 0})
    with lexical.updating():
        lexical.apply(6, [5], [])
    found = lexical.frequencies(["pump", "휴가"])
    assert (found.chunks, found.counts["휴가"]) == (5, 2)


def test_lexical_replaces_and_removes(lexical: Lexical) -> None:
    with lexical.updating():
        lexical.apply(9, [2, 5], [Entry(2, 102, "Nothing but a crane")])
    assert lexical.search("pump", 10).ids.tolist() == [1]
    assert lexical.search("crane", 10).ids.tolist() == [2]
    assert (lexical.applied, len(lexical)) == (9, 5)


def test_another_instance_sees_the_commit(stored: Stored, lexical: Lexical) -> None:
    engine, collection = stored
    other = engine.lexical(collection)
    assert other.applied == 5
    with lexical.updating():
        lexical.apply(6, [7], _entries(["crane"], 7))
    with other.updating():
        assert other.applied == 6
    assert other.search("crane", 5).ids.tolist() == [7]
