"""Writing the file of a dense index, in blocks, so that memory stays bounded."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from index.codec import unit
from index.vector_file import Lists, write
from index.vector_folder import VectorFolder, Version
from index.vector_layers import Filling, Row, Trained, trained_on
from index.vector_state import EXACT, Snapshot

_BLOCK = 8192  # rows at once
_PER_LIST = 40  # rows to learn a list's centroid from
_STALE = 3  # times as many rows, or as few, as the lists were made for


def write_index(folder: VectorFolder, snapshot: Snapshot, dimensions: int, *, train: bool) -> None:
    """Saves a snapshot.

    Args:
        train: Whether to learn lists where it needs them and those of the base do not serve.
            That takes a minute where there are a million rows.
    """
    merge = _Merge(snapshot)
    trained = _fitting(snapshot)
    known = trained is not None
    if trained is None and train and len(snapshot) > EXACT:
        trained = _train(merge)
    filling = Filling(trained) if trained else None

    def blocks() -> Iterator[NDArray[np.float16]]:
        for start in range(0, len(merge.ids), _BLOCK):
            at = np.arange(start, min(start + _BLOCK, len(merge.ids)))
            block = merge.rows(at)
            if filling:
                filling.add(block, merge.lists(at) if known else np.full(len(at), -1, np.int32))
            yield block

    def after() -> Lists:
        if filling is None or trained is None:
            nothing = np.empty(0, np.uint8)
            return Lists(merge.ids, np.full(len(merge.ids), -1, np.int32), nothing, 0)
        return Lists(merge.ids, filling.lists(), filling.codes(), trained.rows)

    version = Version(snapshot.seq, len(trained.centroids) if trained else 0)
    folder.write(version, lambda file: write(file, dimensions, blocks(), after))


class _Merge:
    """The rows of a snapshot by ascending id, wherever they are."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._base = snapshot.base
        base_ids = self._base.ids[snapshot.kept] if self._base else snapshot.kept
        both = np.concatenate([base_ids, snapshot.ids])
        self._order = np.argsort(both, kind="stable")
        self.ids = both[self._order]

    def rows(self, at: NDArray[np.int64]) -> NDArray[np.float16]:
        """Those at these places, (n, d)."""
        ranks, inside, rest = self._sources(at)
        rows = np.empty((len(at), self._snapshot.rows.shape[1]), np.float16)
        rows[~inside] = self._snapshot.rows[rest]
        if self._base:
            rows[inside] = self._base.rows[ranks]
        return rows

    def lists(self, at: NDArray[np.int64]) -> NDArray[np.int32]:
        """Their lists in the base; -1 for what is not in it."""
        ranks, inside, _ = self._sources(at)
        lists = np.full(len(at), -1, np.int32)
        if self._base:
            lists[inside] = self._base.lists[ranks]
        return lists

    def _sources(
        self, at: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
        """Ranks of those in the base, which ones those are, and where the others are."""
        kept = self._snapshot.kept
        sources = self._order[at]
        inside = sources < len(kept)
        return kept[sources[inside]], inside, sources[~inside] - len(kept)


def _fitting(snapshot: Snapshot) -> Trained | None:
    """The lists of the base, if they serve for so many rows."""
    trained = snapshot.base.trained if snapshot.base else None
    if trained is None or len(snapshot) <= EXACT:
        return None
    return trained if trained.rows / _STALE <= len(snapshot) <= trained.rows * _STALE else None


def _train(merge: _Merge) -> Trained:
    n = len(merge.ids)
    lists = int(2 * n**0.5)
    chosen = np.random.default_rng(1).choice(n, min(n, _PER_LIST * lists), replace=False)
    chosen.sort()
    parts: list[Row] = [
        unit(merge.rows(chosen[start : start + _BLOCK])) for start in range(0, len(chosen), _BLOCK)
    ]
    return trained_on(np.concatenate(parts), lists, n)
