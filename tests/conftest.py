"""What tests of several packages share: a PostgreSQL server, started when one first wants it."""

import os
from collections.abc import Iterator

import pytest

from index import Catalog
from tests.index.postgres import Server, missing, running


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A PostgreSQL server, which a developer's machine may lack and the clean one may not."""
    reason = missing()
    if reason and os.environ.get("CI") == "true":
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)
    with running() as server:
        yield server


@pytest.fixture(scope="session")
def shared_database(server: Server, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database with all tables, for one test at a time: making one for each takes longer."""
    name = server.create()
    Catalog(tmp_path_factory.mktemp("shared"), server.url(name)).close()
    return name


@pytest.fixture
def postgres_url(server: Server, shared_database: str) -> str:
    server.empty(shared_database)
    return server.url(shared_database)


@pytest.fixture
def fresh_postgres_url(server: Server) -> Iterator[str]:
    """Of a database without any table."""
    name = server.create()
    yield server.url(name)
    server.drop(name)
