"""Milvus as an engine: who is refused, a server that goes away, several processes that feed one."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent import futures
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import grpc
import numpy as np
import pytest

from index import Catalog, Collection
from index.errors import (
    BadMilvusUri,
    IndexMismatch,
    IndexUnreachable,
    StorageUnreachable,
    UnknownCollection,
)
from index.milvus_client import Client
from index.milvus_index import MilvusIndex
from index.records import MilvusAddress, Model, Vectors
from index.verify import verify
from tests.index import milvus as milvus_lite
from tests.index.library import MODEL, document, kept_indexes, reopened, vector_of, vectors_of
from tests.index.postgres import Server as PostgresServer

ROOT = Path(__file__).parents[2]


@pytest.fixture
def address(milvus_server: milvus_lite.Server) -> MilvusAddress:
    return milvus_server.create()


@pytest.fixture
def catalog(tmp_path: Path, address: MilvusAddress) -> Iterator[Catalog]:
    with Catalog(tmp_path / "home", None, address) as catalog:
        yield catalog


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives up soon."""
    monkeypatch.setattr("index.milvus_client._PATIENCE_S", 0.3)
    monkeypatch.setattr("index.milvus_client._CONNECT_S", 0.3)


def _add(collection: Collection, path: str, *passages: str) -> int:
    new = document(path, *passages)
    return collection.add(new, vectors_of(new)).id


def _vector_of_77() -> Vectors:
    return Vectors(np.array([77]), vector_of("y")[None])


def _stocked(catalog: Catalog, documents: int = 3) -> Collection:
    collection = Collection.open(catalog, "default", MODEL)
    for number in range(documents):
        _add(collection, f"{number}.txt", f"pump {number}", f"crane {number}")
    return collection


@pytest.mark.usefixtures("hasty")
def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    with Catalog(tmp_path, None, MilvusAddress("http://127.0.0.1:9")) as catalog:
        collection = Collection.open(catalog, "default", MODEL)
        told = r"Milvus server at http://127.0.0.1:9 cannot be .*ATTEST_MILVUS_URI.* is safe"
        with pytest.raises(IndexUnreachable, match=told):
            collection.check()
        assert catalog.collections() == []


@pytest.mark.usefixtures("hasty")
def test_a_server_that_lets_nobody_in_asks_for_the_token(tmp_path: Path) -> None:
    server = grpc.server(futures.ThreadPoolExecutor(1), interceptors=(_Closed(),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    address = MilvusAddress(f"http://127.0.0.1:{port}", "a-secret")
    assert "a-secret" not in repr(address)
    try:
        with Catalog(tmp_path, None, address) as catalog:
            with pytest.raises(IndexUnreachable, match="set ATTEST_MILVUS_TOKEN") as told:
                Collection.open(catalog, "default", MODEL).check()
            assert "a-secret" not in str(told.value)
    finally:
        server.stop(0)


class _Closed(grpc.ServerInterceptor):
    def intercept_service(self, _continuation: object, _details: object) -> grpc.RpcMethodHandler:
        return grpc.unary_unary_rpc_method_handler(
            lambda _, context: context.abort(grpc.StatusCode.UNAUTHENTICATED, "auth check failure")
        )


@pytest.mark.usefixtures("hasty")
def test_a_folder_that_another_process_has_open_is_named(
    tmp_path: Path, milvus_server: milvus_lite.Server
) -> None:
    address = MilvusAddress(str(milvus_server.folder))
    with (
        Catalog(tmp_path, None, address) as catalog,
        pytest.raises(IndexUnreachable, match="one process at a time can have it open"),
    ):
        Collection.open(catalog, "default", MODEL).check()


def test_an_address_that_cannot_be_is_refused(tmp_path: Path) -> None:
    with (
        Catalog(tmp_path, None, MilvusAddress(str(tmp_path / "no folder" / "x.db"))) as catalog,
        pytest.raises(BadMilvusUri, match="no folder"),
    ):
        Collection.open(catalog, "default", MODEL).check()


def test_the_client_is_loaded_only_where_milvus_is_chosen() -> None:
    code = """if True:
        import sys, rag.cli, index.collection, index.embedded, index.errors, pathlib
        assert not {"pymilvus", "grpc", "pandas"} & set(sys.modules)
        sys.modules["pymilvus"] = None
        from index.records import MilvusAddress
        try:
            index.Catalog(pathlib.Path(sys.argv[1]), None, MilvusAddress("http://x")).engine
        except index.errors.BadMilvusUri as error:
            assert "pip install 'attest-rag[milvus]'" in str(error), error
        else:
            raise AssertionError
    """
    with TemporaryDirectory() as home:
        subprocess.run([sys.executable, "-c", code, home], cwd=ROOT, check=True, timeout=60)


def test_what_was_made_for_something_else_is_refused_until_it_is_made_anew(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = _stocked(catalog)
    collection.catch_up()
    monkeypatch.setattr("index.milvus_index.SCHEMA", 2)
    again = Collection.open(catalog, "default", MODEL)
    told = r"attest_\w+ was made for schema 1, not for schema 2.*`attest rebuild -c default`"
    with pytest.raises(IndexMismatch, match=told):
        again.check()
    with pytest.raises(IndexMismatch, match=told):
        again.dense(vector_of("x"))
    problems = verify(catalog).problems
    assert [each.kind for each in problems] == ["dense", "lexical"]
    again.rebuild()
    assert len(again.dense(vector_of("x")).ids) == 6
    assert verify(catalog).problems == ()


def test_vectors_of_another_width_are_refused(catalog: Catalog) -> None:
    _stocked(catalog).catch_up()
    stored = catalog.collection("default")
    wide = replace(stored, model=stored.model._replace(dimensions=9))
    with pytest.raises(IndexMismatch, match=r"FLOAT_VECTOR\(8\), not for .*FLOAT_VECTOR\(9\)"):
        catalog.engine.check(wide)


def test_a_half_made_index_is_passed_over(catalog: Catalog, address: MilvusAddress) -> None:
    """As a process leaves it that was killed between making it and the first mark."""
    collection = Collection.open(catalog, "default", MODEL)
    stored = catalog.create("default", MODEL)
    engine = catalog.engine
    index = engine.dense(stored, 1)
    with index.updating():
        index.apply(1, [], _vector_of_77())
    client = Client(address)
    (name,) = client.names("attest_")
    client.delete(name, [0])
    assert engine.dense(stored, 1).applied == 0
    _add(collection, "a.txt", "the pump")
    assert len(collection.dense(vector_of("x")).ids) == 1
    assert verify(catalog).problems == ()


def test_an_index_begun_anew_elsewhere_is_found_again(catalog: Catalog) -> None:
    collection = _stocked(catalog)
    assert len(collection.dense(vector_of("x")).ids) == 6
    with reopened(catalog) as elsewhere:
        Collection.open(elsewhere, "default", MODEL).rebuild()
    assert len(collection.dense(vector_of("x")).ids) == 6
    assert collection.lexical("pump").ids.size == 3
    assert collection.frequencies(["pump"]).counts == {"pump": 3}


def test_nothing_is_made_for_a_collection_that_is_gone(catalog: Catalog) -> None:
    _stocked(catalog)
    stored = catalog.collection("default")
    index = catalog.engine.dense(stored, 1)
    catalog.drop("default")
    with index.updating(), pytest.raises(UnknownCollection):
        index.apply(1, [], _vector_of_77())
    catalog.create("default", MODEL)
    assert kept_indexes(catalog) == 0


def test_only_what_is_of_this_database_is_thrown_away(
    catalog: Catalog, tmp_path: Path, address: MilvusAddress
) -> None:
    _stocked(catalog).catch_up()
    with Catalog(tmp_path / "other", None, address) as other:
        theirs = _stocked(other)
        theirs.catch_up()
        assert kept_indexes(catalog) == 2
        stored = other.collection("default")
        former = replace(stored, model=Model("former", "fingerprint-of-former", 8))
        index = other.engine.dense(former, 1)
        with index.updating():
            index.apply(1, [], _vector_of_77())
        assert catalog.engine.unused(catalog.database) == []
        assert len(other.engine.unused(other.database)) == 1
        assert "1 indexes of no collection (attest_" in verify(other).problems[0].detail
        other.clear_former("default")
        assert other.engine.unused(other.database) == []
        catalog.clear()
        assert kept_indexes(other) == 1
        assert len(theirs.dense(vector_of("x")).ids) == 6


@pytest.mark.usefixtures("hasty")
def test_a_server_that_goes_away_in_the_middle_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MilvusIndex, "block", 10)
    with milvus_lite.running() as server, Catalog(tmp_path, None, server.create()) as catalog:
        collection = _stocked(catalog, 60)
        told = list[BaseException]()

        def follow() -> None:
            try:
                collection.catch_up()
            except IndexUnreachable as error:
                told.append(error)

        stored = catalog.collection("default")
        thread = threading.Thread(target=follow)
        thread.start()
        while not catalog.engine.dense(stored, 1).applied:
            time.sleep(0.01)
        server.kill()
        thread.join()
        assert len(told) == 1
        removed = catalog.find("default", "7.txt").id
        collection.remove(removed)
        _add(collection, "new.txt", "the winch")
        with pytest.raises(IndexUnreachable):
            collection.lexical("winch")
        with pytest.raises(IndexUnreachable):
            catalog.drop("default")
        server.start()
        monkeypatch.setattr("index.milvus_client._PATIENCE_S", 10)
        assert len(collection.lexical("winch").ids) == 1
        assert len(collection.dense(vector_of("x")).ids) == 60 * 2 - 2 + 1
        assert verify(catalog).problems == ()


def test_who_has_lost_the_turn_writes_nothing(
    tmp_path: Path, postgres_url: str, server: PostgresServer, address: MilvusAddress
) -> None:
    """As a process that slept while its server gave it up, and others went on."""
    with Catalog(tmp_path, postgres_url, address) as catalog:
        _stocked(catalog).catch_up()
        index = catalog.engine.dense(catalog.collection("default"), 1)
        ended = (
            "SELECT pg_terminate_backend(pid) FROM pg_locks "
            "WHERE locktype = 'advisory' AND pid <> pg_backend_pid()"
        )

        def write_late() -> None:
            with index.updating():
                server.run(ended)
                index.apply(index.applied, [], _vector_of_77())

        with pytest.raises(StorageUnreachable):
            write_late()
        assert len(index) == 6


def test_machines_feed_and_search_one_index(
    tmp_path: Path, postgres_url: str, address: MilvusAddress
) -> None:
    failures = list[BaseException]()

    def work(home: Path, name: str) -> None:
        try:
            with Catalog(home, postgres_url, address) as catalog:
                collection = Collection.open(catalog, "default", MODEL)
                for i in range(6):
                    key = _add(collection, f"{name}{i}", f"pump {name}{i}", f"crane {name}{i}")
                    assert f"pump {name}{i}" in _texts(collection, f"pump {name}{i}")
                    if i % 2:
                        collection.remove(key)
                        assert f"pump {name}{i}" not in _texts(collection, f"pump {name}{i}")
        except BaseException as error:
            failures.append(error)

    with Catalog(tmp_path / "first", postgres_url, address) as catalog:
        catalog.create("default", MODEL)
        threads = [
            threading.Thread(target=work, args=(tmp_path / name, name)) for name in ("b", "c")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert len(Collection.open(catalog, "default").dense(vector_of("x")).ids) == 12
        assert verify(catalog).problems == ()


def _texts(collection: Collection, query: str) -> set[str]:
    return {chunk.text for chunk in collection.chunks(collection.dense(vector_of(query)).ids)}
