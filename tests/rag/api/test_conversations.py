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
    with closing(kept.recorded(begun, library.stream(QUESTION, mode="extract"))) as pieces:
        list(pieces)
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


def test_they_stay_when_questions_are_forgotten_unless_they_are_named(
    here: TestClient, uid: str, library: Assistant
) -> None:
    """A visitor deletes their own, and the person at the machine everybody's."""
    theirs = Conversations(library, owner="0" * 32)
    assert theirs.begin(QUESTION)
    visiting = {"x-forwarded-for": "10.0.0.7", "cookie": f"attest_visitor={'0' * 32}"}

    def forget(**headers: str) -> None:
        gone = here.delete("/api/history", params={"conversations": True}, headers=headers)
        assert "forgotten" in gone.json()

    here.delete("/api/history")
    assert here.get(f"/api/conversations/{uid}").status_code == 200
    forget(**visiting)
    assert not theirs.listed()
    assert here.get(f"/api/conversations/{uid}").status_code == 200
    assert theirs.begin(QUESTION)
    forget()
    assert not theirs.listed()
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


@pytest.mark.parametrize(
    "sent",
    [
        {"origin": "http://team.example"},  # the proxy names this server, as most do unasked
        {"referer": "http://127.0.0.1:8080/"},  # one on the machine itself
        {"origin": "http://[", "referer": "no address"},
    ],
)
def test_browsers_behind_a_proxy_that_says_nothing_have_their_own(
    library: Assistant, uid: str, sent: dict[str, str]
) -> None:
    app = create_app(library)
    app.add_api_route("/", lambda: "the page")
    ann, bob = (
        TestClient(app, base_url=HERE, client=("127.0.0.1", port), headers=sent) for port in (1, 2)
    )
    machine = TestClient(app, base_url=HERE, client=("127.0.0.1", 3))
    for each in (ann, bob, machine):
        assert "HttpOnly; SameSite=Lax" in each.get("/").headers["set-cookie"]
    assert ann.cookies["attest_visitor"] != bob.cookies["attest_visitor"]
    assert ann.get("/").cookies["attest_visitor"] == ann.cookies["attest_visitor"]
    assert Conversations(library, ann.cookies["attest_visitor"]).begin(QUESTION)
    counts = [
        len(each.get("/api/conversations").json()["conversations"]) for each in (ann, bob, machine)
    ]
    assert counts == [1, 0, 1]
    assert bob.get(f"/api/conversations/{uid}").status_code == 404
    assert machine.get(f"/api/conversations/{uid}").status_code == 200


def test_a_name_that_cannot_be_read_is_refused(here: TestClient) -> None:
    assert here.get("/api/conversations", headers={"host": "["}).status_code == 403
