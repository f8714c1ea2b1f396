import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index import Candidates
from rag.retrieve import fuse


def candidates(scores: dict[int, float]) -> Candidates:
    best_first = sorted(scores, key=lambda i: -scores[i])
    return Candidates(
        np.array(best_first, np.int64), np.array([scores[i] for i in best_first], np.float32)
    )


def naive(dense: dict[int, float], lexical: dict[int, float], weight: float) -> dict[int, float]:
    """Fill in what a side did not bring with the least score, then stretch the union to 0..1."""
    both = {*dense, *lexical}
    floor = {"dense": min(dense.values(), default=0.0), "lexical": 0.0}

    def stretched(side: str, scores: dict[int, float], i: int) -> float:
        if not scores:
            return 0.0
        high = max(scores.values())
        if high == floor[side]:
            return float(i in scores)
        return (scores.get(i, floor[side]) - floor[side]) / (high - floor[side])

    return {
        i: weight * stretched("dense", dense, i) + (1 - weight) * stretched("lexical", lexical, i)
        for i in both
    }


def scores(low: float, high: float) -> st.SearchStrategy[dict[int, float]]:
    return st.dictionaries(st.integers(1, 30), st.floats(low, high, width=16), max_size=12)


@given(dense=scores(-1, 1), lexical=scores(0.5, 20), weight=st.sampled_from([0.0, 0.3, 0.5, 1.0]))
def test_fusion_is_the_weighted_sum_of_stretched_scores(
    dense: dict[int, float], lexical: dict[int, float], weight: float
) -> None:
    ids, fused = fuse(candidates(dense), candidates(lexical), weight)

    expected = naive(dense, lexical, weight)
    assert dict(zip(ids.tolist(), fused.tolist(), strict=True)) == pytest.approx(expected, abs=1e-4)
    assert (np.diff(fused) <= 0).all()


def test_equal_scores_are_ordered_by_id() -> None:
    ids, _ = fuse(candidates({9: 0.5, 3: 0.5}), candidates({}), 0.5)

    assert ids.tolist() == [3, 9]


def test_nothing_fused_with_nothing_is_nothing() -> None:
    ids, fused = fuse(candidates({}), candidates({}), 0.5)

    assert len(ids) == len(fused) == 0
