"""The service as its clients see it."""

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from rag import Assistant


def chat(client: TestClient, content: Any, **more: Any) -> Any:
    body = {"messages": [{"role": "user", "content": content}], "mode": "extract", **more}
    return client.post("/v1/chat/completions", json=body)


def test_health(client: TestClient) -> None:
    assert client.get("/health").json() == {"status": "ok"}


def test_search_answers_as_the_command_line_does(client: TestClient, library: Assistant) -> None:
    from rag import shapes

    body = client.post("/api/search", json={"query": "warranty of the lamp", "k": 2}).json()

    expected = shapes.search(library.search("warranty of the lamp", k=2))
    assert body["hits"] == json.loads(json.dumps(expected["hits"]))
    assert set(body) == set(expected)


def test_search_within_documents(client: TestClient) -> None:
    request = {"query": "the", "filters": {"documents": ["hours.txt"]}}
    hits = client.post("/api/search", json=request).json()["hits"]

    assert hits
    assert all(hit["document"]["path"].endswith("hours.txt") for hit in hits)


def test_documents_are_uploaded_listed_read_and_removed(client: TestClient) -> None:
    files = [
        ("files", ("note.txt", "문은 초록색이다.".encode(), "text/plain")),
        ("files", ("junk.pdf", b"%PDF-1.4 no", "application/pdf")),
    ]
    done = client.post("/api/documents", files=files)
    assert done.status_code == 200
    assert done.json()["summary"] == {"added": 1, "failed": 1}
    added = done.json()["documents"][0]

    listed = client.get("/api/documents").json()["documents"]
    assert added["id"] in [row["id"] for row in listed]
    text = client.get(f"/api/documents/{added['id']}/text").json()["text"]
    assert text == "문은 초록색이다."
    assert client.delete(f"/api/documents/{added['id']}").json()["summary"] == {"removed": 1}
    assert client.delete(f"/api/documents/{added['id']}").status_code == 404


def test_an_upload_that_cannot_be_read_is_422_with_the_reason(client: TestClient) -> None:
    files = [("files", ("junk.pdf", b"%PDF-1.4 no", "application/pdf"))]
    done = client.post("/api/documents", files=files)

    assert done.status_code == 422
    assert done.json()["documents"][0]["reason"]


@pytest.mark.parametrize("name", ["../evil.txt", "..\\evil.txt", "/etc/evil.txt", "CON.txt"])
def test_a_crafted_name_is_stored_inside_the_home(
    client: TestClient, library: Assistant, name: str
) -> None:
    done = client.post("/api/documents", files=[("files", (name, b"The gate is green."))])

    assert done.status_code == 200
    assert done.json()["documents"][0]["path"].startswith(str(library.settings.home))


def test_chat_cites_beside_the_choices(client: TestClient) -> None:
    body = chat(client, "How long does the warranty of the lamp last?").json()

    assert body["object"] == "chat.completion"
    assert body["choices"][0]["finish_reason"] == "stop"
    content = body["choices"][0]["message"]["content"]
    assert "24 months" in content
    first = body["citations"][0]
    assert content[first["answer_start"] : first["answer_end"]] == first["quote"]


def test_chat_streams_the_same_answer(client: TestClient) -> None:
    question = "How long does the warranty of the lamp last?"
    whole = chat(client, question).json()

    lines = chat(client, question, stream=True).text.strip().split("\n\n")

    assert lines[-1] == "data: [DONE]"
    events = [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]
    text = "".join(e["choices"][0]["delta"].get("content", "") for e in events)
    assert text == whole["choices"][0]["message"]["content"]
    assert events[-1]["choices"][0]["finish_reason"] == "stop"
    assert events[-1]["citations"] == whole["citations"]


def test_text_parts_are_read_as_one_question(client: TestClient) -> None:
    parts = [
        {"type": "text", "text": "How long does the warranty"},
        {"type": "text", "text": " last?"},
    ]

    assert "24 months" in chat(client, parts).json()["choices"][0]["message"]["content"]


@pytest.mark.parametrize(
    "body",
    [
        {"messages": []},
        {"messages": [{"role": "wizard", "content": "x"}]},
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
        {"messages": [{"role": "user", "content": "x"}], "temperature": 9},
        {"messages": [{"role": "user", "content": "x"}], "max_tokens": 0},
        {},
    ],
)
def test_a_request_that_cannot_be_is_400_as_openai_says_it(
    client: TestClient, body: dict[str, Any]
) -> None:
    answered = client.post("/v1/chat/completions", json=body)

    assert answered.status_code == 400
    assert set(answered.json()["error"]) == {"message", "type", "param", "code"}


@pytest.mark.parametrize("question", ["", "   ", "\u3000\n"])
def test_a_blank_question_is_422(client: TestClient, question: str) -> None:
    assert chat(client, question).status_code == 422
    assert chat(client, question, stream=True).status_code == 422
    assert client.post("/api/search", json={"query": question}).status_code == 422


def test_an_endless_question_is_413(client: TestClient) -> None:
    assert chat(client, "x" * 100_000).status_code == 413


def test_k_and_unknown_fields_are_checked(client: TestClient) -> None:
    assert client.post("/api/search", json={"query": "a", "k": 0}).status_code == 422
    assert client.post("/api/search", json={"query": "a", "kk": 3}).status_code == 422
    assert client.post("/api/search", json={"query": "a", "collection": "no"}).status_code == 404


def test_questions_are_remembered_and_passages_judged(
    client: TestClient, library: Assistant
) -> None:
    question = "How long is the warranty?"
    client.post("/api/search", json={"query": question})
    citation = chat(client, question).json()["citations"][0]
    with client.stream(
        "POST",
        "/v1/chat/completions",
        json={"messages": [{"role": "user", "content": question}], "mode": "extract"},
    ) as streamed:
        streamed.read()
    given = {"question": question, "chunk_id": citation["chunk_id"]}

    for kind in ("opened", "down", "up"):
        kept = client.post("/api/feedback", json=given | {"kind": kind})
        assert kept.json() == {"remembered": True}

    (asked,) = library.history()
    assert (asked.text, asked.times) == (question, 3)
    assert (asked.opened, asked.up, asked.down) == ((given["chunk_id"],),) * 2 + ((),)
    assert client.post("/api/feedback", json=given | {"kind": None}).status_code == 200
    assert library.history()[0].up == ()
    assert client.delete("/api/history").json() == {"forgotten": 1}
    assert client.delete("/api/history").json() == {"forgotten": 0}
    assert library.history() == ()


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({"kind": "liked"}, 422),
        ({"question": " "}, 422),
        ({"question": "a" * 20_001}, 413),
        ({"chunk_id": 999}, 404),
        ({"chunk_id": 2**63}, 422),
        ({"chunk_id": -1}, 422),
        ({"collection": "none"}, 404),
        ({"more": 1}, 422),
    ],
)
def test_feedback_that_cannot_be_is_told(
    client: TestClient, library: Assistant, wrong: dict[str, Any], status: int
) -> None:
    given = {"question": "warranty", "chunk_id": 1, "kind": "up"} | wrong
    response = client.post("/api/feedback", json=given)
    assert response.status_code == status
    assert response.json()["error"]["message"]
    assert library.history() == ()


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded"])
def test_feedback_from_a_page_elsewhere_is_not_taken(
    client: TestClient, library: Assistant, kind: str | None
) -> None:
    """A browser sends these to any address without asking it first; JSON and DELETE it does not."""
    given = {"question": "warranty", "chunk_id": 1, "kind": "up"}
    headers = {"origin": "https://elsewhere.example"} | ({"content-type": kind} if kind else {})
    response = client.post("/api/feedback", content=json.dumps(given), headers=headers)
    assert response.status_code == 422
    for method in ("POST", "DELETE"):
        asking = {"access-control-request-method": method, **headers}
        allowed = client.options("/api/feedback", headers=asking).headers
        assert not [name for name in allowed if name.startswith("access-control")]
    assert library.history() == ()


@pytest.mark.parametrize(
    ("site", "status"), [("cross-site", 403), ("same-origin", 200), ("none", 200)]
)
def test_pages_of_other_sites_change_nothing(
    client: TestClient, library: Assistant, site: str, status: int
) -> None:
    headers = {"sec-fetch-site": site}
    before = len(library.documents())
    form = {"files": ("form.txt", b"The gasket costs 6 euros.")}
    sent = client.post("/api/documents", files=form, headers=headers)
    assert sent.status_code == status
    assert len(library.documents()) == before + (status == 200)
    if status == 403:
        assert "a page of another site sent this" in sent.json()["error"]["message"]
    assert client.delete("/api/history", headers=headers).status_code == status
    assert client.get("/api/documents", headers=headers).status_code == 200


def test_feedback_needs_to_say_what_was_thought(client: TestClient) -> None:
    response = client.post("/api/feedback", json={"question": "warranty", "chunk_id": 1})
    assert response.status_code == 422
