"""Who comes in, as whom, and what is kept from them."""

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from index.keys import Keys
from rag import Assistant, Settings
from rag.access import NeedsAccess, check_address, is_loopback, is_password, new_key, set_password
from rag.api import create_app
from rag.errors import UsageError
from tests.rag.api.conftest import HERE

PASSWORD = "correct horse"
CHAT = {"messages": [{"role": "user", "content": "warranty of the lamp"}], "mode": "extract"}


@pytest.fixture
def keys(library: Assistant) -> Keys:
    return Keys(library.catalog.database)


@pytest.fixture
def app(library: Assistant) -> FastAPI:
    return create_app(library)


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app, base_url=HERE, raise_server_exceptions=False) as opened:
        yield opened


def bearer(text: str) -> dict[str, str]:
    return {"authorization": f"Bearer {text}"}


def test_an_open_service_answers_only_to_names_of_this_machine(client: TestClient) -> None:
    for host in ("127.0.0.1:7860", "localhost", "[::1]:80"):
        assert client.get("/api/documents", headers={"host": host}).status_code == 200
    for host in ("evil.example", "127.0.0.1.evil.example", "10.0.0.7:7860"):
        refused = client.get("/api/documents", headers={"host": host})
        assert refused.status_code == 403
        assert "another's name" in refused.json()["error"]["message"]


def test_with_a_key_about_everything_needs_one(client: TestClient, keys: Keys) -> None:
    key, text = new_key(keys, "script", access="write")
    for path in ("/api/documents", "/v1/models", "/docs", "/openapi.json", "/metrics", "/"):
        refused = client.get(path)
        assert refused.status_code == 401, path
        assert refused.headers["www-authenticate"] == "Bearer"
        assert refused.json()["error"]["code"] == "invalid_api_key"
    assert client.post("/mcp", json={}).status_code == 401
    assert client.get("/health").status_code == 200
    assert client.get("/api/documents", headers=bearer(text)).status_code == 200
    assert client.get("/api/documents", headers={"x-api-key": text}).status_code == 200
    assert client.get("/api/documents", headers=bearer(text + "x")).status_code == 401
    assert client.get("/", headers=bearer(text)).status_code == 401  # keys open no page
    assert keys.all()[0].used_at is not None
    assert (key.shown, len(key.shown)) == (text[: len(key.shown)], 11)
    keys.revoke(key.id)
    new_key(keys, "another")
    assert client.get("/api/documents", headers=bearer(text)).status_code == 401


def test_the_text_of_a_key_is_kept_nowhere(library: Assistant, keys: Keys) -> None:
    _, text = new_key(keys, "script")
    stored = (library.settings.home / "attest.db").read_bytes()
    wal = (library.settings.home / "attest.db-wal").read_bytes()
    assert text.encode() not in stored + wal


def test_a_key_that_reads_changes_nothing(client: TestClient, keys: Keys) -> None:
    _, text = new_key(keys, "reader")
    client.headers.update(bearer(text))
    assert client.post("/api/search", json={"query": "lamp"}).status_code == 200
    assert client.post("/v1/chat/completions", json=CHAT).status_code == 200
    document = client.get("/api/documents").json()["documents"][0]["id"]
    tried = [
        client.post("/api/documents", files={"files": ("a.txt", b"A lamp.")}),
        client.delete(f"/api/documents/{document}"),
        client.patch(f"/api/documents/{document}/tags", json={"add": ["x"]}),
        client.delete("/api/history"),
        client.post("/api/collections", json={"name": "a"}),
        client.delete("/api/collections/default"),
        client.patch("/api/collections/default", json={"fusion_weight": 0.1}),
        client.post("/api/feedback", json={"question": "a", "chunk_id": 1, "kind": "up"}),
    ]
    assert [response.status_code for response in tried] == [403] * len(tried)
    assert "may only read" in tried[0].json()["error"]["message"]


def test_what_may_change_things_is_closed_to_readers_by_default(app: FastAPI) -> None:
    """A route that is added is for writers until somebody says otherwise."""
    from rag.api.asking import READING

    assert set(app.openapi()["paths"]) >= READING
    for path in READING:
        assert "/documents" not in path


def test_a_key_is_for_its_collections_only(
    client: TestClient, keys: Keys, library: Assistant
) -> None:
    secret = library.settings.home / "secret.txt"
    secret.write_text("The vault opens with the number 7716.", encoding="utf-8")
    (row,) = library.add(secret, collection="vault")
    assert row.id is not None
    _, text = new_key(keys, "script", access="write", collections=["default"])
    client.headers.update(bearer(text))
    there = {"collection": "vault"}
    refused = [
        client.get("/api/documents", params=there),
        client.get(f"/api/documents/{row.id}/text", params=there),
        client.delete(f"/api/documents/{row.id}", params=there),
        client.post("/api/documents", params=there, files={"files": ("a.txt", b"A.")}),
        client.post("/api/search", json={"query": "vault"} | there),
        client.post("/api/similar", json={"text": "vault"} | there),
        client.post("/api/similar/file", params=there, files={"file": ("a.txt", b"A.")}),
        client.post("/api/report", json=there),
        client.post("/v1/chat/completions", json=CHAT | there),
        client.post("/v1/chat/completions", json=CHAT | {"model": "attest:vault"}),
        client.post("/v1/embeddings", json={"input": "a"} | there),
        client.get("/api/collections/vault"),
        client.delete("/api/collections/vault"),
        client.patch("/api/collections/vault", json={"name": "default"}),
        client.patch("/api/collections/default", json={"name": "mine"}),
        client.post("/api/collections", json={"name": "mine"}),
        client.delete("/api/history", params=there),
        client.post("/api/feedback", json={"question": "a", "chunk_id": 1, "kind": "up"} | there),
    ]
    assert [response.status_code for response in refused] == [403] * len(refused)
    assert client.get(f"/api/documents/{row.id}/text").status_code == 404
    assert client.get("/api/documents").status_code == 200
    names = [model["id"] for model in client.get("/v1/models").json()["data"]]
    assert "attest:default" in names
    assert "attest:vault" not in names
    held = client.get("/api/collections").json()["collections"]
    assert [one["name"] for one in held] == ["default"]


def test_a_key_of_one_collection_need_not_name_it(
    client: TestClient, keys: Keys, library: Assistant
) -> None:
    library.add(library.documents()[0].path, collection="other")
    _, text = new_key(keys, "script", collections=["other"])
    listed = client.get("/api/documents", headers=bearer(text)).json()["documents"]
    assert len(listed) == 1


def test_the_page_opens_by_its_password(client: TestClient, keys: Keys) -> None:
    set_password(keys, PASSWORD)
    assert client.get("/api/session").json() == {"password": True, "signed_in": False}
    assert client.get("/api/documents").status_code == 401
    wrong = client.post("/api/session", json={"password": "wrong horse"})
    assert (wrong.status_code, wrong.cookies) == (401, {})
    right = client.post("/api/session", json={"password": PASSWORD})
    assert right.status_code == 204
    cookie = right.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert client.get("/api/documents").status_code == 200
    assert client.get("/").status_code == 404  # past the gate, and no page is mounted here
    assert client.delete("/api/session").status_code == 200
    assert client.get("/api/documents").status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
    ],
)
def test_a_session_is_not_lent_to_other_sites(
    client: TestClient, keys: Keys, library: Assistant, headers: dict[str, str]
) -> None:
    set_password(keys, PASSWORD)
    client.post("/api/session", json={"password": PASSWORD})
    before = len(library.documents())
    sent = client.post("/api/documents", files={"files": ("a.txt", b"A.")}, headers=headers)
    assert sent.status_code == 403
    assert len(library.documents()) == before
    own = {"origin": HERE, "sec-fetch-site": "same-origin"}
    assert client.delete("/api/history", headers=own).status_code == 200


def test_a_new_password_ends_all_sessions(client: TestClient, keys: Keys) -> None:
    set_password(keys, PASSWORD)
    client.post("/api/session", json={"password": PASSWORD})
    assert client.get("/api/documents").status_code == 200
    set_password(keys, "another horse")
    assert client.get("/api/documents").status_code == 401


def test_passwords_cannot_be_tried_for_long(client: TestClient, keys: Keys) -> None:
    set_password(keys, PASSWORD)
    codes = list[int]()
    while 429 not in codes and len(codes) < 60:  # a slow machine hashes while the next is allowed
        guess = {"password": f"guess {len(codes)}"}
        codes.append(client.post("/api/session", json=guess).status_code)
    assert codes[:10] == [401] * 10
    assert codes[-1] == 429
    last = client.post("/api/session", json={"password": PASSWORD})
    assert last.status_code == 429
    assert int(last.headers["retry-after"]) >= 1


def test_a_caller_over_its_rate_is_told_when_to_come_back(settings: Settings) -> None:
    limited = settings.model_copy(update={"rate_limit": 12, "host": "0.0.0.0", "open": True})
    with Assistant.open(limited) as attest:
        app = create_app(attest)
        with TestClient(app, base_url="http://lab.example") as client:
            codes = [client.get("/api/documents").status_code for _ in range(4)]
            refused = client.get("/api/documents")
            assert client.get("/health").status_code == 200
    assert codes == [200, 200, 429, 429]
    assert refused.headers["retry-after"] == "5"
    error = refused.json()["error"]
    assert (error["type"], error["code"]) == ("rate_limit_error", "rate_limit_exceeded")
    assert "over 12 requests a minute" in error["message"]


@pytest.mark.parametrize("told", [True, False])
def test_a_body_that_is_too_large_is_413(client: TestClient, told: bool) -> None:
    body = b'{"query": "' + b"x" * 8_000_000 + b'"}'
    content: Any = body if told else (body[i : i + 500_000] for i in range(0, len(body), 500_000))
    answered = client.post(
        "/api/search", content=content, headers={"content-type": "application/json"}
    )
    assert answered.status_code == 413
    assert "8 MB" in answered.json()["error"]["message"]


def test_a_file_over_the_limit_is_413(settings: Settings) -> None:
    with Assistant.open(settings.model_copy(update={"max_upload_mb": 1})) as attest:
        app = create_app(attest)
        with TestClient(app, base_url=HERE) as client:
            for size in (1_000_001, 3_000_000):
                sent = client.post("/api/documents", files={"files": ("a.txt", b"a" * size)})
                assert sent.status_code == 413
        assert attest.documents() == []
        assert not (settings.home / "uploads").exists()


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.0.4", False),
        ("localhost.evil.example", False),
    ],
)
def test_which_addresses_are_this_machines_own(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_other_machines_are_let_in_only_where_something_keeps_strangers_out(
    settings: Settings, library: Assistant, keys: Keys
) -> None:
    wide = settings.model_copy(update={"host": "0.0.0.0"})
    with pytest.raises(NeedsAccess, match=r"0\.0\.0\.0 is reached by other machines"):
        check_address(wide, keys)
    check_address(wide.model_copy(update={"open": True}), keys)
    check_address(settings, keys)
    key, _ = new_key(keys, "script")
    check_address(wide, keys)
    keys.revoke(key.id)
    with pytest.raises(NeedsAccess):
        check_address(wide, keys)
    set_password(keys, PASSWORD)
    check_address(wide, keys)


@pytest.mark.parametrize("password", ["", "seven77", "x" * 1001])
def test_a_password_that_keeps_nobody_out_is_refused(keys: Keys, password: str) -> None:
    with pytest.raises(UsageError, match="8 to 1000 characters"):
        set_password(keys, password)
    assert not keys.guarded().password


def test_a_password_is_known_by_its_hash_alone(keys: Keys) -> None:
    set_password(keys, "비밀번호입니다!")
    stored = keys.password()
    assert stored is not None
    assert stored.startswith("$argon2id$")
    assert is_password(keys, "비밀번호입니다!")
    assert not is_password(keys, "비밀번호입니다")
    assert not is_password(keys, "x" * 5000)
    keys.set_password(None)
    assert not is_password(keys, "비밀번호입니다!")
