"""The engine of many machines: both indexes of every collection in Milvus.

Names tell whose a Milvus collection is: attest_UID_KEY_SIDE_NUMBER, where the uid is of one of our
collections, so that databases which share a Milvus server never touch what is of another.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Literal

from index import analysis, index_folders, reads
from index.database import Database
from index.engines import key_of
from index.errors import StorageBusy
from index.milvus_client import Client
from index.milvus_index import MilvusIndex, MilvusVectors, MilvusWords
from index.records import MilvusAddress, StoredCollection

_WAIT_S = 60.0  # for another process, which has written a block by then
_Side = Literal["vectors", "words"]
_SIDES: tuple[_Side, ...] = ("vectors", "words")


class Milvus:
    """An `Engine`. It connects when it is first asked for something.

    Args:
        database: That the collections are of; through it processes take turns.
        home: Where there may be indexes still from before.
    """

    def __init__(self, address: MilvusAddress, database: Database, home: Path) -> None:
        self._client = Client(address)
        self._database = database
        self._home = home

    def dense(self, collection: StoredCollection, threads: int) -> MilvusVectors:
        dimensions = collection.model.dimensions
        return MilvusVectors(
            self._client,
            _base(collection, "vectors"),
            collection,
            fields=f"chunk INT64, mark VARCHAR, vector FLOAT_VECTOR({dimensions})",
            made_for={"model": collection.model.fingerprint},
            turn=partial(self._turn, collection, "vectors"),
            is_there=partial(self._is_there, collection),
        )

    def lexical(self, collection: StoredCollection) -> MilvusWords:
        return MilvusWords(
            self._client,
            _base(collection, "words"),
            collection,
            fields="chunk INT64, document INT64, mark VARCHAR, tokens VARCHAR, "
            "weights SPARSE_FLOAT_VECTOR",
            made_for={"model": collection.model.fingerprint, "tokens": analysis.version()},
            turn=partial(self._turn, collection, "words"),
            is_there=partial(self._is_there, collection),
        )

    def check(self, collection: StoredCollection | None) -> None:
        if collection is None:
            self._client.names("attest_")
            return
        sides: tuple[MilvusIndex, ...] = (self.dense(collection, 1), self.lexical(collection))
        for index in sides:
            index.reopen()

    def drop(self, gone: Sequence[StoredCollection]) -> None:
        index_folders.drop(self._home, gone)
        for collection in gone:
            for side in _SIDES:
                with self._turn(collection, side, _WAIT_S):
                    for name in self._client.names(f"{_base(collection, side)}_"):
                        self._client.drop(name)

    def unused(self, database: Database) -> list[str]:
        """Milvus collections, by name, and all folders of the home: nothing follows them."""
        found = self._client.names("attest_")
        with database.reading() as connection:  # after, so that one made meanwhile is not found
            collections = reads.collections(connection)
            bases = {
                _base(version, side)
                for collection in collections
                for version in reads.versions(connection, collection)
                for side in _SIDES
            }
        ours = tuple(f"attest_{collection.uid}_" for collection in collections)
        mine = [name for name in found if name.startswith(ours)]
        stray = [name for name in mine if name.rpartition("_")[0] not in bases]
        return [*index_folders.strays(self._home, ()), *stray]

    def discard(self, unused: Sequence[str]) -> None:
        names = [name for name in unused if name.startswith("attest_")]
        index_folders.remove(self._home, [name for name in unused if name not in names])
        for name in names:
            self._client.drop(name)

    def close(self) -> None:
        self._client.close()

    @contextmanager
    def _turn(
        self, collection: StoredCollection, side: _Side, patience_s: float
    ) -> Iterator[Callable[[], object]]:
        name = f"index-{collection.id}-{side}"
        with self._database.held(name, patience_s) as still_mine:
            if still_mine is None:
                raise StorageBusy(f"the index {name}", patience_s)
            yield still_mine

    def _is_there(self, collection: StoredCollection) -> bool:
        with self._database.reading() as connection:
            return any(each.uid == collection.uid for each in reads.collections(connection))


def _base(collection: StoredCollection, side: _Side) -> str:
    return f"attest_{collection.uid}_{key_of(collection)[:12]}_{side}"
