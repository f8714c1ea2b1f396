"""One process that reads files, as the process that started it sees it: what it says is doubted."""

import io
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import IO, Any, TypeVar

from rag.errors import AttestError
from rag.loaders import wire
from rag.loaders.errors import LoadError
from rag.records import ExtractedText

_T = TypeVar("_T")

_START = 60.0  # seconds that a start may take on a busy machine; 0.3 is usual
_END = 5.0  # seconds after which a killed process that hangs in the system is left to it
_LAST_WORDS = 10_000  # bytes of its log that are looked at
# Several read at once, and each thread that a library keeps ready takes memory.
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
# It finds modules where this process does, and nothing of the folder that it happens to run in.
_MAIN = "import sys; sys.path[:] = sys.argv[1:]; from rag.loaders.worker import main; main()"

if sys.platform == "win32":
    _FLAGS = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP
else:
    _FLAGS = 0


class Lost(Exception):
    """A process that read a file is no more, or no more to be trusted; the message is a reason.

    `may_be_anothers` is false where it was surely the file that it was reading.
    """

    def __init__(self, reason: str, *, may_be_anothers: bool) -> None:
        super().__init__(reason)
        self.may_be_anothers = may_be_anothers


def command() -> list[str]:
    """Starts the process that reads with the product's own loaders."""
    places = [os.path.abspath(place) for place in sys.path if isinstance(place, str)]
    utf8 = f"utf8={sys.flags.utf8_mode}"  # or the two would differ on names that are not UTF-8
    return [sys.executable, "-P", "-X", utf8, "-c", _MAIN, *places]


class LoaderProcess:
    """Not for several threads at once, but for `kill`.

    Raises:
        AttestError: The system gives no further process.
    """

    def __init__(self, command: Sequence[str], limits: wire.Limits) -> None:
        self._limits = limits
        self._files = 0
        self._ending = threading.Lock()
        self._said: Future[Any] = Future()
        self._said.set_result(None)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  (closed once it has started)
        try:
            self._process = subprocess.Popen(  # noqa: S603  (no shell)
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env=os.environ | _ENVIRONMENT,
                start_new_session=True,  # Ctrl-C in a terminal is for the process that started it
                creationflags=_FLAGS,
            )
        except OSError as error:
            self._log.close()
            raise _not_started(str(error)) from error
        assert self._process.stdin is not None
        assert isinstance(self._process.stdout, io.BufferedReader)
        self._sink: IO[bytes] = self._process.stdin
        self._source: io.RawIOBase = self._process.stdout.raw

    def greet(self) -> None:
        """Waits until it is ready to read.

        Raises:
            AttestError: It is not, which no file is to blame for.
        """
        try:
            self._within(_START, self._open)
        except TimeoutError:
            raise _not_started(f"no answer within {_START:g} s") from None
        except (EOFError, OSError, wire.Malformed):
            self.kill()
            raise _not_started(self._last_words()) from None
        finally:
            self._log.close()

    def read(self, request: wire.Request) -> ExtractedText | LoadError:
        """Has a file read.

        Raises:
            Lost: The process crashed, ran past a limit or talked nonsense. It has to be closed.
        """
        first, self._files = self._files == 0, self._files + 1
        seconds = self._limits.time(request)
        memory = f"{self._limits.memory >> 20:,} MB of memory"
        try:
            return wire.unpack(self._within(seconds, lambda: self._ask(request)))
        except TimeoutError:
            reason = f"reading it took longer than {seconds:g} s: split it, or "
            raise Lost(reason + wire.REMEDY, may_be_anothers=False) from None
        except wire.OutOfMemory:
            reason = f"the file needs more than {memory}: split it, or {wire.REMEDY}"
        except wire.Malformed as error:
            reason = f"reading it went wrong ({error}): the file is hostile: {wire.REMEDY}"
        except (EOFError, OSError):
            reason = (
                f"reading it crashed ({self._end()}): the file is damaged or hostile, or needs "
                f"more than {memory}: {wire.REMEDY}"
            )
        raise Lost(reason, may_be_anothers=not first)

    def kill(self) -> None:
        """Ends it, and whatever it has started, at once. Any thread may do so."""
        with self._ending:
            if self._process.returncode is None:
                _kill(self._process)
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(_END)

    def close(self) -> None:
        self.kill()
        # Pipes are not closed under a thread that reads them; it has ended but where something
        # that fled from the process keeps them open.
        self._said.add_done_callback(lambda _: self._release())

    def _release(self) -> None:
        for pipe in (self._sink, self._source, self._log):
            with suppress(OSError):  # what was not sent any more
                pipe.close()

    def _open(self) -> None:
        wire.send(self._sink, wire.pack_limits(self._limits))
        wire.await_greeting(self._source)

    def _ask(self, request: wire.Request) -> wire.Reply:
        wire.send(self._sink, wire.pack_request(request))
        details = wire.receive(self._source, wire.LARGEST_DETAILS)
        return wire.Reply(details, wire.receive(self._source, wire.LARGEST_TEXT))

    def _within(self, seconds: float, talk: Callable[[], _T]) -> _T:
        """Runs what may wait for ever in a thread that can be left behind: there is no other way
        to stop waiting for a pipe that works on every system."""
        self._said = said = Future[_T]()

        def run() -> None:
            try:
                said.set_result(talk())
            except BaseException as error:
                said.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        return said.result(seconds)

    def _end(self) -> str:
        """How it ended: if it has not, though it is no longer heard, it does now."""
        self.kill()
        code = self._process.returncode
        return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"

    def _last_words(self) -> str:
        self._log.seek(max(0, self._log.seek(0, os.SEEK_END) - _LAST_WORDS))
        lines = self._log.read().decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), self._end())


def _kill(process: "subprocess.Popen[bytes]") -> None:
    if sys.platform == "win32":
        process.kill()
    else:
        with suppress(ProcessLookupError, PermissionError):  # all of it has ended by itself
            os.killpg(process.pid, signal.SIGKILL)


def _not_started(reason: str) -> AttestError:
    return AttestError(
        f"no file can be read: the process that reads did not start ({reason}): "
        "install the product anew, or end other programs"
    )
