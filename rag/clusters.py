"""Documents in groups: k-means over document vectors, named by their characteristic words."""

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import silhouette_score

_MOST = 12  # clusters tried when the number is free
_WORDS = 8


@dataclass(frozen=True, slots=True)
class Cluster:
    """A group of documents, by their places in the input."""

    members: tuple[int, ...]  # nearest to the centre first
    words: tuple[str, ...]  # most characteristic first


@dataclass(frozen=True, slots=True)
class Clustering:
    """Every document in one cluster, largest cluster first, and a flat map to draw."""

    clusters: tuple[Cluster, ...]
    map: NDArray[np.float32]  # (n, 2)
    silhouette: float | None  # -1..1; None with fewer than two clusters


def cluster(
    vectors: NDArray[np.float32], words: Sequence[Sequence[str]], *, k: int | None, seed: int
) -> Clustering:
    """Group documents.

    Args:
        vectors: one a document, (n, d)
        words: the content words of each document, for naming
        k: number of clusters; None chooses by silhouette. Never more than distinct vectors.
        seed: the same seed gives the same clusters
    """
    n = len(vectors)
    distinct = len(np.unique(vectors.round(6), axis=0)) if n else 0
    labels, silhouette = _labels(vectors, distinct, k, seed)
    order = sorted(set(labels.tolist()), key=lambda c: (-int((labels == c).sum()), c))
    members = [_by_nearness(vectors, np.flatnonzero(labels == c)) for c in order]
    named = characteristic_words([[w for i in group for w in words[i]] for group in members])
    clusters = tuple(
        Cluster(tuple(group), tuple(found)) for group, found in zip(members, named, strict=True)
    )
    return Clustering(clusters, _flat(vectors, seed), silhouette)


def _labels(
    vectors: NDArray[np.float32], distinct: int, k: int | None, seed: int
) -> tuple[NDArray[np.int64], float | None]:
    n = len(vectors)
    if distinct < 2:
        return np.zeros(n, np.int64), None
    # Two languages part a library better than any subject does: a few groups at the least.
    fewest = min(max(2, round((n / 3) ** 0.5)), distinct)
    tried = [min(k, distinct)] if k else range(fewest, max(fewest, min(_MOST, n // 2)) + 1)
    best: tuple[float, NDArray[np.int64]] | None = None
    for count in tried:
        labels = _kmeans(vectors, count, seed)
        found = len(set(labels.tolist()))
        score = float(silhouette_score(vectors, labels)) if 1 < found < n else 0.0
        if best is None or score > best[0]:
            best = score, labels
    assert best is not None
    return best[1], best[0]


def _kmeans(vectors: NDArray[np.float32], k: int, seed: int) -> NDArray[np.int64]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # equal points: fewer clusters
        labels = KMeans(k, n_init=10, random_state=seed).fit_predict(vectors)
    return np.asarray(labels, np.int64)


def _by_nearness(vectors: NDArray[np.float32], group: NDArray[np.int64]) -> list[int]:
    own = vectors[group]
    near = own @ own.mean(axis=0)
    return [int(i) for i in group[np.argsort(-near, kind="stable")]]


def characteristic_words(groups: Sequence[Sequence[str]]) -> list[list[str]]:
    """Words that a group uses more than others: class-based TF-IDF (Grootendorst 2022, §3.3)."""
    counts = [Counter(words) for words in groups]
    total = Counter(word for words in groups for word in words)
    average = sum(total.values()) / max(1, len(groups))
    named = []
    for own in counts:
        size = max(1, sum(own.values()))
        weight = {w: c / size * np.log(1 + average / total[w]) for w, c in own.items()}
        named.append(sorted(weight, key=lambda w: (-weight[w], w))[:_WORDS])
    return named


def _flat(vectors: NDArray[np.float32], seed: int) -> NDArray[np.float32]:
    n = len(vectors)
    if n < 3 or np.ptp(vectors, axis=0).max() < 1e-6:  # equal points span no plane
        return np.array([[i, 0.0] for i in range(n)], np.float32).reshape(n, 2)
    return np.asarray(PCA(2, random_state=seed).fit_transform(vectors), np.float32)
