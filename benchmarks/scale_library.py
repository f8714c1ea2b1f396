"""Libraries of very many short passages: a home, its queries, and what is nearest to each."""

import hashlib
import json
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpus import questions, short_passages
from encoder import Embedder
from index import Catalog, Chunk, Collection, Model, NewDocument
from rag.vector_cache import embedded

REAL = 102_400  # passages that are encoded; beyond them copies are made
QUERIES = 200
NEAREST = 10

_PER_DOCUMENT = 100  # chunks
_MIXED = 0.5  # how much of two other passages' difference goes into a copy
_AT_ONCE = 50_000

Rows = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Source:
    """What libraries of any size are made of."""

    model: Model
    passages: list[str]
    rows: NDArray[np.float16]  # (real, d)
    queries: list[str]
    query_rows: Rows  # (queries, d)


def source(encoder: Path, data: Path, cache: Path, largest: int) -> Source:
    """Reads and encodes, 512 passages at a time, which a later run takes from the cache.

    Args:
        largest: chunks of the largest library that is to be made
    """
    embedder = Embedder.load(encoder)
    passages, asked = short_passages(data), questions(data)[:QUERIES]
    real = passages[: min(largest, REAL)]
    rows = embedded(real, embedder, cache)
    model = Model(encoder.name, embedder.fingerprint, rows.shape[1])
    asked_rows = embedded(asked, embedder, cache)
    return Source(model, passages, rows.astype(np.float16), asked, asked_rows)


def made(given: Source, n: int, cache: Path) -> Path:
    """The home of n chunks, made if it is not there. Its figures are in figures.json."""
    home = cache / f"scale-{n}-{given.model.fingerprint[:8]}"
    if (home / "figures.json").is_file():
        return home
    shutil.rmtree(home, ignore_errors=True)  # a part of one
    home.mkdir(parents=True)
    rows = _with_copies(given, n)
    figures = _filled(home, given, rows)
    np.savez(home / "asked.npz", rows=given.query_rows, nearest=_nearest(rows, given.query_rows))
    (home / "asked.json").write_text(json.dumps(given.queries), encoding="utf-8")
    (home / "figures.json").write_text(json.dumps(figures), encoding="utf-8")
    return home


def _filled(home: Path, given: Source, rows: NDArray[np.float16]) -> dict[str, float]:
    """Chunks a second into the database, the dense and the lexical index."""
    n = len(rows)
    seconds = 0.0
    with Catalog(home) as catalog:
        collection = Collection.open(catalog, "default", given.model, threads=2)
        for start, document in _documents(given.passages, n):
            vectors = rows[start : start + len(document.chunks)].astype(np.float32)
            began = time.perf_counter()
            collection.add(document, vectors)
            seconds += time.perf_counter() - began
        figures = {"database_per_s": n / seconds}
        running = set(threading.enumerate())
        began = time.perf_counter()
        collection.dense(given.query_rows[0], 1)
        for thread in set(threading.enumerate()) - running:  # that make lists beside the search
            thread.join()
        figures["dense_per_s"] = n / (time.perf_counter() - began)
        began = time.perf_counter()
        collection.lexical(given.queries[0], 1)
        figures["lexical_per_s"] = n / (time.perf_counter() - began)
        last = collection.chunks([n])[0]  # nearest.npy counts on chunks having the ids 1 to n
        assert last.text == _passage(given.passages, n - 1)
    return figures


def _documents(passages: list[str], n: int) -> Iterator[tuple[int, NewDocument]]:
    for start in range(0, n, _PER_DOCUMENT):
        parts = [_passage(passages, i) for i in range(start, min(n, start + _PER_DOCUMENT))]
        text = "\n".join(parts)
        chunks, at = [], 0
        for part in parts:
            chunks.append(Chunk(part, at, at + len(part), None, (), len(part.split())))
            at += len(part) + 1
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        path = f"part-{start:07d}.txt"
        yield (
            start,
            NewDocument(path, path, "text/plain", sha256, len(text), text, tuple(chunks)),
        )


def _passage(passages: list[str], i: int) -> str:
    """The i-th; past the last one, halves of two."""
    turn, at = divmod(i, len(passages))
    if not turn:
        return passages[at]
    first, second = passages[at].split(), passages[(at + 7919 * turn) % len(passages)].split()
    return " ".join(first[: len(first) // 2] + second[len(second) // 2 :])


def _with_copies(given: Source, n: int) -> NDArray[np.float16]:
    """The encoded rows; past the last, each again with a part of the difference of two others.

    So a copy lies off its original (cosine near 0.8) as passages lie off each other, not anyhow.
    """
    real = given.rows.astype(np.float32)
    rows = np.empty((n, real.shape[1]), np.float16)
    rng = np.random.default_rng(0)
    for start in range(0, n, len(real)):
        part = real[: n - start]
        if start:
            one, other = rng.integers(len(real), size=(2, len(part)))
            part = part + _MIXED * (real[one] - real[other])
            part /= np.linalg.norm(part, axis=1, keepdims=True)
        rows[start : start + len(part)] = part
    return rows


def _nearest(rows: NDArray[np.float16], queries: Rows) -> NDArray[np.int64]:
    """Chunk ids of the nearest to each query, (queries, NEAREST), by looking at all."""
    scores = np.empty((len(queries), 0), np.float32)
    ids = np.empty((len(queries), 0), np.int64)
    for start in range(0, len(rows), _AT_ONCE):
        block = rows[start : start + _AT_ONCE].astype(np.float32)
        block /= np.linalg.norm(block, axis=1, keepdims=True)
        more = np.arange(start + 1, start + 1 + len(block))
        scores = np.hstack([scores, queries @ block.T])
        ids = np.hstack([ids, np.broadcast_to(more, (len(queries), len(block)))])
        best = np.argsort(-scores, axis=1)[:, :NEAREST]
        scores, ids = np.take_along_axis(scores, best, 1), np.take_along_axis(ids, best, 1)
    return ids
