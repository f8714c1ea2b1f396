"""The page behind its password: nothing of it is had before, all of it afterwards."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from index.keys import Keys
from rag import Assistant, Settings
from rag.access import new_key, set_password
from rag.api import create_app
from tests.builders import spelling_encoder
from ui.app import mount
from ui.locale import LANGUAGES, texts
from ui.login import add_login, page

HERE = "http://127.0.0.1"
HTML = {"accept": "text/html,application/xhtml+xml"}


@pytest.fixture
def attest(tmp_path: Path) -> Iterator[Assistant]:
    encoder = spelling_encoder(tmp_path / "encoder")
    settings = Settings(home=tmp_path / "home", encoder=str(encoder), threads=1)
    with Assistant.open(settings) as opened:
        yield opened


@pytest.fixture
def client(attest: Assistant) -> Iterator[TestClient]:
    app = create_app(attest)
    add_login(app, attest)

    async def mounting() -> FastAPI:  # where no loop runs, Gradio makes some and leaves them open
        return mount(app, attest)

    mounted = asyncio.run(mounting())
    with TestClient(mounted, base_url=HERE, follow_redirects=False) as opened:
        yield opened


def test_nothing_of_the_page_is_had_without_the_password(
    client: TestClient, attest: Assistant
) -> None:
    keys = Keys(attest.catalog.database)
    assert client.get("/", headers=HTML).status_code == 200
    set_password(keys, "correct horse")
    _, key = new_key(keys, "script", access="write")
    sent = client.get("/", headers=HTML)
    assert (sent.status_code, sent.headers["location"]) == (303, "/login")
    inner = client.get("/page/documents/1/pages/1", headers=HTML)
    assert inner.headers["location"] == "/login?next=/page/documents/1/pages/1"
    tried = [
        client.get(path, headers={"authorization": f"Bearer {key}"})
        for path in (
            "/config",
            "/gradio_api/info",
            "/gradio_api/queue/data?session_hash=x",
            "/gradio_api/heartbeat/x",
            "/gradio_api/startup-events",
            "/gradio_api/file=/etc/passwd",
            "/assets/index.js",
            "/theme.css",
            "/page/conversations/0123.md",
        )
    ]
    tried += [
        client.post("/gradio_api/queue/join", json={"data": [], "fn_index": 0}),
        client.post("/gradio_api/run/predict", json={"data": [], "fn_index": 0}),
        client.post("/gradio_api/upload", files={"files": ("a.txt", b"a")}),
    ]
    assert [response.status_code for response in tried] == [401] * len(tried)

    login = client.get("/login", headers=HTML)
    assert login.status_code == 200
    assert client.post("/api/session", json={"password": "correct horse"}).status_code == 204
    assert client.get("/", headers=HTML).status_code == 200
    assert client.get("/config").status_code == 200
    assert client.get("/theme.css").headers["x-content-type-options"] == "nosniff"
    counted = client.get("/metrics").text
    assert 'attest_requests_total{method="GET",route="page",status="200"}' in counted
    assert "gradio_api" not in counted
    crossed = client.post(
        "/gradio_api/queue/join", json={"data": []}, headers={"origin": "https://evil.example"}
    )
    assert crossed.status_code == 403


def test_the_language_of_the_login_is_the_readers(client: TestClient) -> None:
    english = client.get("/login").text
    korean = client.get("/login", headers={"accept-language": "ko-KR,ko;q=0.9"}).text
    assert '<html lang="en">' in english
    assert '<html lang="ko">' in korean
    assert "비밀번호" in korean


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_login_is_whole_by_itself(language: str) -> None:
    made = page(texts(language))  # type: ignore[arg-type]
    assert "http://" not in made
    assert "https://" not in made
    assert "src=" not in made
