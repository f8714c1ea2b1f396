"""Small documents and vectors that tests of the index share."""

import hashlib
import math
from collections import Counter
from contextlib import closing

import numpy as np
from numpy.typing import NDArray
from pymilvus import MilvusClient

from index import Catalog
from index.analysis import tokens
from index.changes import Feed
from index.milvus_client import CALM
from index.records import Chunk, Model, NewDocument, Rejected

MODEL = Model("tiny", "fingerprint-of-tiny", 8)

TEXTS = [
    "The pump QX-808 runs at 3.5 bar",
    "A pump is serviced every year; the pump log is kept",
    "Holiday rules of the branch office",
    "휴가는 매년 15일이고 학교에서는 다르다",
    "pump pump pump",
    "휴가 신청서를 제출한다",
]


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
    with closing(MilvusClient(catalog.milvus.uri, grpc_options=CALM)) as client:
        return len({tuple(name.split("_")[1:3]) for name in client.list_collections()})


def reopened(catalog: Catalog) -> Catalog:
    """Another instance over the same home and database."""
    url = catalog.database.url.render_as_string(hide_password=False)
    return Catalog(catalog.home, url, catalog.milvus)


def bm25(texts: dict[int, str], query: str) -> dict[int, float]:
    """Okapi BM25 with the constants of both. One row more: that of the applied `seq`."""
    rows = {key: Counter(tokens(text)) for key, text in texts.items()}
    n = len(rows) + 1
    mean = sum(row.total() for row in rows.values()) / n
    scores: dict[int, float] = {}
    for key, row in rows.items():
        for word, repeated in Counter(tokens(query)).items():
            df = sum(word in other for other in rows.values())
            idf = math.log(1 + (n - df + 0.5) / (df + 0.5))
            tf = row[word]
            if tf:
                part = tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * row.total() / mean))
                scores[key] = scores.get(key, 0.0) + repeated * idf * part
    return scores
