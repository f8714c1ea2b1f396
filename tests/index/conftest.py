from collections.abc import Iterator
from pathlib import Path

import pytest

from index import Catalog, Collection
from tests.index.library import MODEL


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with Catalog(tmp_path / "home 한글 %") as catalog:
        yield catalog


@pytest.fixture
def collection(catalog: Catalog) -> Collection:
    return Collection.open(catalog, "default", MODEL)
