"""Milvus itself: the only file that knows pymilvus. What goes wrong there is told in our words.

Every call may be made twice: rows are put in place of those of their key, and what is gone may be
deleted again. So a call that a server did not answer is repeated for a while, and then given up.
Every answer is of what was written before it was asked for (consistency level Strong).
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import grpc
import numpy as np
from numpy.typing import NDArray

from index.errors import BadMilvusUri, IndexReplaced, IndexUnreachable
from index.records import Candidates, MilvusAddress

try:
    from pymilvus import DataType, Function, FunctionType, MilvusClient
    from pymilvus.exceptions import ConnectionConfigException, MilvusException, ParamError
except ModuleNotFoundError as error:
    raise BadMilvusUri(
        "its client pymilvus is not installed (pip install 'attest-rag[milvus]')"
    ) from error

MOST = 16_384  # rows that Milvus gives for one query
_TIMEOUT_S = 60.0  # for one answer
_CONNECT_S = 5.0
_PATIENCE_S = 10.0  # with a server that does not answer
_PAUSE_S = (0.1, 1.0)  # between tries: the first, the longest
_UNAVAILABLE = 2  # of MilvusException.code
_NOT_TO_BE_ASKED = (100, 101)  # likewise: there is no such collection, or it is not loaded
# A connection that is idle is not asked for a sign of life every ten seconds: some servers hang up.
CALM = {"grpc.keepalive_permit_without_calls": 0}
_DENIED = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)
_AWAY = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)

_Answer = TypeVar("_Answer")

for _name in ("pymilvus", "milvus_lite"):  # they log each error with its traceback
    logging.getLogger(_name).setLevel(logging.CRITICAL + 1)


class Client:
    """Connects when it is first asked. Instances may be shared by threads."""

    def __init__(self, address: MilvusAddress) -> None:
        self._address = address
        self._connected: MilvusClient | None = None
        self._lock = threading.Lock()

    def names(self, prefix: str) -> list[str]:
        """The Milvus collections whose names begin so."""
        found = self._call(lambda client: client.list_collections(timeout=_TIMEOUT_S))
        return sorted(name for name in found if name.startswith(prefix))

    def create_dense(self, name: str, dimensions: int) -> None:
        """Makes a collection of rows (chunk, mark, vector), searched by inner product."""

        def create(client: MilvusClient) -> None:
            schema = _schema(client)
            schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dimensions)
            index = client.prepare_index_params()
            index.add_index("vector", index_type="AUTOINDEX", metric_type="IP")
            _create(client, name, schema, index)

        self._call(create)

    def create_lexical(self, name: str) -> None:
        """Makes a collection of rows (chunk, mark, document, tokens), searched by BM25."""

        def create(client: MilvusClient) -> None:
            schema = _schema(client)
            schema.add_field("document", DataType.INT64)
            schema.add_field(
                "tokens",
                DataType.VARCHAR,
                max_length=65_535,  # bytes, the most there is
                enable_analyzer=True,
                enable_match=True,
                analyzer_params={"tokenizer": "standard"},
            )
            schema.add_field("weights", DataType.SPARSE_FLOAT_VECTOR)
            bm25 = Function(
                name="bm25",
                function_type=FunctionType.BM25,
                input_field_names=["tokens"],
                output_field_names=["weights"],
            )
            schema.add_function(bm25)
            index = client.prepare_index_params()
            index.add_index(
                "weights",
                index_type="SPARSE_INVERTED_INDEX",
                metric_type="BM25",
                # As tantivy has them; nested, since Milvus Lite passes others over.
                params={"params": {"bm25_k1": 1.2, "bm25_b": 0.75}},
            )
            _create(client, name, schema, index)

        self._call(create)

    def fields(self, name: str) -> str:
        """The fields of a collection with their types, to be compared."""
        found = self._call(lambda client: client.describe_collection(name, timeout=_TIMEOUT_S))
        shown = []
        for field in found["fields"]:
            wide = field["params"].get("dim")
            shown.append(f"{field['name']} {field['type'].name}" + (f"({wide})" if wide else ""))
        return ", ".join(sorted(shown))

    def drop(self, name: str) -> None:
        self._call(lambda client: client.drop_collection(name, timeout=_TIMEOUT_S))

    def upsert(self, name: str, rows: Sequence[dict[str, Any]]) -> None:
        self._call(lambda client: client.upsert(name, list(rows), timeout=_TIMEOUT_S))

    def delete(self, name: str, ids: Sequence[int]) -> None:
        self._call(lambda client: client.delete(name, ids=list(ids), timeout=_TIMEOUT_S))

    def mark(self, name: str) -> str | None:
        """What the row 0 says, which is no chunk; None where the collection is half made."""

        def read(client: MilvusClient) -> str | None:
            state = client.get_load_state(name, timeout=_TIMEOUT_S)["state"]
            if state.name == "NotLoad":
                if not client.list_indexes(name, timeout=_TIMEOUT_S):
                    return None
                client.load_collection(name, timeout=_TIMEOUT_S)
            rows = client.query(
                name,
                ids=[0],
                output_fields=["mark"],
                consistency_level="Strong",
                timeout=_TIMEOUT_S,
            )
            return str(rows[0]["mark"]) if rows else None

        return self._call(read)

    def count(self, name: str, condition: str) -> int:
        rows = self._call(
            lambda client: client.query(
                name,
                filter=condition,
                output_fields=["count(*)"],
                consistency_level="Strong",
                timeout=_TIMEOUT_S,
            )
        )
        return int(rows[0]["count(*)"])

    def ids(self, name: str) -> NDArray[np.int64]:
        """The chunks of a collection, ascending."""

        def read(client: MilvusClient) -> list[int]:
            found: list[int] = []
            rows = client.query_iterator(
                name,
                batch_size=MOST // 2,
                filter="chunk > 0",
                output_fields=["chunk"],
                consistency_level="Strong",
                timeout=_TIMEOUT_S,
            )
            try:
                while block := rows.next():
                    found += [row["chunk"] for row in block]
            finally:
                rows.close()
            return found

        return np.sort(np.array(self._call(read), np.int64))

    def search(
        self, name: str, field: str, query: str | list[float], k: int, condition: str = ""
    ) -> Candidates:
        """The k best rows, of which one may be the row 0."""
        (hits,) = self._call(
            lambda client: client.search(
                name,
                data=[query],
                anns_field=field,
                limit=k,
                filter=condition,
                consistency_level="Strong",
                timeout=_TIMEOUT_S,
            )
        )
        ids = np.array([hit["chunk"] for hit in hits], np.int64)
        return Candidates(ids, np.array([hit["distance"] for hit in hits], np.float32))

    def close(self) -> None:
        with self._lock:
            if self._connected is not None:
                self._connected.close()
            self._connected = None

    def _call(self, ask: Callable[[MilvusClient], _Answer]) -> _Answer:
        patience = time.monotonic() + _PATIENCE_S
        pause = _PAUSE_S[0]
        while True:
            try:
                return ask(self._connection())
            except (MilvusException, grpc.RpcError) as error:
                if not _is_away(error) or time.monotonic() + pause > patience:
                    raise self._explained(error) from error
            time.sleep(pause)
            pause = min(2 * pause, _PAUSE_S[1])

    def _connection(self) -> MilvusClient:
        with self._lock:
            if self._connected is None:
                uri, token = self._address.uri, self._address.token or ""
                self._connected = MilvusClient(
                    uri=uri, token=token, timeout=_CONNECT_S, grpc_options=CALM
                )
            return self._connected

    def _explained(self, error: MilvusException | grpc.RpcError) -> Exception:
        where = self._address.uri
        if where.endswith(".db"):
            what = f"Milvus Lite's folder {where}"
            remedy = (
                "one process at a time can have it open, so end the other one, or run a Milvus "
                "server that several can use"
            )
        else:
            what = f"the Milvus server at {where}"
            remedy = "see that it is running, and that ATTEST_MILVUS_URI names it"
        if _status(error) in _DENIED or "permission deny" in _reason(error):
            remedy = "set ATTEST_MILVUS_TOKEN to a key, or user:password, that may use it"
        elif isinstance(error, MilvusException) and error.code in _NOT_TO_BE_ASKED:
            return IndexReplaced(_reason(error))
        elif isinstance(error, ParamError | ConnectionConfigException) and not _is_away(error):
            return BadMilvusUri(_reason(error))
        return IndexUnreachable(what, _reason(error), remedy)


def _schema(client: MilvusClient) -> Any:
    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("chunk", DataType.INT64, is_primary=True)
    schema.add_field("mark", DataType.VARCHAR, max_length=1024)  # of the row 0; else ""
    return schema


def _create(client: MilvusClient, name: str, schema: Any, index: Any) -> None:
    """Makes and loads it. What a call without an answer has made already is as good."""
    if not client.has_collection(name, timeout=_TIMEOUT_S):
        client.create_collection(
            name, schema=schema, consistency_level="Strong", timeout=_TIMEOUT_S
        )
    if not client.list_indexes(name, timeout=_TIMEOUT_S):
        # There are no rows yet, so that nothing need be waited for.
        client.create_index(name, index, sync=False, timeout=_TIMEOUT_S)
    client.load_collection(name, timeout=_TIMEOUT_S)


def _status(error: BaseException) -> grpc.StatusCode | None:
    """What the connection has to say, where it is the cause of an error."""
    causes: list[BaseException] = [error]
    while (cause := causes[-1].__cause__) is not None and cause not in causes:
        causes.append(cause)  # pymilvus lets an error be the cause of itself
    codes = (getattr(each, "code", None) for each in causes if isinstance(each, grpc.RpcError))
    return next((code() for code in codes if callable(code)), None)


def _is_away(error: MilvusException | grpc.RpcError) -> bool:
    """Whether another try may find what this one did not."""
    status = _status(error)
    if status in _DENIED:
        return False
    if isinstance(error, ConnectionConfigException):
        return bool(error.message == "Open local milvus failed")  # locked by another process
    if isinstance(error, MilvusException) and (error.code == _UNAVAILABLE or error.retriable):
        return True
    return status in _AWAY


def _reason(error: MilvusException | grpc.RpcError) -> str:
    said = error.message if isinstance(error, MilvusException) else ""
    if not said and isinstance(error, grpc.Call):
        said = error.details() or str(error.code())
    return (str(said) or type(error).__name__).strip().splitlines()[0].rstrip(".")
