"""The process that reads files for another one: a crash, a hang or a flood of memory ends it alone.

It is started with pipes as its standard streams. Nothing that a library prints may come between the
messages, so it keeps the pipes to itself and leaves the null device in their places.
"""

import faulthandler
import io
import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import NoReturn, Protocol

from rag.loaders import wire
from rag.loaders.cleaning import one_line
from rag.loaders.errors import BrokenFile, LoadError
from rag.records import ExtractedText

_GRACE = 10.0  # seconds past the limit after which nobody is left to end this process
_MOST_FILES = 1_000  # after which what libraries have leaked is given back
_LONGEST_ERROR = 200  # characters
_LARGEST_REQUEST = 1 << 20  # bytes; a path has a few thousand


class Load(Protocol):
    def __call__(self, path: Path, *, ocr: bool) -> ExtractedText: ...


def main() -> NoReturn:
    from rag.loaders.formats import load

    serve(load)


def serve(load: Load) -> NoReturn:
    """Reads file after file as it is told, until nobody is there to tell."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that was asked to stop stops this
    source = io.FileIO(os.dup(0))
    sink = open(os.dup(1), "wb")  # noqa: SIM115  (for as long as the process runs)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    limits = wire.unpack_limits(wire.receive(source, _LARGEST_REQUEST))
    _limit(limits.memory)
    os.dup2(null, 2)  # until here it is kept, for the reason of a start that failed
    requests: SimpleQueue[wire.Request] = SimpleQueue()
    threading.Thread(target=_listen, args=(source, requests), daemon=True).start()
    sink.write(wire.GREETING)
    sink.flush()
    for _ in range(_MOST_FILES):
        request = requests.get()
        # Should the other process be killed while a library holds the interpreter's lock, then
        # `_listen` cannot end this one.
        deadline = limits.time(request) + _GRACE
        faulthandler.dump_traceback_later(deadline, exit=True, file=null)
        wire.send(sink, *_read(load, request))
        faulthandler.cancel_dump_traceback_later()
        if _data() > limits.memory // 2:
            break
    os._exit(0)  # a fresh process takes the next file


def _listen(source: io.FileIO, requests: "SimpleQueue[wire.Request]") -> None:
    """Ends the process once the one that it reads for is gone, also in the midst of a file."""
    try:
        while True:
            requests.put(wire.unpack_request(wire.receive(source, _LARGEST_REQUEST)))
    finally:
        os._exit(0)


def _read(load: Load, request: wire.Request) -> wire.Reply:
    try:
        return wire.pack(load(request.path, ocr=request.ocr))
    except LoadError as error:
        return wire.pack(error)
    except MemoryError:
        return wire.OUT_OF_MEMORY
    except Exception as error:  # a fault of ours or of a library, and this file brings it out
        what = one_line(f"{type(error).__name__}: {error}")[:_LONGEST_ERROR]
        return wire.pack(BrokenFile(f"reading it failed ({what}): {wire.REMEDY}"))


def _limit(memory: int) -> None:
    """Bounds the memory where the system can; where the machine's runs short, this goes first."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    if sys.platform != "win32":
        import resource

        with suppress(OSError, ValueError):
            # What is written to, not what is mapped: fonts, models and libraries do not count.
            resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash leaves no document on disk


def _data() -> int:
    """The bytes that count against the limit, 0 where the system does not tell."""
    if sys.platform == "linux":
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[5]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    else:  # noqa: RET505  (mypy reads one branch of the two)
        return 0
