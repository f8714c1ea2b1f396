from collections.abc import Iterator
from pathlib import Path

import pytest

from index import Catalog, Collection
from tests.index.library import MODEL


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str | None:
    """Of the database of a catalogue: None is the file in its home."""
    if request.param == "sqlite":
        return None
    found: str = request.getfixturevalue("postgres_url")
    return found


@pytest.fixture
def catalog(tmp_path: Path, url: str | None) -> Iterator[Catalog]:
    with Catalog(tmp_path / "home 한글 %", url) as catalog:
        yield catalog


@pytest.fixture
def sqlite_catalog(tmp_path: Path) -> Iterator[Catalog]:
    with Catalog(tmp_path / "home 한글 %") as catalog:
        yield catalog


@pytest.fixture
def collection(catalog: Catalog) -> Collection:
    return Collection.open(catalog, "default", MODEL)
