"""Reading files in processes of their own, so that a file can harm nothing but its own reading.

A `LoaderPool` keeps a few such processes. Each is started when it is first needed, gives way to a
fresh one after a crash, a hang or a flood of memory, and ends with the process that started it.
"""

import os
import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from rag.errors import AttestError
from rag.loaders.errors import BrokenFile, LoadError
from rag.loaders.process import LoaderProcess, Lost, command
from rag.loaders.wire import Limits, Request
from rag.records import ExtractedText

_LEAST_MEMORY = 256 << 20  # bytes; the process itself takes about 100 MB
_DAY = 86_400  # seconds
_AHEAD = 2  # files per process that are read before they are asked for
_MOST_AHEAD = 50_000_000  # characters of text, or bytes of files, that wait to be asked for
_CLOSED = "files are no longer read: their reader was closed"


class LoaderPool:
    """Processes that read files for every thread of this one.

    Args:
        workers: Files that are read at the same time, at most.
        seconds: That a file may take.
        ocr_seconds: The same where text is to be recognised, which takes seconds a page.
        memory: Bytes that each process may take. Linux holds it to that, Windows does not.
        start: The command of a process that ends in `rag.loaders.worker.serve`, where it is not
            to read with `rag.loaders.load`.
    """

    def __init__(
        self,
        *,
        workers: int,
        seconds: float = 120.0,
        ocr_seconds: float = 3_600.0,
        memory: int = 2 << 30,
        start: Sequence[str] | None = None,
    ) -> None:
        if workers < 1:
            raise ValueError(f"workers ({workers}) must be at least 1")
        if not (0 < seconds <= _DAY and 0 < ocr_seconds <= _DAY):
            raise ValueError(
                f"seconds ({seconds:g}) and ocr_seconds ({ocr_seconds:g}) must be more than 0 and "
                f"at most {_DAY:,}"
            )
        if memory < _LEAST_MEMORY:
            raise ValueError(f"memory ({memory:,}) must be at least {_LEAST_MEMORY:,} bytes")
        self._limits = Limits(seconds, ocr_seconds, memory)
        self._command = start
        self._lock = threading.Lock()
        self._closed = False
        self._all: set[LoaderProcess] = set()
        self._idle: list[LoaderProcess] = []
        self._workers = workers
        # First come, first served: an upload waits behind few files of a folder that is read.
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="loader")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def load(self, path: Path, *, ocr: bool = False) -> ExtractedText:
        """Reads a file as `rag.loaders.load` does, and waits for its turn.

        Raises:
            LoadError: As there; also where reading it crashed or ran past a limit.
            AttestError: No process could be started, or the pool was closed meanwhile.
        """
        return _result(self._submit(path, ocr))

    def load_all(
        self, paths: Iterable[Path], *, ocr: bool = False
    ) -> Generator[tuple[Path, ExtractedText | LoadError], None, None]:
        """Reads files and gives them in their order. A few are read ahead, however many come;
        what is left of those when the generator is closed is not read.

        The paths are taken one by one, in the thread that asks for the texts.

        Raises:
            AttestError: No process could be started, or the pool was closed meanwhile.
        """
        source = iter(paths)
        ahead: deque[_Ahead] = deque()
        try:
            while self._fill(ahead, source, ocr):
                item = ahead.popleft()
                try:
                    outcome: ExtractedText | LoadError = _result(item.future)
                except LoadError as error:
                    outcome = error
                yield item.path, outcome
        finally:
            for item in ahead:
                item.future.cancel()

    def close(self) -> None:
        """Ends all processes. Files that are being read are given up."""
        with self._lock:
            self._closed = True
            processes = tuple(self._all)
        self._threads.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.kill()
        self._threads.shutdown()
        while self._idle:
            self._discard(self._idle.pop())

    def _fill(self, ahead: "deque[_Ahead]", source: Iterator[Path], ocr: bool) -> bool:
        """Asks for files ahead, and says whether there is any to wait for."""
        while not ahead or (
            len(ahead) < _AHEAD * self._workers and sum(map(_Ahead.weight, ahead)) < _MOST_AHEAD
        ):
            path = next(source, None)
            if path is None:
                break
            ahead.append(_Ahead(path, _size(path), self._submit(path, ocr)))
        return bool(ahead)

    def _submit(self, path: Path, ocr: bool) -> "Future[ExtractedText]":
        request = Request(Path(os.path.abspath(path)), ocr)
        with self._lock:
            if self._closed:
                raise AttestError(_CLOSED)
            return self._threads.submit(self._load, request)

    def _load(self, request: Request) -> ExtractedText:
        process = self._take()
        outcome = self._outcome(process, request)
        if isinstance(outcome, Lost) and outcome.may_be_anothers:
            # An earlier file may have brought it down, or it had read enough: once more, alone.
            outcome = self._outcome(self._start(), request)
        if isinstance(outcome, Lost):
            raise BrokenFile(str(outcome)) from outcome
        if isinstance(outcome, LoadError):
            raise outcome
        return outcome

    def _outcome(
        self, process: LoaderProcess, request: Request
    ) -> ExtractedText | LoadError | Lost:
        try:
            outcome = process.read(request)
        except BaseException as error:
            self._discard(process)
            if self._closed:  # it was ended, and the file is as good as any
                raise AttestError(_CLOSED) from None
            if isinstance(error, Lost):
                return error
            raise
        with self._lock:
            self._idle.append(process)
        return outcome

    def _take(self) -> LoaderProcess:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return self._start()

    def _start(self) -> LoaderProcess:
        with self._lock:
            if self._closed:
                raise AttestError(_CLOSED)
            process = LoaderProcess(self._command or command(), self._limits)
            self._all.add(process)
        try:
            process.greet()
        except BaseException:
            self._discard(process)
            if self._closed:
                raise AttestError(_CLOSED) from None
            raise
        return process

    def _discard(self, process: LoaderProcess) -> None:
        process.close()
        with self._lock:
            self._all.discard(process)


@dataclass(frozen=True, slots=True)
class _Ahead:
    """A file that is read before it is asked for."""

    path: Path
    size: int  # bytes
    future: Future[ExtractedText]

    def weight(self) -> int:
        """Characters that it holds, or will hold as far as its size tells."""
        if not self.future.done():
            return self.size
        return 0 if self.future.exception() else len(self.future.result().text)


def _result(future: Future[ExtractedText]) -> ExtractedText:
    try:
        return future.result()
    except CancelledError:
        raise AttestError(_CLOSED) from None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except (OSError, ValueError):  # reading it will say why
        return 0
