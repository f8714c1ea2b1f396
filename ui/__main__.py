"""`python -m ui`: serve the page and the HTTP service until Ctrl-C, with ATTEST_* for settings."""

import errno
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from types import FrameType

import uvicorn

from index import StorageError
from index.keys import Keys
from rag import logs
from rag.access import check_address
from rag.assistant import Assistant
from rag.errors import AttestError
from rag.jobs import Worker
from rag.models import locate
from rag.settings import load_settings

_GRACE_S = 5  # for answers that are being written; a page keeps a connection while it is shown
_TURN_S = 0.001  # that a thread keeps the interpreter while another one waits for it
_LAST_S = 3  # for what does not end by then to be broken off


class CannotListen(AttestError):
    """The address cannot be had."""


class Server(uvicorn.Server):
    """Says where it can be reached, once it can, and ends in time once it is told to.

    Args:
        config: as uvicorn has it
        ending: called as soon as it is told to end
        scratch: a folder that goes with the process
    """

    def __init__(self, config: uvicorn.Config, ending: Callable[[], None], scratch: str) -> None:
        super().__init__(config)
        self._ending = ending
        self._scratch = scratch

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if not self.should_exit:
            self._ending()
            # What runs in a thread cannot be ended from outside: a model that is in the middle of
            # a long text, say. As after a kill, nothing is lost of what was reported done.
            last = threading.Timer(_GRACE_S + _LAST_S, _break_off, [self._scratch])
            last.daemon = True
            last.start()
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or ():
            host, port = listener.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            print(f"Attest listens on http://{shown}:{port}", file=sys.stderr, flush=True)


def main() -> int:
    """Serve; the exit code, and one line on stderr where it is not 0."""
    # A terminated process unwinds like an interrupted one: its temporary folder goes with it.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        settings = load_settings({})
        logs.configure(settings.log_level)
        with (
            listening(settings.host, settings.port) as listener,
            Assistant.open(settings) as assistant,
            tempfile.TemporaryDirectory(prefix="attest-", ignore_cleanup_errors=True) as folder,
        ):
            os.environ.setdefault("GRADIO_TEMP_DIR", folder)  # its own default is shared by users
            serve(assistant, listener, folder)
    except (AttestError, StorageError) as error:
        print(f"attest: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 0
    return 0


def listening(host: str, port: int) -> socket.socket:
    """A socket that takes connections, which wait until the service is ready.

    Raises:
        CannotListen: another program has the port, or this machine has no such address.
    """
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    if os.name != "nt":  # there, it would let two programs have the same port
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()
    except OSError as error:
        listener.close()
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            raise CannotListen(
                f"port {port} on {host} cannot be had ({error.strerror}): end the program that "
                "has it, or choose another with --port or ATTEST_PORT"
            ) from error
        raise CannotListen(
            f"{host} is not an address of this machine ({error.strerror}): choose another with "
            "--host or ATTEST_HOST"
        ) from error
    return listener


def serve(assistant: Assistant, listener: socket.socket, scratch: str) -> None:
    """Run until the process is told to end.

    Args:
        assistant: what is served
        listener: where
        scratch: a folder that goes with the process

    Raises:
        ModelMissing: a model that the page needs is not on this machine.
    """
    settings = assistant.settings
    check_address(settings, Keys(assistant.catalog.database))
    needed = [assistant.status().encoder]
    if settings.generator_url is None:  # else an engine writes in its place
        needed.append(settings.generator)
    for name in needed:
        locate(name, settings.models_dir)
    from pydantic.warnings import UnsupportedFieldAttributeWarning

    from rag.api import create_app
    from ui.app import mount
    from ui.login import add_login

    # Pydantic silences it where it reads FastAPI's parameters, but not in two threads at once.
    warnings.simplefilter("ignore", UnsupportedFieldAttributeWarning)
    # A search gives the interpreter away some hundred times, and beside an answer it would wait for
    # it so long each time.
    sys.setswitchinterval(_TURN_S)
    app = create_app(assistant)
    add_login(app, assistant)
    config = uvicorn.Config(
        mount(app, assistant),
        log_config=None,  # ours is set up
        access_log=False,
        timeout_graceful_shutdown=_GRACE_S,
    )
    threading.Thread(target=_warm, args=(assistant, app.state.warm), daemon=True).start()
    worker: Worker = app.state.worker
    Server(config, worker.wind_down, scratch).run(sockets=[listener])


def _warm(assistant: Assistant, warm: threading.Event) -> None:
    """Load the models, and make the vectors that a run before this one left to be made."""
    try:
        assistant.warm()
        warm.set()
        for _ in assistant.complete():
            pass
    except Exception as error:
        print(f"attest: the models could not be loaded: {error}", file=sys.stderr, flush=True)


def _break_off(scratch: str) -> None:
    shutil.rmtree(scratch, ignore_errors=True)
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    code = main()
    # A thread may still load a model or write an answer: nobody waits for it at the end.
    sys.stderr.flush()
    os._exit(code)
