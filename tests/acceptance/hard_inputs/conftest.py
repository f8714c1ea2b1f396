from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from rag import Assistant, Settings
from rag.api import create_app
from tests.acceptance.hard_inputs.shelf import Shelf
from tests.rag.conftest import Ran, attest, encoder_folder, run, settings

__all__ = ["Ran", "attest", "encoder_folder", "run", "settings"]

Shelve = Callable[[Mapping[str, bytes]], Shelf]


@pytest.fixture(scope="module")
def shelve(encoder_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelve]:
    """Makes files and adds them to a fresh library, once for a module."""
    with ExitStack() as stack:

        def made(files: Mapping[str, bytes]) -> Shelf:
            root = tmp_path_factory.mktemp("자료 창고")
            given = Settings(home=root / "home", encoder=str(encoder_folder), threads=1)
            opened = stack.enter_context(Assistant.open(given))
            return Shelf.filled(opened, root / "in", files)

        yield made


@pytest.fixture
def client(attest: Assistant) -> Iterator[TestClient]:
    """The service over an empty home."""
    with TestClient(
        create_app(attest), base_url="http://127.0.0.1", raise_server_exceptions=False
    ) as opened:
        yield opened
