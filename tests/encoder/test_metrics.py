"""Figures against scipy, and by hand."""

import numpy as np
import pytest
from scipy import stats

from encoder import metrics


def test_correlations_are_those_of_scipy() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=200)
    grades = np.round(scores + rng.normal(size=200))  # with ties
    assert metrics.pearson(scores, grades) == pytest.approx(stats.pearsonr(scores, grades)[0])
    assert metrics.spearman(scores, grades) == pytest.approx(stats.spearmanr(scores, grades)[0])


def test_what_never_varies_correlates_with_nothing() -> None:
    assert metrics.spearman([1, 1, 1], [1, 2, 3]) == 0
    assert metrics.pearson([1, 2, 3], [4, 4, 4]) == 0


def test_the_own_document_is_counted_behind_its_equals() -> None:
    scores = np.array([[0.9, 0.1, 0.2], [0.8, 0.5, 0.1], [0.3, 0.3, 0.3]])
    assert metrics.accuracy(scores) == pytest.approx(1 / 3)
    assert metrics.mean_reciprocal_rank(scores) == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)


def test_cosines_take_any_length() -> None:
    left = np.array([[2, 0], [0, 3], [0, 0]], np.float32)
    right = np.array([[5, 0], [1, 0], [1, 0]], np.float32)
    np.testing.assert_allclose(metrics.cosines(left, right), [1, 0, 0])
