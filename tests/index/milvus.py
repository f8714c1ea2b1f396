"""A Milvus Lite server for the tests of one session: the protocol of Milvus, on a loopback port."""

import importlib.util
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from pymilvus import MilvusClient

from index.milvus_client import CALM
from index.records import MilvusAddress

_STARTS_S = 60


def missing() -> str | None:
    """Why there can be no server here, or None."""
    if importlib.util.find_spec("milvus_lite") is None:  # there is none for Windows
        return "milvus-lite is not installed: pip install milvus-lite"
    return None


class Server:
    """A process that can be killed and started again, on the same port and folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with closing(socket.create_server(("127.0.0.1", 0))) as listening:
            self._port = listening.getsockname()[1]
        self._made = 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def create(self) -> MilvusAddress:
        """Of a database that is empty."""
        self._made += 1
        name = f"test_{self._made}"
        client = MilvusClient(self.uri, grpc_options=CALM)
        client.create_database(name)
        client.close()
        return MilvusAddress(f"{self.uri}/{name}")

    def start(self) -> None:
        where = ("--data-dir", str(self.folder), "--host", "127.0.0.1", "--port", str(self._port))
        self._process = subprocess.Popen(
            (sys.executable, "-m", "milvus_lite", "server", *where),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + _STARTS_S
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", self._port), 0.2).close()
            except OSError:
                assert self._process.poll() is None, "the server has ended"
                time.sleep(0.05)
            else:
                return
        raise AssertionError(f"the server did not start in {_STARTS_S} s")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@contextmanager
def running() -> Iterator[Server]:
    folder = Path(tempfile.mkdtemp(prefix="attest-milvus-"))
    server = Server(folder / "lite.db")
    try:
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)
