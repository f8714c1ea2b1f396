"""The service over a tiny library: in this process, and on a port of its own for real clients."""

import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn
from fastapi import FastAPI
from fastapi.testclient import TestClient

from rag import Assistant, Settings
from rag.api import create_app

HERE = "http://127.0.0.1"


@pytest.fixture
def client(library: Assistant) -> Iterator[TestClient]:
    with TestClient(create_app(library), base_url=HERE, raise_server_exceptions=False) as opened:
        yield opened


@contextmanager
def listening(app: FastAPI) -> Iterator[str]:
    """Serve an application in a thread; where."""
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            deadline = time.monotonic() + 30
            while not server.started and time.monotonic() < deadline:
                time.sleep(0.01)
            assert server.started
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(30)


@pytest.fixture(scope="session")
def made_home(tmp_path_factory: pytest.TempPathFactory, encoder_folder: Path, shelf: Path) -> Path:
    """A home in which the shelf was read, to be copied."""
    home = tmp_path_factory.mktemp("made") / "home"
    settings = Settings(home=home, encoder=str(encoder_folder), threads=1)
    with Assistant.open(settings) as opened:
        opened.add(shelf)
    return home


@pytest.fixture
def library(settings: Settings, made_home: Path) -> Iterator[Assistant]:
    """An assistant that has read the shelf."""
    shutil.copytree(made_home, settings.home)
    with Assistant.open(settings) as opened:
        yield opened


@pytest.fixture(scope="session")
def standing(
    tmp_path_factory: pytest.TempPathFactory, encoder_folder: Path, made_home: Path
) -> Iterator[Assistant]:
    """Another one, for tests that leave it as it is."""
    home = tmp_path_factory.mktemp("standing") / "home"
    shutil.copytree(made_home, home)
    with Assistant.open(Settings(home=home, encoder=str(encoder_folder), threads=1)) as opened:
        yield opened


@pytest.fixture(scope="session")
def address(standing: Assistant) -> Iterator[str]:
    """Where the service over the standing library listens."""
    with listening(create_app(standing)) as found:
        yield found


@pytest.fixture(scope="session")
def reader(standing: Assistant) -> Iterator[TestClient]:
    """A client of it in this process."""
    with TestClient(create_app(standing), base_url=HERE, raise_server_exceptions=False) as opened:
        yield opened
