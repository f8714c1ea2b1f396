"""The dense side: cosine over unit vectors, ids are chunk ids.

Few vectors are searched whole, in memory. Many lie in a file that all processes share, with lists
that tell where to look; only what changed since is in memory. Once that is much, a new file takes
the place of the old one. It is written beside the searches, which go on with what they have.
"""

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from index.codec import unit
from index.records import Candidates, Vectors
from index.vector_build import write_index
from index.vector_folder import NONE, VectorFolder, Version
from index.vector_layers import use_threads
from index.vector_state import EXACT, Snapshot, State

_UNSAVED = 8192  # changes at most before they are saved: they take 2 ms of a search
_SPILLED = 65_536  # changes that are saved even while more are coming, to bound the memory

_log = logging.getLogger(__name__)


class VectorIndex:
    """Files only spare the next process most of the reading. Instances may be shared by threads.

    Args:
        name: Differs between models and between databases, whose files are never mixed up.
        threads: For FAISS.
    """

    block = 8192

    def __init__(self, folder: Path, name: str, dimensions: int, *, threads: int = 1) -> None:
        self._folder = VectorFolder(folder, name, dimensions)
        self._dimensions = dimensions
        self._threads = threads
        # Whoever builds has the file's lock first and then takes its turn, never the reverse.
        self._building = FileLock(folder / f"{name}.lock")
        self._turn = threading.RLock()
        self._builder: threading.Thread | None = None
        # What is searched. It stays while `_now`, begun from a newer file, is still behind it.
        self._shown = State(dimensions)
        self._now = self._folder.newest(NONE, State.of) or self._shown
        self._show()
        self.settle()  # a process that was ended may have left lists to be made

    def __len__(self) -> int:
        return len(self._shown)

    @property
    def applied(self) -> int:
        """The `seq` of the last change that is in it, 0 when it is empty."""
        return self._now.applied

    def ids(self) -> NDArray[np.int64]:
        """The chunks that are in it, ascending."""
        return self._shown.ids()

    def search(
        self, query: NDArray[np.floating], k: int, allowed: NDArray[np.int64] | None = None
    ) -> Candidates:
        """The nearest chunks by cosine, at most k, equal ones by ascending id.

        Among more than 30,000 chunks a few of the nearest may be missed, unless `allowed` leaves
        so few that all are looked at. What is found has its exact score.

        Args:
            query: (d,) of any length but 0.
            allowed: Chunk ids to choose from; all where it is None.
        """
        if query.shape != (self._dimensions,):
            raise ValueError(f"the query is {query.shape}, the index holds ({self._dimensions},)")
        if k < 1:
            raise ValueError(f"k ({k}) must be at least 1")
        use_threads(self._threads)
        chosen = None if allowed is None else np.ascontiguousarray(allowed, np.int64)
        return self._shown.search(unit(query), k, chosen)

    @contextmanager
    def updating(self) -> Iterator[None]:
        """Takes in what another process has saved, where that is further."""
        with self._turn:
            if self._folder.newest_seq() > self.applied:
                self._adopt()
            yield

    def apply(self, seq: int, changed: Sequence[int], items: Vectors) -> None:
        with self._turn:
            now = self._now
            now.apply(seq, changed, items)
            if now.unsaved >= max(_SPILLED, len(now) // 4):
                with self._warning():
                    self._write(now.snapshot())
            self._show()

    def settle(self) -> None:
        """Saves once it has learnt so much that the next process should not learn it again.

        Where that takes long, a thread does it, which the end of the process waits for.
        """
        with self._turn:
            if not self._is_due():
                return
            if self._adopt() and not self._is_due():  # another process was first
                return
            if len(self._now) <= EXACT:
                with self._warning():
                    self._write(self._now.snapshot())
            elif self._builder is None or not self._builder.is_alive():
                snapshot = self._now.snapshot()
                self._builder = threading.Thread(target=self._build_aside, args=(snapshot,))
                self._builder.start()

    def save(self) -> None:
        """Writes all it has, and returns when that is done."""
        self._wait()
        with self._turn:
            snapshot = self._now.snapshot()
            if len(snapshot) <= EXACT:
                self._write(snapshot)
                return
            wanted = snapshot.seq > snapshot.saved.seq or self._now.wants_lists
        if wanted:
            self._build(snapshot, beyond=max(snapshot.saved, Version(snapshot.seq, 0)))

    def reset(self) -> None:
        self._wait()
        with self._turn:
            self._now = self._shown = State(self._dimensions)
            self._folder.clear()

    def _is_due(self) -> bool:
        now = self._now
        return now.wants_lists or now.unsaved > min(max(1000, len(now) // 8), _UNSAVED)

    def _write(self, snapshot: Snapshot) -> None:
        """Without new lists: they can wait until it has caught up, and are then made for all."""
        write_index(self._folder, snapshot, self._dimensions, train=False)
        self._adopt()

    def _adopt(self) -> bool:
        """Begins anew from a file newer than the one beneath, if there is one."""
        found = self._folder.newest(self._now.saved, State.of)
        if found is None:
            return False
        self._now = found
        self._show()
        return True

    def _show(self) -> None:
        if self._now.applied >= self._shown.applied:
            self._shown = self._now

    def _build_aside(self, snapshot: Snapshot) -> None:
        with self._warning():
            self._build(snapshot, beyond=snapshot.saved)

    @contextmanager
    def _warning(self) -> Iterator[None]:
        """A full disk must not keep anyone from searching. The next change tries again."""
        try:
            yield
        except OSError as error:
            _log.warning("the index in %s could not be saved: %s", self._folder.path, error)

    def _build(self, snapshot: Snapshot, beyond: Version) -> None:
        """Writes a file, unless another process has by then written one beyond this."""
        use_threads(self._threads)
        if not self._locked():
            return
        try:
            if self._folder.newest(beyond, lambda _, version: version) is None:
                write_index(self._folder, snapshot, self._dimensions, train=True)
        finally:
            self._building.release()
        with self._turn:
            self._adopt()

    def _locked(self) -> bool:
        """Waits for other processes, as long as this one has anything else to do."""
        self._folder.path.mkdir(parents=True, exist_ok=True)
        while threading.main_thread().is_alive():
            try:
                self._building.acquire(timeout=1)
            except Timeout:
                continue
            return True
        return False

    def _wait(self) -> None:
        if self._builder is not None:
            self._builder.join()
