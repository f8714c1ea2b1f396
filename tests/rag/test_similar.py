import numpy as np
import pytest

from rag.similar import nearest


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


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
