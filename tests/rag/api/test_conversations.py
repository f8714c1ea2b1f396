"""Conversations over HTTP: one's own, and nobody else's."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from fastapi.testclient import TestClient

from index.keys import Keys
from rag import Assistant
from rag.api import create_app
from rag.conversations import Conversations
from tests.rag.api.conftest import HERE

QUESTION = "How long does the battery last?"


@pytest.fixture
def here(library: Assistant) -> Iterator[TestClient]:
    """Somebody at the machine itself."""
    app = create_app(library)
    with TestClient(app, base_url=HERE, client=("127.0.0.1", 1)) as opened:
        yield opened


@pytest.fixture
def uid(library: Assistant) -> str:
    """A conversation of theirs."""
    kept = Conversations(library)
    begun = kept.begin(QUESTION)
    assert begun is not None
    with closing(library.stream(QUESTION, mode="extract")) as pieces:
        for _ in kept.recorded(begun, pieces):
            pass
    return begun.uid


def test_they_are_listed_found_read_named_and_deleted(here: TestClient, uid: str) -> None:
    (listed,) = here.get("/api/conversations").json()["conversations"]
    assert (listed["id"], listed["title"], listed["messages"]) == (uid, QUESTION, 1)
    assert here.get("/api/conversations", params={"find": "battery"}).json()["conversations"]
    assert not here.get("/api/conversations", params={"find": "zeppelin"}).json()["conversations"]

    (message,) = here.get(f"/api/conversations/{uid}").json()["messages"]
    assert message["question"] == QUESTION
    shown = here.get(f"/api/conversations/{uid}", params={"form": "markdown"})
    assert shown.headers["content-type"] == "text/markdown; charset=utf-8"
    assert QUESTION in shown.text

    named = here.patch(f"/api/conversations/{uid}", json={"title": " Of\nbatteries "})
    assert named.json() == {"id": uid, "title": "Of batteries"}
    assert here.patch(f"/api/conversations/{uid}", json={"title": " "}).status_code == 422
    assert here.delete(f"/api/conversations/{uid}").json() == {"removed": 1}
    assert here.get(f"/api/conversations/{uid}").status_code == 404
    assert here.get("/api/conversations").json() == {"conversations": []}


def test_a_visitor_from_elsewhere_sees_none_of_them(here: TestClient, uid: str) -> None:
    other = {"x-forwarded-for": "10.0.0.7"}
    assert here.get("/api/conversations", headers=other).json() == {"conversations": []}
    for method in ("get", "delete"):
        refused = getattr(here, method)(f"/api/conversations/{uid}", headers=other)
        assert refused.status_code == 404
    assert here.get(f"/api/conversations/{uid}").status_code == 200


def test_a_key_has_conversations_of_its_own(library: Assistant, here: TestClient, uid: str) -> None:
    _, text = Keys(library.catalog.database).create("script", "write", None)
    mine = {"authorization": f"Bearer {text}"}
    assert here.get("/api/conversations", headers=mine).json() == {"conversations": []}
    assert here.get(f"/api/conversations/{uid}", headers=mine).status_code == 404
