"""Programs run from outside: how much memory they take at their highest, and how much work."""

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from benchmarks.rounds import Missing

_POLL_S = 0.05


class Usage:
    """Of a process and its children: the highest resident size of each, added up, and their time.

    Read while they run, since what the kernel tells of an ended child starts with the size of the
    process that started it.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._highest: dict[int, int] = {}  # process id to KiB
        self._worked: dict[int, int] = {}  # likewise, to ticks of the processor
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    @property
    def peak_gb(self) -> float:
        return sum(self._highest.values()) * 1024 / 1e9

    @property
    def cpu_seconds(self) -> float:
        return sum(self._worked.values()) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _follow(self) -> None:
        while not self._ended.wait(_POLL_S):
            for pid in _family(self._process.pid):
                if size := _kib(pid, "VmHWM:"):
                    self._highest[pid] = size
                self._worked[pid] = _ticks(pid) or self._worked.get(pid, 0)


class Failed(Exception):
    """A program that ended with an error; the message holds what it said last."""


@dataclass(frozen=True, slots=True)
class Program:
    name: str
    process: subprocess.Popen[bytes]
    usage: Usage
    said: IO[bytes]  # its standard error

    def finish(self) -> None:
        """Wait for its end.

        Raises:
            Failed: its exit code is not 0.
        """
        if code := self.process.wait():
            raise Failed(f"{self.name} ended with {code}: {self.last_words()}")

    def last_words(self) -> str:
        self.said.seek(0)
        return self.said.read()[-1000:].decode(errors="replace")


@contextmanager
def running(
    module: str, arguments: Sequence[str], environment: Mapping[str, str]
) -> Iterator[Program]:
    """A module as a program of this Python, ended on leaving if it has not ended by then.

    Raises:
        Missing: the system does not tell the peak of a running process.
    """
    if not Path("/proc/self/status").is_file():
        raise Missing("peaks are read from /proc, which this system lacks")
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            env={**os.environ, **environment},
            stdout=subprocess.DEVNULL,
            stderr=said,
        )
        usage = Usage(process)
        try:
            yield Program(module, process, usage, said)
        finally:
            usage.stop()
            process.terminate()
            process.wait()


def _family(pid: int) -> Iterator[int]:
    yield pid
    for task in _listed(Path(f"/proc/{pid}/task")):
        for child in _text(task / "children").split():
            yield from _family(int(child))


def resident_bytes(pid: int) -> int:
    """Of a process and its children, now; what they share counts for each."""
    return 1024 * sum(_kib(each, "VmRSS:") for each in _family(pid))


def _kib(pid: int, what: str) -> int:
    for line in _text(Path(f"/proc/{pid}/status")).splitlines():
        if line.startswith(what):
            return int(line.split()[1])
    return 0


def _ticks(pid: int) -> int:
    """Of the process alone, in its own code and in the kernel."""
    fields = _text(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12]) if fields else 0


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:  # it has ended
        return []


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError:  # it has ended
        return ""
