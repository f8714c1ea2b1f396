"""Storage and search: the database is the truth, FAISS and tantivy are derived from it.

Arrays and strings go in, records come out. What needs SQLAlchemy, FAISS or tantivy is loaded when
it is first asked for, so that records and errors are cheap to import.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from index.errors import StorageError
from index.records import (
    Candidates,
    Chunk,
    Model,
    NewDocument,
    Rejected,
    StoredChunk,
    StoredDocument,
)

if TYPE_CHECKING:
    from index.catalog import Catalog
    from index.collection import Collection

__all__ = [
    "Candidates",
    "Catalog",
    "Chunk",
    "Collection",
    "Model",
    "NewDocument",
    "Rejected",
    "StorageError",
    "StoredChunk",
    "StoredDocument",
]


def __getattr__(name: str) -> object:
    if name in ("Catalog", "Collection"):
        return getattr(import_module(f"index.{name.lower()}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
