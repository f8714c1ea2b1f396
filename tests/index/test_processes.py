import time
from collections import Counter

import numpy as np

from index import Catalog, Collection
from index.records import Ids
from tests.index.library import vector_of
from tests.index.writer import DOCUMENTS, THREADS, finish, start


def test_processes_and_threads_write_while_another_reads(
    catalog: Catalog, collection: Collection
) -> None:
    names = ("left", "right")
    writers = [start(catalog, "threads", name) for name in names]
    try:
        seen = 0
        while any(writer.poll() is None for writer in writers):
            hits = collection.dense(vector_of("x")).ids
            assert len(set(hits.tolist())) == len(hits) >= seen  # nothing comes twice or goes
            seen = len(hits)
            _check_whole(collection, collection.lexical("first second").ids)
            time.sleep(0.05)
    finally:
        for writer in writers:
            finish(writer)
    expected = [
        f"{name}-{thread}-{i}"
        for name in names
        for thread in range(THREADS)
        for i in range(DOCUMENTS)
    ]
    assert sorted(found.path for found in catalog.documents("default")) == sorted(expected)
    for ids in (collection.dense(vector_of("x")).ids, collection.lexical("first second").ids):
        found = Counter(chunk.document.path for chunk in collection.chunks(ids))
        assert found == dict.fromkeys(expected, 2)


def _check_whole(collection: Collection, ids: Ids) -> None:
    """A document is seen with all of its chunks or not at all."""
    found = Counter(chunk.document.path for chunk in collection.chunks(np.asarray(ids)))
    assert set(found.values()) <= {2}
