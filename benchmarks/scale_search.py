"""`python -m benchmarks.scale_search HOME`: searches a library, tells in JSON how that went.

A program of its own, so that its memory is that of a process that does nothing else.
"""

import json
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from index import Catalog, Collection
from rag.retrieve import CANDIDATES, retrieve

if TYPE_CHECKING:
    from encoder import Embedder

CLIENTS = 4
_WARM = 20  # searches that do not count


def measured(home: Path) -> dict[str, Any]:
    """Milliseconds of each kind of search, by one client and by several at once."""
    asked = np.load(home / "asked.npz")
    rows, nearest = asked["rows"], asked["nearest"]
    queries = json.loads((home / "asked.json").read_text(encoding="utf-8"))
    began = time.perf_counter()
    with Catalog(home) as catalog:
        collection = Collection.open(catalog, "default")
        collection.dense(rows[0])
        dense_open = time.perf_counter() - began
        collection.lexical(queries[0])
        opened = time.perf_counter() - began
        fingerprint = catalog.collection("default").model.fingerprint

        def dense(k: int) -> Callable[[int], object]:
            return lambda i: collection.dense(rows[i], k)

        def hybrid(i: int) -> object:
            embedder = cast("Embedder", _Encoded(rows[i], fingerprint))
            return retrieve(queries[i], collection=collection, embedder=embedder, k=10)

        searches = {f"dense, k={k}": dense(k) for k in (10, 100, CANDIDATES)}
        searches["lexical, k=1000"] = lambda i: collection.lexical(queries[i], CANDIDATES)
        searches["hybrid"] = hybrid
        found: dict[str, Any] = {
            "chunks": catalog.counts("default").chunks,
            "open_dense_s": dense_open,
            "open_s": opened,
            "recall": _recall(lambda i: collection.dense(rows[i]).ids, nearest),
            "searches": {name: _timed(search, len(rows)) for name, search in searches.items()},
        }
        found["resident_gb"], found["own_gb"] = _memory()
    return found


class _Encoded:
    """Stands in for the encoder, whose time is another benchmark's."""

    def __init__(self, row: NDArray[np.float32], fingerprint: str) -> None:
        self.fingerprint = fingerprint
        self._row = row

    def embed_queries(self, queries: list[str]) -> NDArray[np.float32]:
        return self._row[None]


def _recall(search: Callable[[int], NDArray[np.int64]], nearest: NDArray[np.int64]) -> float:
    """How many of the nearest are among as many of the first, on average."""
    k = nearest.shape[1]
    shares = [np.isin(search(i)[:k], row).mean() for i, row in enumerate(nearest)]
    return float(np.mean(shares))


def _timed(search: Callable[[int], object], n: int) -> dict[str, float]:
    for i in range(min(_WARM, n)):
        search(i)
    busy = time.thread_time()
    alone = [_ms(search, i) for i in range(n)]
    busy = time.thread_time() - busy
    together: list[float] = []

    def client(number: int) -> None:
        together.extend([_ms(search, i) for i in range(number, n, CLIENTS)])

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    p50, p95 = np.percentile(alone, (50, 95))
    p50_many, p95_many = np.percentile(together, (50, 95))
    return {
        "p50_ms": float(p50),
        "p95_ms": float(p95),
        "cpu_ms": 1000 * busy / n,
        f"p50_ms_{CLIENTS}_clients": float(p50_many),
        f"p95_ms_{CLIENTS}_clients": float(p95_many),
    }


def _ms(search: Callable[[int], object], i: int) -> float:
    began = time.perf_counter()
    search(i)
    return 1000 * (time.perf_counter() - began)


def _memory() -> tuple[float | None, float | None]:
    """Resident size, and the part of it that is not pages of files, which processes share."""
    file = Path("/proc/self/status")
    if not file.is_file():
        return None, None
    lines = dict(line.split(":", 1) for line in file.read_text(encoding="utf-8").splitlines())
    whole, own = (int(lines[name].split()[0]) * 1024 / 1e9 for name in ("VmRSS", "RssAnon"))
    return whole, own


if __name__ == "__main__":
    print(json.dumps(measured(Path(sys.argv[1]))))
