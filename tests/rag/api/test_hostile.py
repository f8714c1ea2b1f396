"""Requests that nobody means well by, or that a program got wrong: told so, and never a 5xx."""

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

ASKED = {"messages": [{"role": "user", "content": "How long?"}], "mode": "extract"}
JSON = {"content-type": "application/json"}


def said(response: Any) -> str:
    told: str = response.json()["error"]["message"]
    return told


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/chat/completions", ASKED | {"stop": "a text of more than sixteen"}, 200),
        ("/v1/chat/completions", ASKED | {"stop": ["a"] * 17}, 400),
        ("/v1/chat/completions", ASKED | {"stop": ""}, 200),
        ("/v1/chat/completions", ASKED | {"max_tokens": 10**30}, 200),
        ("/v1/chat/completions", ASKED | {"max_tokens": 0}, 400),
        ("/v1/chat/completions", ASKED | {"documents": [2**70, -1, 99]}, 200),
        ("/v1/chat/completions", ASKED | {"messages": [{"role": "system", "content": "x"}]}, 400),
        ("/v1/embeddings", {"input": "x", "model": "attest:none"}, 404),
        ("/api/report", {"collection": "none"}, 404),
        ("/api/report", {"collection": "none", "background": True}, 404),
        ("/api/search", {"query": "x", "filters": {"tags": [str(i) for i in range(2000)]}}, 422),
        ("/api/search", {"query": "x", "filters": {"media_types": ["text/*"] * 2000}}, 422),
        ("/api/search", {"query": "x", "filters": {"tags": [str(i) for i in range(100)]}}, 200),
        ("/api/search", {"query": "x", "filters": {"documents": list(range(1, 5000))}}, 200),
    ],
)
def test_what_is_at_the_edge(
    reader: TestClient, path: str, body: dict[str, Any], status: int
) -> None:
    answered = reader.post(path, json=body)
    assert answered.status_code == status, answered.text


def test_half_a_letter_is_no_fault_of_the_server(reader: TestClient) -> None:
    """JSON can hold one, text cannot."""
    asked = json.dumps(ASKED).replace("How", "\\ud800 How").encode()
    assert reader.post("/v1/chat/completions", content=asked, headers=JSON).status_code == 200
    given = b'{"input": "\\ud800 lamp"}'
    assert reader.post("/v1/embeddings", content=given, headers=JSON).status_code == 200


@pytest.mark.parametrize("path", ["/api/search", "/v1/chat/completions"])
def test_a_body_that_is_none_says_what_to_send(reader: TestClient, path: str) -> None:
    plain = reader.post(path, content=b'{"query": "x"}', headers={"content-type": "text/plain"})
    assert "Content-Type: application/json" in said(plain)
    assert "the body is no JSON" in said(reader.post(path, content=b"{", headers=JSON))
    for content in (b"[" * 100_000, b"\xe9", b'{"k": ' + b"9" * 5000 + b"}"):
        assert reader.post(path, content=content, headers=JSON).status_code in (400, 422)


def test_a_file_that_is_only_compared_is_called_by_its_own_name(reader: TestClient) -> None:
    refused = reader.post("/api/similar/file", files={"file": ("x.bin", b"\x00\x01")})
    assert refused.status_code == 422
    assert said(refused).startswith("x.bin: ")
