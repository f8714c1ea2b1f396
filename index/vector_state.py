"""What a dense index holds at one time: a file, what changed since, and what that hides of it."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from index.records import Candidates, Vectors
from index.vector_file import Saved
from index.vector_folder import NONE, Version
from index.vector_layers import Base, Delta, Row, merged

EXACT = 30_000  # rows that are searched whole: that takes 4 ms, and nothing is missed


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Enough to write a file of, while changes go on."""

    seq: int
    saved: Version  # the file beneath
    base: Base | None
    kept: NDArray[np.int64]  # ranks of the base
    ids: NDArray[np.int64]  # (m,) beside those of the base
    rows: NDArray[np.float16]  # (m, d)

    def __len__(self) -> int:
        return len(self.kept) + len(self.ids)


class State:
    """Searched by many threads, changed by one at a time."""

    def __init__(self, dimensions: int, base: Base | None = None, saved: Version = NONE) -> None:
        self.applied = max(saved.seq, 0)
        self.saved = saved  # the file that it began with
        self.unsaved = 0  # changes since
        self.base = base
        self._delta = Delta(dimensions)
        self._hidden = np.zeros(len(base) if base else 0, bool)  # by rank; replaced, not changed
        # FAISS scans the delta for one query with one thread, so that taking turns costs nothing
        # until several queries come at once. The base is not locked.
        self._lock = threading.Lock()

    @classmethod
    def of(cls, file: Saved, version: Version) -> Self:
        """Few rows come into memory, many stay where they are."""
        dimensions = file.rows.shape[1]
        if len(file.ids) > EXACT:
            return cls(dimensions, Base(file), version)
        state = cls(dimensions, None, version)
        items = Vectors(file.ids, file.rows.astype(np.float32))
        state._delta.replace(np.empty(0, np.int64), items)
        return state

    def __len__(self) -> int:
        return len(self._hidden) - int(np.count_nonzero(self._hidden)) + len(self._delta)

    @property
    def wants_lists(self) -> bool:
        return len(self) > EXACT and (self.base is None or self.base.trained is None)

    def search(self, query: Row, k: int, allowed: NDArray[np.int64] | None) -> Candidates:
        with self._lock:
            found = [self._delta.search(query, k, allowed)]
            hidden = self._hidden
        if self.base:
            found.append(self.base.search(query, k, allowed, hidden))
        return merged(found, k)

    def apply(self, seq: int, changed: Sequence[int], items: Vectors) -> None:
        replaced = np.union1d(np.asarray(changed, np.int64), items.ids)
        hidden = self._hidden
        if self.base:
            hidden = hidden.copy()
            hidden[self.base.ranks(replaced)] = True
        with self._lock:
            self._delta.replace(replaced, items)
            self._hidden = hidden
        self.applied = seq
        self.unsaved += len(replaced)

    def ids(self) -> NDArray[np.int64]:
        with self._lock:
            ids, hidden = self._delta.ids(), self._hidden
        return np.sort(np.concatenate([ids, self.base.ids[~hidden]]) if self.base else ids)

    def snapshot(self) -> Snapshot:
        with self._lock:
            ids, rows = self._delta.content()
            kept = np.flatnonzero(~self._hidden)
        return Snapshot(self.applied, self.saved, self.base, kept, ids, rows)
