"""The processes that read files: begun with the first file, and shared by all who look in."""

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from rag.records import ExtractedText

if TYPE_CHECKING:
    from rag.loaders.isolation import LoaderPool

_LOADERS = 2  # processes that read files: one goes on while the other is held up


class Readers:
    """A pool that is made when it is first needed. Safe to share between threads."""

    def __init__(self) -> None:
        self._pool: LoaderPool | None = None
        self._lock = threading.Lock()

    def load(self, file: Path, *, ocr: bool) -> ExtractedText:
        """Read a file, in a process of its own.

        Raises:
            LoadError: it cannot be read; the message is the reason.
        """
        with self._lock:
            if self._pool is None:
                from rag.loaders.isolation import LoaderPool

                self._pool = LoaderPool(workers=_LOADERS)
            pool = self._pool
        return pool.load(file, ocr=ocr)

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()
