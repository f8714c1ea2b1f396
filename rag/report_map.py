"""The map of a report: each group a cloud of dots, alike groups near each other.

Where clouds lie says which groups are alike; where a dot lies in its cloud says what it is near to
there. A cloud's size grows with its group. All in two dimensions, so distances between clouds are
only roughly true: what is told of a group never rests on the map.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag.clusters import Floats, Grouping, Labels

_COVER = 0.2  # of the map, by all clouds together
_GAP = 1.12  # between the middles of two clouds that touch, in sums of their radii
_ROUNDS = 300
_OUTSIDE = 3  # groups between which an outlier lies


@dataclass(frozen=True, slots=True)
class Layout:
    """Where groups lie, and how their members lie in them."""

    grouping: Grouping
    places: NDArray[np.float64]  # (k, 2)
    radii: NDArray[np.float64]  # (k,)
    axes: tuple[NDArray[np.float64], ...]  # of each group, (r, 2), in which its members differ most
    scales: NDArray[np.float64]  # (k,) how far most members are from the middle along them

    @classmethod
    def of(cls, grouping: Grouping, seed: int) -> "Layout":
        k = len(grouping.centres)
        sizes = np.array([(grouping.labels == c).sum() for c in range(k)], np.float64)
        radii = np.sqrt(_COVER * sizes / max(1.0, sizes.sum())) if k > 1 else np.ones(k)
        places = _apart(_plane(grouping.centres.astype(np.float64), seed), radii)
        axes, scales = [], np.ones(k)
        for c in range(k):
            own = grouping.points[grouping.labels == c] - grouping.centres[c]
            basis = _plane_of(own.astype(np.float64))
            axes.append(basis)
            reach = np.linalg.norm(own @ basis, axis=1)
            scales[c] = max(float(np.quantile(reach, 0.9)), 1e-9)
        return cls(grouping, places, radii, tuple(axes), scales)

    def place(self, points: Floats, labels: Labels) -> NDArray[np.float64]:
        """Where rows of the grouping's space lie, (n, 2), given the groups that they are in."""
        laid = np.zeros((len(points), 2))
        for c, middle in enumerate(self.places):
            own = labels == c
            local = (points[own] - self.grouping.centres[c]) @ self.axes[c] / self.scales[c]
            reach = np.linalg.norm(local, axis=1, keepdims=True)
            # Pressed together towards the edge, so that none leaves its cloud.
            laid[own] = middle + self.radii[c] * local * (np.tanh(reach) / reach.clip(1e-9))
        outside = labels < 0
        if outside.any() and len(self.places):
            laid[outside] = self._between(points[outside])
        return laid

    def _between(self, points: Floats) -> NDArray[np.float64]:
        near = points @ self.grouping.centres.T
        best = np.argsort(-near, axis=1, kind="stable")[:, :_OUTSIDE]
        weights = np.take_along_axis(near, best, axis=1).clip(0.01)
        weights /= weights.sum(axis=1, keepdims=True)
        return np.asarray((weights[:, :, None] * self.places[best]).sum(axis=1))


def _plane(centres: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Alike centres near each other, (k, 2), within -1 … 1."""
    laid = (centres - centres.mean(axis=0)) @ _plane_of(centres) if len(centres) else centres
    laid = laid.reshape(len(centres), 2)
    # Equal places have no direction to be moved apart in.
    laid = laid + 1e-6 * np.random.default_rng(seed).normal(size=laid.shape)
    return laid / max(1e-9, float(np.abs(laid).max(initial=0)))


def _plane_of(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The two directions in which rows differ most, (r, 2); signs are settled."""
    width = rows.shape[1]
    basis = np.zeros((width, 2))
    if len(rows) > 1:
        *_, right = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
        found = right[:2].T
        signs = np.sign(found[np.abs(found).argmax(axis=0), np.arange(found.shape[1])])
        basis[:, : found.shape[1]] = found * signs
    return basis


def _apart(places: NDArray[np.float64], radii: NDArray[np.float64]) -> NDArray[np.float64]:
    """Moved until no cloud lies on another."""
    places = places.copy()
    needed = _GAP * (radii[:, None] + radii[None, :])
    np.fill_diagonal(needed, 0)
    for _ in range(_ROUNDS):
        between = places[:, None] - places[None, :]  # (k, k, 2)
        far = np.linalg.norm(between, axis=2)
        lacking = (needed - far).clip(0)
        if lacking.max(initial=0) < 1e-3:
            break
        way = between / far.clip(1e-9)[:, :, None]
        places += 0.25 * (way * lacking[:, :, None]).sum(axis=1)
    return places
