import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from index import Catalog, Collection
from index.records import MilvusAddress
from tests.index import milvus as milvus_lite
from tests.index.library import MODEL


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str | None:
    """Of the database of a catalogue: None is the file in its home."""
    if request.param == "sqlite":
        return None
    found: str = request.getfixturevalue("postgres_url")
    return found


@pytest.fixture(scope="session")
def milvus_server() -> Iterator[milvus_lite.Server]:
    """A Milvus Lite server, which a developer's machine may lack and the clean one may not."""
    reason = milvus_lite.missing()
    if reason and os.environ.get("CI") == "true":
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)
    with milvus_lite.running() as server:
        yield server


@pytest.fixture
def milvus(request: pytest.FixtureRequest) -> MilvusAddress | None:
    """Where the indexes of a catalogue lie: None is the folders in its home."""
    if getattr(request, "param", "embedded") == "embedded":
        return None
    server: milvus_lite.Server = request.getfixturevalue("milvus_server")
    return server.create()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The tests of a module that says so run on each engine of indexes."""
    own = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    on_each = getattr(metafunc.module, "ON_EACH_ENGINE", False) and "milvus" not in own
    if on_each and "milvus" in metafunc.fixturenames:
        metafunc.parametrize("milvus", ["embedded", "milvus"], indirect=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves the pair of both servers to `test_milvus`: each was met with the other's default."""
    items[:] = [item for item in items if not re.search(r"\[postgresql-milvus\b", item.nodeid)]


@pytest.fixture
def catalog(tmp_path: Path, url: str | None, milvus: MilvusAddress | None) -> Iterator[Catalog]:
    with Catalog(tmp_path / "home 한글 %", url, milvus) as catalog:
        yield catalog


@pytest.fixture
def sqlite_catalog(tmp_path: Path) -> Iterator[Catalog]:
    with Catalog(tmp_path / "home 한글 %") as catalog:
        yield catalog


@pytest.fixture
def collection(catalog: Catalog) -> Collection:
    return Collection.open(catalog, "default", MODEL)
