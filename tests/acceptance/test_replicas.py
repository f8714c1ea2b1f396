"""Two servers over one PostgreSQL database, as behind a proxy: what one does, the other sees."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from index import Catalog
from index.keys import Keys
from tests.acceptance.served import Served, models, page, serving, soon

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the tests start a server over a socket")

_PATIENT_S = 300.0  # a machine that is busy otherwise takes its time


@pytest.fixture
def environment(tmp_path: Path, fresh_postgres_url: str) -> dict[str, str]:
    """Of servers whose generator is an engine elsewhere: the local one need not be there."""
    chosen = models(tmp_path / "models")
    return {
        "ATTEST_ENCODER": chosen["ATTEST_ENCODER"],
        "ATTEST_MODELS_DIR": str(tmp_path / "none"),
        "ATTEST_GENERATOR_URL": "http://127.0.0.1:9/v1",
        "ATTEST_DATABASE_URL": fresh_postgres_url,
        "ATTEST_RATE_LIMIT": "100000",  # they are asked again and again how far a job is
    }


@pytest.fixture
def key(tmp_path: Path, environment: dict[str, str]) -> str:
    """What programs show at either."""
    with Catalog(tmp_path / "by hand", environment["ATTEST_DATABASE_URL"]) as catalog:
        return Keys(catalog.database).create("test", "write", None)[1]


@pytest.fixture
def clients(key: str) -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def _client(stack: ExitStack, served: Served, key: str) -> httpx.Client:
    headers = {"Authorization": f"Bearer {key}"}
    made = httpx.Client(base_url=served.address, headers=headers, timeout=_PATIENT_S)
    return stack.enter_context(made)


def _found(client: httpx.Client, query: str) -> set[str]:
    answer = client.post("/api/search", json={"query": query, "mode": "lexical"})
    return {Path(hit["document"]["path"]).name for hit in answer.json()["hits"]}


def _job(client: httpx.Client, number: int) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/api/jobs/{number}").json()
    return found


def test_what_one_does_the_other_sees(
    tmp_path: Path, environment: dict[str, str], key: str, clients: ExitStack
) -> None:
    """Each has a home of its own, with nothing of the other in it."""

    def serve(name: str) -> httpx.Client:
        served = clients.enter_context(serving(tmp_path / name / "home", environment))
        return _client(clients, served, key)

    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(serve, "ab")

    added = one.post("/api/documents", files=[("files", ("lamp.md", page(3)))]).json()
    (document,) = added["documents"]
    assert document["status"] == "added"
    assert _found(two, "lamp workshop") == {"lamp.md"} == _found(one, "lamp workshop")
    asked = {"messages": [{"role": "user", "content": "When is the lamp lit?"}], "mode": "extract"}
    answered = two.post("/v1/chat/completions", json=asked).json()
    assert answered["citations"][0]["document"]["id"] == document["id"]

    job = one.post("/api/every", json={"questions": ["What is its colour?"]}).json()["id"]
    soon(lambda: _job(two, job)["status"] == "done")
    assert _job(two, job)["result"] == _job(one, job)["result"]

    removed = two.delete(f"/api/documents/{document['id']}").json()
    assert removed["documents"][0]["status"] == "removed"
    assert _found(one, "lamp workshop") == set()

    with Catalog(tmp_path / "by hand", environment["ATTEST_DATABASE_URL"]) as catalog:
        keys = Keys(catalog.database)
        keys.create("other", "read", None)
        keys.revoke(1)
    assert [client.get("/api/documents").status_code for client in (one, two)] == [401, 401]


@pytest.mark.slow
def test_a_job_of_a_server_that_died_is_done_by_the_other(
    tmp_path: Path, environment: dict[str, str], key: str, clients: ExitStack
) -> None:
    """They share a home, as machines share its uploads."""
    home = tmp_path / "home"
    a = clients.enter_context(serving(home, environment))
    one = _client(clients, a, key)
    files = [("files", (f"page-{number}.md", page(number, 100))) for number in range(400)]
    put = one.post("/api/documents", files=files, params={"background": "true"}).json()["id"]
    soon(lambda: _job(one, put)["status"] == "running" and _job(one, put)["done"] > 0)
    b = clients.enter_context(serving(home, environment))
    two = _client(clients, b, key)
    assert _job(two, put)["status"] == "running"
    a.end(signal.SIGKILL)
    soon(lambda: _job(two, put)["status"] == "done", b.process, b.said)
    done = _job(two, put)
    assert {row["status"] for row in done["result"]["documents"]} <= {"added", "unchanged"}
    listed = two.get("/api/documents").json()["documents"]
    assert sorted(row["title"] for row in listed) == sorted(f"Note {n}" for n in range(400))
