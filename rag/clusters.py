"""Vectors in groups: centred, reduced, drawn towards their neighbours, then parted.

An encoder's vectors share a direction (E5's more than others'), which says nothing: the mean goes
first. Then each vector moves a few steps towards its nearest neighbours (a graph convolution
without weights: Wu et al. 2019, §2; Zhang et al. 2019, §3), which makes groups dense and the room
between them empty. k-means parts them, with k by silhouette where it is free; a large library is
parted by density (HDBSCAN: Campello et al. 2013), which finds any number of groups by itself.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Method = Literal["auto", "kmeans", "density"]
Outliers = Literal["keep", "assign"]
Floats = NDArray[np.float32]
Labels = NDArray[np.int64]

MANY = 10_000  # vectors above which the number of groups is found by density

_DIMENSIONS = 100  # of the reduced vectors
_NEIGHBOURS = 10
_STEPS = 4  # towards the neighbours
_LEAST = 50  # vectors; fewer have no neighbourhoods
_BLOCK = 1024  # rows whose similarities to all are held at once
_SAMPLE = 2000  # rows that a number of groups is tried on, or a silhouette is taken of
_TRIED = (*range(2, 13), 14, 16, 18, 20, 22, 25, 28, 32, 36, 40, 50, 60)
_FLAT = 8  # dimensions that density is sought in
_ALONE = 2.0  # deviations below the median of nearness to neighbours: an outlier
_DEVIATION = 1.4826  # of a normal distribution, by its median absolute deviation


@dataclass(frozen=True, slots=True)
class Space:
    """Where vectors are compared: without their mean, in the directions in which they differ."""

    mean: Floats  # (d,)
    directions: Floats  # (r, d)

    @classmethod
    def of(cls, vectors: Floats, seed: int) -> "Space":
        """Fitted to the rows, (n, d)."""
        from sklearn.decomposition import PCA

        mean = vectors.mean(axis=0) if len(vectors) else np.zeros(vectors.shape[1], np.float32)
        width = min(_DIMENSIONS, len(vectors) - 1, vectors.shape[1])
        if width < 1 or not _differ(vectors):
            return cls(mean, np.eye(vectors.shape[1], dtype=np.float32))
        fitted = PCA(width, svd_solver="full" if len(vectors) < _LEAST else "auto",
                     random_state=seed).fit(vectors)  # fmt: skip
        return cls(mean, np.asarray(fitted.components_, np.float32))

    def project(self, vectors: Floats) -> Floats:
        """Rows of unit length, (n, r); one that is the mean itself stays 0."""
        return _unit(((vectors - self.mean) @ self.directions.T).astype(np.float32))


@dataclass(frozen=True, slots=True)
class Grouping:
    """Which group each vector is in, the largest group first."""

    labels: Labels  # (n,) from 0; -1 is in none
    space: Space
    points: Floats  # (n, r) in the space
    centres: Floats  # (k, r) unit length
    silhouette: float | None  # -1..1; None with fewer than two groups

    def members(self, group: int) -> list[int]:
        """The places of a group's vectors, nearest to its centre first."""
        own = np.flatnonzero(self.labels == group)
        near = self.points[own] @ self.centres[group]
        return [int(i) for i in own[np.argsort(-near, kind="stable")]]

    def nearest(self, vectors: Floats) -> Labels:
        """The group that each of other vectors, (m, d), belongs to most."""
        if not len(self.centres):
            return np.full(len(vectors), -1, np.int64)
        return np.asarray((self.space.project(vectors) @ self.centres.T).argmax(axis=1), np.int64)


def group(
    vectors: Floats,
    *,
    k: int | None = None,
    seed: int,
    method: Method = "auto",
    outliers: Outliers = "keep",
) -> Grouping:
    """Part vectors into groups.

    Args:
        vectors: (n, d)
        k: number of groups, never more than distinct vectors; None finds it
        seed: the same seed gives the same groups
        method: k-means, density, or (auto) density where k is free and there are very many
        outliers: what is near to nothing is left out of all groups, or assigned to the nearest
    """
    space = Space.of(vectors, seed)
    points = space.project(vectors)
    n = len(points)
    distinct = len(np.unique(vectors.round(6), axis=0)) if n else 0
    if distinct < 2:
        return _grouping(np.zeros(n, np.int64), space, points)
    if n < _LEAST:
        labels = _parted(points, points, k, distinct, seed)
        return _grouping(labels, space, points)
    neighbours, near = _neighbours(points)
    drawn = _drawn(points, neighbours, near)
    if k is None and (method == "density" or (method == "auto" and n > MANY)):
        labels = _dense(drawn, seed)
    else:
        labels = _parted(drawn, points, k, distinct, seed)
        labels[_alone(near.mean(axis=1))] = -1
    if outliers == "assign" or (labels < 0).all():
        labels = _assigned(labels, drawn)
    return _grouping(labels, space, points)


def _grouping(labels: Labels, space: Space, points: Floats) -> Grouping:
    labels = _by_size(labels)
    centres = _centres(labels, points)
    return Grouping(labels, space, points, centres, _silhouette(points, labels))


def _by_size(labels: Labels) -> Labels:
    found = sorted(
        set(labels[labels >= 0].tolist()),
        key=lambda c: (-int((labels == c).sum()), int((labels == c).argmax())),
    )
    renamed = np.full(len(labels), -1, np.int64)
    for place, name in enumerate(found):
        renamed[labels == name] = place
    return renamed


def _centres(labels: Labels, points: Floats) -> Floats:
    k = int(labels.max()) + 1 if len(labels) else 0
    means = [points[labels == c].mean(axis=0) for c in range(k)]
    return _unit(np.stack(means)) if means else np.empty((0, points.shape[1]), np.float32)


def _assigned(labels: Labels, points: Floats) -> Labels:
    """Without outliers: each is given to the nearest centre."""
    labels = _by_size(labels)
    if (labels < 0).all():
        return np.zeros(len(labels), np.int64)
    nearest = (points @ _centres(labels, points).T).argmax(axis=1)
    return np.where(labels < 0, nearest, labels).astype(np.int64)


def _parted(drawn: Floats, points: Floats, k: int | None, distinct: int, seed: int) -> Labels:
    """By k-means.

    Args:
        drawn: what is parted
        points: the same before it was drawn to its neighbours
    """
    if k is not None:
        return _kmeans(drawn, min(k, distinct), seed)
    n = len(points)
    sample = _sampled(n, seed)
    best = -2.0
    chosen = 2
    for count in _numbers(n, distinct):
        labels = _kmeans(drawn[sample], count, seed, starts=1 if n > _LEAST else 10)
        score = _silhouette(drawn[sample], labels)
        if score is not None and score > best:
            best, chosen = score, count
    return _kmeans(drawn, chosen, seed)


def _numbers(n: int, distinct: int) -> Iterator[int]:
    """The numbers of groups to try: two languages part a library better than any subject does, so
    a few groups at the least, and never mostly groups of one."""
    fewest = min(max(2, round((n / 3) ** 0.5)), 5, distinct)
    most = max(fewest, min(_TRIED[-1], n // 2 if n < _LEAST else n // 10, distinct))
    return (count for count in _TRIED if fewest <= count <= most)


def _kmeans(points: Floats, k: int, seed: int, starts: int = 10) -> Labels:
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    starts = starts if len(points) <= _SAMPLE else min(starts, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # equal points: fewer groups
        labels = KMeans(min(k, len(points)), n_init=starts, random_state=seed).fit_predict(points)
    return np.asarray(labels, np.int64)


def _dense(drawn: Floats, seed: int) -> Labels:
    """By density, in few dimensions: in many, all distances are alike."""
    from sklearn.cluster import HDBSCAN
    from sklearn.decomposition import PCA

    flat = PCA(min(_FLAT, *drawn.shape), random_state=seed).fit_transform(drawn)
    least = max(10, round(len(drawn) ** 0.5 / 2))
    found = HDBSCAN(min_cluster_size=least, min_samples=5, copy=True).fit_predict(flat)
    return np.asarray(found, np.int64)


def _neighbours(points: Floats) -> tuple[NDArray[np.int64], Floats]:
    """The nearest others of each point and how near they are, (n, neighbours) each."""
    n, k = len(points), min(_NEIGHBOURS, len(points) - 1)
    others, near = np.empty((n, k), np.int64), np.empty((n, k), np.float32)
    for start in range(0, n, _BLOCK):
        block = slice(start, start + _BLOCK)
        likeness = points[block] @ points.T
        rows = np.arange(len(likeness))
        likeness[rows, rows + start] = -2
        best = np.argpartition(-likeness, k - 1, axis=1)[:, :k]
        others[block], near[block] = best, np.take_along_axis(likeness, best, axis=1)
    return others, near


def _drawn(points: Floats, neighbours: NDArray[np.int64], near: Floats) -> Floats:
    """Each point moved towards the mean of those that are near to it, several times."""
    from scipy.sparse import csr_matrix, diags_array, identity

    n, k = neighbours.shape
    rows = np.repeat(np.arange(n), k)
    graph = csr_matrix((near.clip(0).ravel(), (rows, neighbours.ravel())), shape=(n, n))
    graph = graph + graph.T + identity(n, format="csr")
    step = diags_array(1 / np.asarray(graph.sum(axis=1)).ravel()) @ graph
    drawn = points.astype(np.float64)
    for _ in range(_STEPS):
        drawn = step @ drawn
    return _unit(drawn.astype(np.float32))


def _alone(near: Floats) -> NDArray[np.bool_]:
    """Which points are far from all others, as most are not."""
    middle = float(np.median(near))
    deviation = _DEVIATION * float(np.median(np.abs(near - middle)))
    return np.asarray(near < middle - _ALONE * deviation)


def _silhouette(points: Floats, labels: Labels) -> float | None:
    from sklearn.metrics import silhouette_score

    kept = np.flatnonzero(labels >= 0)
    kept = kept[_sampled(len(kept), 0)]
    if not 1 < len(set(labels[kept].tolist())) < len(kept):
        return None
    return float(silhouette_score(points[kept], labels[kept]))


def _sampled(n: int, seed: int) -> NDArray[np.int64]:
    if n <= _SAMPLE:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, _SAMPLE, replace=False))


def _differ(vectors: Floats) -> bool:
    return bool(len(vectors) > 1 and np.ptp(vectors, axis=0).max() > 1e-6)


def _unit(rows: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    # What is the mean of all has no direction: rounding must not give it one.
    return np.where(lengths > 1e-6, rows / lengths.clip(1e-6), 0).astype(np.float32)
