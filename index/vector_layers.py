"""What a dense index is made of: few rows in memory, searched whole, over many in a file.

Many rows are divided into lists around centroids (IVF). A query looks into the lists nearest to
it, where one bit a dimension (RaBitQ) tells which rows are worth a second look; those are scored
exactly from the file. Questions are far from the passages that answer them: the ten nearest lie
spread over a fifth of the lists, so that many lists are looked into, and a cheap look matters more
than many small lists.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import faiss
import numpy as np
from numpy.typing import NDArray

from index.codec import unit
from index.records import Candidates, Vectors
from index.vector_file import Saved

Row = NDArray[np.float32]

_PROBED = 256  # lists at least, or a fifth of them: recall@10 of real questions is then 0.985
_SPARE = 500  # rows looked at twice beyond twice as many as are asked for: one bit errs
_SCANNED = 20_000  # rows that are scored faster than lists are looked into
_SIGN_AND_REST = np.int32(0x0FFFE000 - 2**31)  # of the 32 bits that a float16 is moved into
_BIAS = np.float32(2.0**112)
_BLOCK = 512  # rows scored at once, which stay in the processor's cache


class Trained(NamedTuple):
    """How rows are divided into lists."""

    centroids: Row  # (lists, d)
    rows: int  # of which they were made


class Delta:
    """Rows in memory, exact. For one thread at a time, as FAISS wants where it is written too."""

    def __init__(self, dimensions: int) -> None:
        self._flat = faiss.IndexFlatIP(dimensions)
        self._index = faiss.IndexIDMap(self._flat)

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def replace(self, gone: NDArray[np.int64], items: Vectors) -> None:
        """Takes the `items` in, in place of what it has of `gone`, which names theirs too."""
        rows = unit(items.rows)
        ids, last = np.unique(items.ids[::-1], return_index=True)  # never one twice
        if len(self) and gone.size:
            self._index.remove_ids(faiss.IDSelectorBatch(gone))
        if ids.size:
            self._index.add_with_ids(rows[::-1][last], ids)

    def search(self, query: Row, k: int, allowed: NDArray[np.int64] | None) -> Candidates:
        if not len(self):
            return Candidates(np.empty(0, np.int64), np.empty(0, np.float32))
        params = None
        if allowed is not None:
            params = faiss.SearchParameters()
            ids = self.ids()  # most of the allowed are often in the base
            selector = faiss.IDSelectorBatch(ids[np.isin(ids, allowed)])
            params.sel = selector
        scores, near = self._index.search(query[None], min(k, len(self)), params=params)
        found = near[0] >= 0  # FAISS fills up with -1 where fewer are allowed
        return Candidates(near[0][found], scores[0][found])

    def ids(self) -> NDArray[np.int64]:
        """A copy, in no order."""
        ids: NDArray[np.int64] = faiss.vector_to_array(self._index.id_map)
        return ids

    def content(self) -> tuple[NDArray[np.int64], NDArray[np.float16]]:
        """A copy of ids and rows, in the same order as `ids`."""
        n, d = len(self), self._flat.d
        ids = self.ids()
        if not n:
            return ids, np.empty((0, d), np.float16)
        rows = faiss.rev_swig_ptr(self._flat.get_xb(), n * d).reshape(n, d)
        return ids, rows.astype(np.float16)


class Base:
    """The rows of a file, by rank: their place among its ids. It never changes.

    Where it has no lists yet, it is searched whole.
    """

    def __init__(self, saved: Saved) -> None:
        self.rows = saved.rows
        self.ids = saved.ids
        self.lists = saved.lists
        self.trained: Trained | None = None
        self._ivf: Any = None
        if saved.codes.size:
            self._ivf = faiss.deserialize_index(saved.codes)
            centroids = self._ivf.quantizer.reconstruct_n(0, self._ivf.nlist)
            self.trained = Trained(centroids, saved.trained)

    def __len__(self) -> int:
        return len(self.ids)

    def ranks(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Ascending, of those of the ids that are in it."""
        wanted = np.unique(ids)
        at = np.searchsorted(self.ids, wanted)
        inside = at < len(self)
        at, wanted = at[inside], wanted[inside]
        ranks: NDArray[np.int64] = at[self.ids[at] == wanted]
        return ranks

    def search(
        self, query: Row, k: int, allowed: NDArray[np.int64] | None, hidden: NDArray[np.bool_]
    ) -> Candidates:
        """At most k of the `allowed` ids that are not `hidden`, (n,) by rank."""
        visible = ~hidden
        if allowed is not None:
            visible &= self._chosen(allowed)
        ranks = self._worth_scoring(query, k, visible)
        return _best(self.ids[ranks], scored(self.rows, ranks, query), k)

    def _chosen(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """By rank."""
        if 16 * len(ids) > len(self):
            return np.isin(self.ids, ids)
        chosen = np.zeros(len(self), bool)
        chosen[self.ranks(ids)] = True
        return chosen

    def _worth_scoring(self, query: Row, k: int, visible: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Ranks, ascending."""
        n = int(np.count_nonzero(visible))
        looked_at = 2 * k + _SPARE
        if self._ivf is None or n <= _SCANNED or looked_at >= n // 4:
            return np.flatnonzero(visible)
        params = faiss.IVFRaBitQSearchParameters()
        params.qb = 8  # bits of the query's numbers
        if n < len(self):
            bits = np.packbits(visible, bitorder="little")
            selector = faiss.IDSelectorBitmap(len(bits), faiss.swig_ptr(bits))
            params.sel = selector
        lists = self._ivf.nlist
        # The fewer may be shown, the further off the nearest of them are.
        params.nprobe = min(lists, int(max(_PROBED, lists // 5) * (len(self) / n) ** 0.5))
        while True:
            _, found = self._ivf.search(query[None], looked_at, params=params)
            if np.count_nonzero(found >= 0) >= k or params.nprobe == lists:
                return np.sort(found[found >= 0])
            params.nprobe = min(lists, 4 * params.nprobe)


class Filling:
    """The lists of a file that is being written, filled block by block."""

    def __init__(self, trained: Trained) -> None:
        self._trained = trained
        count, dimensions = trained.centroids.shape
        self._quantizer = faiss.IndexFlatIP(dimensions)
        self._quantizer.add(trained.centroids)
        self._ivf = faiss.IndexIVFRaBitQ(
            self._quantizer, dimensions, count, faiss.METRIC_INNER_PRODUCT
        )
        self._ivf.train(trained.centroids)  # nothing but marks it so
        self._lists: list[NDArray[np.int32]] = []
        self._rows = 0

    def add(self, block: NDArray[np.float16], lists: NDArray[np.int32]) -> None:
        """Takes the next rows by rank; a list of -1 is found here."""
        rows = unit(block)
        lists = lists.astype(np.int64)
        new = lists < 0
        if new.any():
            lists[new] = self._quantizer.search(rows[new], 1)[1][:, 0]
        ranks = np.arange(self._rows, self._rows + len(rows), dtype=np.int64)
        self._ivf.add_core(
            len(rows), faiss.swig_ptr(rows), faiss.swig_ptr(ranks), faiss.swig_ptr(lists)
        )
        self._lists.append(lists.astype(np.int32))
        self._rows += len(rows)

    def lists(self) -> NDArray[np.int32]:
        return np.concatenate(self._lists)

    def codes(self) -> NDArray[np.uint8]:
        codes: NDArray[np.uint8] = faiss.serialize_index(self._ivf)
        return codes


def trained_on(sample: Row, lists: int, rows: int) -> Trained:
    """Divides the space into lists, the same ones for the same sample."""
    kmeans = faiss.Kmeans(
        sample.shape[1],
        lists,
        niter=8,
        seed=1,
        spherical=True,
        min_points_per_centroid=1,
        max_points_per_centroid=len(sample),
    )
    kmeans.train(sample)
    assert kmeans.centroids is not None
    return Trained(kmeans.centroids, rows)


def scored(rows: NDArray[np.float16], ranks: NDArray[np.int64], query: Row) -> Row:
    """Cosines with a query of length 1, (ranks,)."""
    scores = np.empty(len(ranks), np.float32)
    for start in range(0, len(ranks), _BLOCK):
        block = _widened(rows[ranks[start : start + _BLOCK]])
        norms = np.sqrt(np.einsum("nd,nd->n", block, block))
        with np.errstate(invalid="ignore", divide="ignore"):
            scores[start : start + _BLOCK] = np.einsum("nd,d->n", block, query) / norms
    return np.nan_to_num(scores, nan=-1.0, posinf=-1.0, neginf=-1.0)  # of a damaged row


def merged(parts: Sequence[Candidates], k: int) -> Candidates:
    """The best k of all, equal ones by ascending id."""
    ids = np.concatenate([part.ids for part in parts])
    scores = np.concatenate([part.scores for part in parts])
    best = _best(ids, scores, k)
    return Candidates(best.ids, np.clip(best.scores, -1.0, 1.0))


def use_threads(count: int) -> None:
    """For FAISS, which has an OpenMP runtime of its own; holds for the calling thread only."""
    faiss.omp_set_num_threads(count)


def _widened(rows: NDArray[np.float16]) -> Row:
    """As astype(float32), in a sixth of the time: sign, exponent and fraction are moved to where
    float32 has them, and the power of two makes up for its other exponent bias.

    Of infinity and NaN, which only a damaged row has, it makes large numbers.
    """
    moved = rows.view(np.int16).astype(np.int32)
    moved <<= 13
    moved &= _SIGN_AND_REST
    return moved.view(np.float32) * _BIAS


def _best(ids: NDArray[np.int64], scores: Row, k: int) -> Candidates:
    order = np.lexsort((ids, -scores))[:k]
    return Candidates(ids[order], scores[order])
