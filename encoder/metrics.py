"""How good vectors are, in figures: numpy arrays in, one number out."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vectors = NDArray[np.float32]  # (n, d), unit length


def cosines(left: Vectors, right: Vectors) -> NDArray[np.float64]:
    """Of the i-th with the i-th: (n,)."""
    wide = left.astype(np.float64), right.astype(np.float64)
    lengths = np.linalg.norm(wide[0], axis=1) * np.linalg.norm(wide[1], axis=1)
    products: NDArray[np.float64] = np.einsum("nd,nd->n", *wide) / np.maximum(lengths, 1e-12)
    return products


def spearman(scores: ArrayLike, grades: ArrayLike) -> float:
    """Correlation of the two orders, -1 … 1; ties share their mean rank. 0 where all are equal."""
    from scipy.stats import rankdata

    return pearson(rankdata(scores), rankdata(grades))


def pearson(scores: ArrayLike, grades: ArrayLike) -> float:
    """Linear correlation, -1 … 1; 0 where one side is the same throughout."""
    left, right = np.asarray(scores, np.float64), np.asarray(grades, np.float64)
    left, right = left - left.mean(), right - right.mean()
    lengths = float(np.linalg.norm(left) * np.linalg.norm(right))
    return float(left @ right) / lengths if lengths else 0.0


def accuracy(scores: NDArray[np.floating]) -> float:
    """Share of queries that find their own document first: scores (n, n), own on the diagonal."""
    return float((_ranks(scores) == 1).mean())


def mean_reciprocal_rank(scores: NDArray[np.floating]) -> float:
    """Mean of 1 / rank of the own document: scores (n, n), own on the diagonal."""
    return float((1 / _ranks(scores)).mean())


def _ranks(scores: NDArray[np.floating]) -> NDArray[np.int_]:
    """Of each query's own document, from 1; what scores as high comes before it."""
    own = np.diagonal(scores)[:, None]
    ranks: NDArray[np.int_] = np.asarray((scores >= own).sum(axis=1))
    return ranks
