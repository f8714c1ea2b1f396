"""Small documents and vectors that tests of the index share."""

import hashlib
from contextlib import closing

import numpy as np
from numpy.typing import NDArray
from pymilvus import MilvusClient

from index import Catalog
from index.changes import Feed
from index.records import Chunk, Model, NewDocument, Rejected

MODEL = Model("tiny", "fingerprint-of-tiny", 8)


def document(path: str, *passages: str, title: str = "A title", size: int = 100) -> NewDocument:
    """A document whose chunks are the passages, one a line; its content alone gives its hash."""
    text = "\n".join(passages)
    chunks = []
    start = 0
    for passage in passages:
        end = start + len(passage)
        chunks.append(Chunk(passage, start, end, 1, ("Part", "Heading"), len(passage.split())))
        start = end + 1
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    return NewDocument(path, title, "text/plain", sha256, size, text, tuple(chunks), ("warned",))


def rejected(path: str, reason: str = "encrypted") -> Rejected:
    return Rejected(path, "Locked", "application/pdf", "0" * 64, 7, "failed", reason)


def vector_of(text: str) -> NDArray[np.float32]:
    """A direction that belongs to a text, the same in every process."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
    return np.random.default_rng(seed).standard_normal(MODEL.dimensions).astype(np.float32)


def vectors_of(new: NewDocument) -> NDArray[np.float32]:
    return np.stack([vector_of(chunk.text) for chunk in new.chunks])


def feed_of(catalog: Catalog, collection: str = "default") -> Feed:
    return Feed(catalog.database, catalog.collection(collection))


def kept_indexes(catalog: Catalog) -> int:
    """For how many models of collections there are indexes."""
    if catalog.milvus is None:
        return len(list((catalog.home / "indexes").iterdir()))
    with closing(MilvusClient(catalog.milvus.uri)) as client:
        return len({tuple(name.split("_")[1:3]) for name in client.list_collections()})


def reopened(catalog: Catalog) -> Catalog:
    """Another instance over the same home and database."""
    url = catalog.database.url.render_as_string(hide_password=False)
    return Catalog(catalog.home, url, catalog.milvus)
