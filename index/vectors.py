"""The dense side: FAISS, exact inner product over unit vectors, ids are chunk ids."""

import os
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import BinaryIO

import faiss
import numpy as np
from numpy.typing import NDArray

from index.codec import unit
from index.records import Candidates, Vectors

_READ = 1 << 20  # bytes at a time
_ABANDONED_S = 3600  # a file that was being written this long ago belongs to a process now dead


class VectorIndex:
    """Lives in memory. Its file only spares the next process most of the reading.

    The file is named by what is in it, `dense-<name>-<seq>-<checksum>.faiss`. It is written aside
    and never changed, so that any process may read it while others save newer ones; one that does
    not have the checksum it claims is passed over.

    Args:
        name: Differs between models and between databases, whose files are never mixed up.
        threads: For FAISS, which has an OpenMP runtime of its own.
    """

    block = 8192

    def __init__(self, folder: Path, name: str, dimensions: int, *, threads: int = 1) -> None:
        self._folder = folder
        self._name = f"dense-{name}"
        self._dimensions = dimensions
        self._threads = threads
        # FAISS may not be read while it is written. It scans for one query with one thread, so
        # that taking turns costs nothing until several queries come at once.
        self._lock = threading.Lock()
        self._index, self.applied = self._load()
        self._unsaved = 0  # changes applied since

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def search(
        self, query: NDArray[np.floating], k: int, allowed: NDArray[np.int64] | None = None
    ) -> Candidates:
        """The nearest chunks by cosine, at most k, equal ones by ascending id.

        Args:
            query: (d,) of any length but 0.
            allowed: Chunk ids to choose from; all where it is None.
        """
        if query.shape != (self._dimensions,):
            raise ValueError(f"the query is {query.shape}, the index holds ({self._dimensions},)")
        if k < 1:
            raise ValueError(f"k ({k}) must be at least 1")
        row = unit(query)[None]
        params = None
        if allowed is not None:
            selector = faiss.IDSelectorBatch(np.ascontiguousarray(allowed, np.int64))
            params = faiss.SearchParameters()
            params.sel = selector
        with self._alone():
            if not len(self):
                return _ranked(np.empty(0, np.int64), np.empty(0, np.float32))
            scores, ids = self._index.search(row, min(k, len(self)), params=params)
        found = ids[0] >= 0  # FAISS fills up with -1 where fewer are allowed
        return _ranked(ids[0][found], scores[0][found])

    def updating(self) -> nullcontext[None]:
        """Nothing to hold: every process has an index of its own."""
        return nullcontext()

    def apply(self, seq: int, changed: Sequence[int], items: Vectors) -> None:
        rows = unit(items.rows)
        replaced = np.union1d(np.asarray(changed, np.int64), items.ids)
        with self._alone():
            if len(self) and replaced.size:
                self._index.remove_ids(faiss.IDSelectorBatch(replaced))
            if len(rows):
                self._index.add_with_ids(rows, items.ids)
            self.applied = seq
            self._unsaved += len(changed)

    def settle(self) -> None:
        """Saves once it has learnt so much that the next process should not learn it again."""
        if self._unsaved > max(1000, len(self) // 8):
            self.save()

    def save(self) -> None:
        """Writes the index beside its older files, and removes those."""
        self._folder.mkdir(parents=True, exist_ok=True)
        aside = self._folder / f"{self._name}.{os.getpid()}-{threading.get_ident()}.tmp"
        with self._alone():
            seq = self.applied
            with aside.open("wb") as file:
                checksum = _write(self._index, file)
        path = self._folder / f"{self._name}-{seq:012d}-{checksum:08x}.faiss"
        with suppress(OSError):  # on Windows, where another process has just saved and opened it
            aside.replace(path)
        aside.unlink(missing_ok=True)
        self._unsaved = 0
        self._remove_older(path)

    def _remove_older(self, newest: Path) -> None:
        for path in [*self._folder.glob("dense-*.faiss"), *self._folder.glob("dense-*.tmp")]:
            with suppress(OSError):  # open elsewhere: the next save removes it
                if path.suffix == ".tmp":
                    useless = path.stat().st_mtime < time.time() - _ABANDONED_S
                else:
                    useless = path.name < newest.name or not path.name.startswith(self._name)
                if useless:
                    path.unlink()

    def reset(self) -> None:
        with self._alone():
            self._index, self.applied, self._unsaved = _empty(self._dimensions), 0, 0
        for path in self._saved():
            with suppress(OSError):
                path.unlink()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self._lock:
            faiss.omp_set_num_threads(self._threads)  # holds for the calling thread only
            yield

    def _saved(self) -> list[Path]:
        """Newest first."""
        return sorted(self._folder.glob(f"{self._name}-*.faiss"), reverse=True)

    def _load(self) -> tuple[faiss.IndexIDMap, int]:
        for path in self._saved():
            # Gone since it was listed, or damaged: an older one, or the database, will do.
            with suppress(OSError, ValueError, RuntimeError):
                index, seq = _read(path)
                if index.d == self._dimensions:
                    return index, seq
        return _empty(self._dimensions), 0


def _empty(dimensions: int) -> faiss.IndexIDMap:
    return faiss.IndexIDMap(faiss.IndexFlatIP(dimensions))


def _ranked(ids: NDArray[np.int64], scores: NDArray[np.float32]) -> Candidates:
    order = np.lexsort((ids, -scores))
    return Candidates(ids[order], np.clip(scores[order], -1.0, 1.0))


def _write(index: faiss.IndexIDMap, file: BinaryIO) -> int:
    """Writes through Python, since FAISS itself opens no path with Hangul in it on Windows."""
    checksum = 0

    def write(data: bytes) -> int:
        nonlocal checksum
        checksum = zlib.crc32(data, checksum)
        return file.write(data)

    writer = faiss.PyCallbackIOWriter(write)  # type: ignore[attr-defined]  # not in its stubs
    faiss.write_index(index, writer)
    file.flush()
    os.fsync(file.fileno())
    return checksum


def _read(path: Path) -> tuple[faiss.IndexIDMap, int]:
    """The index of a file, and its `seq`. Raises ValueError where it is not what it claims."""
    seq, claimed = path.stem.split("-")[-2:]
    with path.open("rb") as file:
        checksum = 0
        while data := file.read(_READ):
            checksum = zlib.crc32(data, checksum)
        if checksum != int(claimed, 16):
            raise ValueError(f"{path.name} is damaged: its checksum is {checksum:08x}")
        file.seek(0)
        reader = faiss.PyCallbackIOReader(file.read)  # type: ignore[attr-defined]  # as above
        index = faiss.read_index(reader)
    if not isinstance(index, faiss.IndexIDMap):
        raise ValueError(f"{path.name} holds a {type(index).__name__}")
    return index, int(seq)
