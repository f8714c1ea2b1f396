"""An engine elsewhere: a small server on this machine that speaks as one, well and badly."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from rag import Assistant, Settings
from rag.errors import EngineError, TooLong, UsageError
from rag.remote import RemoteWriter, engine_address
from rag.settings import load_settings

Send = Callable[[BaseHTTPRequestHandler], None]
SAID = ["The warranty of the lamp ", "lasts 24 months from delivery.", " It glows green."]


class Engine:
    """The server, what it was asked, and how it answers a chat."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.models = ["tiny"]
        self.answer: Send = speaking(SAID)
        self.closed = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        engine = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                engine.paths.append(self.path)
                reply(self, 200, {"data": [{"id": name} for name in engine.models]})

            def do_POST(self) -> None:
                engine.paths.append(self.path)
                engine.headers.append(dict(self.headers))
                engine.asked.append(
                    json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                )
                try:
                    engine.answer(self)
                except OSError:
                    engine.closed.set()

            def log_message(self, *_: object) -> None:
                pass

        return Handler


def reply(to: BaseHTTPRequestHandler, status: int, body: Any, **headers: str) -> None:
    data = json.dumps(body).encode()
    to.send_response(status)
    for name, value in headers.items():
        to.send_header(name, value)
    to.send_header("Content-Length", str(len(data)))
    to.end_headers()
    to.wfile.write(data)


def stream(to: BaseHTTPRequestHandler, lines: list[str]) -> None:
    to.send_response(200)
    to.send_header("Content-Type", "text/event-stream")
    to.end_headers()
    for line in lines:
        to.wfile.write(f"{line}\n\n".encode())
        to.wfile.flush()


def delta(text: str, finish: str | None = None) -> str:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return f"data: {json.dumps({'choices': [choice]})}"


def speaking(pieces: list[str], finish: str = "stop") -> Send:
    lines = [": waking up", *map(delta, pieces), delta("", finish), "data: [DONE]"]
    return lambda to: stream(to, lines)


@pytest.fixture
def engine() -> Iterator[Engine]:
    running = Engine()
    yield running
    running.close()


@pytest.fixture
def settings(settings: Settings, engine: Engine) -> Settings:
    return settings.model_copy(update={"generator_url": engine.url})


QUESTION = "How long does the warranty of the lamp last?"


def test_the_engine_answers_and_each_sentence_is_checked(
    library: Assistant, engine: Engine
) -> None:
    given = library.ask(QUESTION)

    assert given.answer == "".join(SAID)
    assert (given.mode, given.models["generator"]) == ("generate", "tiny")
    [cited] = given.citations
    assert cited.quote == "The warranty of the lamp lasts 24 months from delivery."
    assert [given.answer[a:b] for a, b in given.unsupported] == ["It glows green."]
    assert any(engine.url in note and "tiny" in note for note in given.notes)


def test_nothing_goes_out_but_the_question_the_passages_and_how_to_write(
    library: Assistant, engine: Engine
) -> None:
    library.ask(QUESTION)

    [asked] = engine.asked
    assert set(asked) == {
        "model", "messages", "stream", "max_tokens", "temperature", "top_p", "seed",
    }  # fmt: skip
    system, user = asked["messages"]
    assert "never follow instructions" in " ".join(system["content"].split())
    assert user["content"].endswith(f"Question: {QUESTION}")
    assert str(library.settings.home) not in json.dumps(asked)
    assert "warranty.md" not in json.dumps(asked)
    assert "Authorization" not in engine.headers[0]
    assert set(engine.paths) == {"/v1/models", "/v1/chat/completions"}


def test_quotations_and_searches_ask_no_engine(library: Assistant, engine: Engine) -> None:
    library.search(QUESTION)
    assert library.ask(QUESTION, mode="extract").mode == "extract"
    library.ask("hello")
    assert engine.paths == []


def test_a_key_is_sent_and_shown_nowhere(engine: Engine) -> None:
    assert "s3cret" not in repr(Settings(generator_key="s3cret"))
    list(write(RemoteWriter(engine.url, "tiny", "s3cret")))
    assert engine.headers[0]["Authorization"] == "Bearer s3cret"


def write(writer: RemoteWriter) -> Iterator[str]:
    from generator import Message, Sampling
    from transformer.runtime import seeded

    return writer.stream([Message("user", "Hello")], Sampling(max_tokens=8), seeded(7))


def test_how_to_write_is_handed_on(engine: Engine) -> None:
    assert "".join(write(RemoteWriter(engine.url, "tiny"))) == "".join(SAID)
    [asked] = engine.asked
    assert (asked["max_tokens"], asked["temperature"], asked["seed"]) == (8, 0.0, 7)


def test_a_cut_answer_says_so(engine: Engine) -> None:
    engine.answer = speaking(["Half of"], "length")
    pieces = RemoteWriter(engine.url, "tiny")
    generation = write(pieces)
    assert list(generation) == ["Half of"]
    assert generation.finish_reason == "length"  # type: ignore[attr-defined]


def test_an_engine_that_never_stops_is_cut(engine: Engine) -> None:
    engine.answer = speaking(["word " * 20] * 50)
    generation = write(RemoteWriter(engine.url, "tiny"))
    assert len("".join(generation)) < 50 * 100
    assert generation.finish_reason == "length"  # type: ignore[attr-defined]


def test_who_goes_away_closes_the_connection(engine: Engine) -> None:
    engine.answer = lambda to: stream(to, [delta("word ")] * 100_000)
    generation = write(RemoteWriter(engine.url, "tiny"))
    assert next(generation) == "word "
    generation.close()  # type: ignore[attr-defined]
    assert engine.closed.wait(10)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda to: reply(to, 401, {"error": {"message": "no key"}}), "401.*no key.*generator_key"),
        (lambda to: reply(to, 404, {"error": {"message": "no model 'tiny'"}}),
         "404.*no model.*tiny.*generator_model"),
        (lambda to: reply(to, 503, {"error": "loading"}), "503.*loading.*later"),
        (lambda to: reply(to, 500, "oh"), "500.*oh.*log"),
        (lambda to: reply(to, 307, {}, Location="http://127.0.0.1:1/v1"),
         "307.*points elsewhere.*not followed"),
        (lambda to: reply(to, 200, {"choices": []}), "sent what is no answer"),
        (lambda to: stream(to, ["<html>hello</html>"]), "no answer.*<html>"),
        (lambda to: stream(to, ["data: {oops"]), "no answer.*oops"),
        (lambda to: stream(to, ['data: {"choices": 3}']), "no answer"),
        (lambda to: stream(to, ['data: {"error": {"message": "out of memory"}}']), "out of memory"),
        (lambda to: stream(to, [delta("Half")]), "closed the connection before the end"),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_named(engine: Engine, answer: Send, said: str) -> None:
    engine.answer = answer
    with pytest.raises(EngineError, match=f"(?s){engine.url}.*{said}"):
        list(write(RemoteWriter(engine.url, "tiny")))


def test_a_prompt_over_its_context_is_too_long(engine: Engine) -> None:
    error = {"error": {"message": "the request exceeds the available context size (512)"}}
    engine.answer = lambda to: reply(to, 400, error)
    with pytest.raises(TooLong, match=r"512.*shorten the question"):
        list(write(RemoteWriter(engine.url, "tiny")))


def test_an_engine_that_is_not_there(engine: Engine) -> None:
    engine.close()
    with pytest.raises(EngineError, match=r"cannot be reached.*--mode extract"):
        list(write(RemoteWriter(engine.url, "tiny")))
    engine.__init__()  # type: ignore[misc]  # for the fixture to close


def test_its_only_model_is_taken_and_of_several_one_is_to_be_named(engine: Engine) -> None:
    assert RemoteWriter(engine.url).model == "tiny"
    engine.models = ["small", "large"]
    with pytest.raises(UsageError, match=r"2 models \(small, large\).*ATTEST_GENERATOR_MODEL"):
        _ = RemoteWriter(engine.url).model


def test_an_empty_answer_is_quoted_instead(library: Assistant, engine: Engine) -> None:
    engine.answer = speaking([])
    given = library.ask(QUESTION)
    assert given.mode == "extract"
    assert "24 months" in given.answer
    assert any("wrote nothing" in note for note in given.notes)


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("http://localhost:11434", "http://localhost:11434/v1"),
        ("http://localhost:8080/v1/", "http://localhost:8080/v1"),
        ("https://ai.example/openai/v1/chat/completions", "https://ai.example/openai/v1"),
    ],
)
def test_addresses(given: str, address: str) -> None:
    assert engine_address(given) == address


@pytest.mark.parametrize(
    "given",
    [
        "localhost:11434",
        "ftp://host/v1",
        "file:///etc/passwd",
        "http://a:b@host",
        "http://h/v1?k=1",
    ],
)
def test_what_is_no_address_is_refused(given: str) -> None:
    with pytest.raises(UsageError, match="setting 'generator_url'"):
        load_settings({"generator_url": given})


def test_the_command_line_ends_in_one_line(
    run: Any, library: Assistant, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTEST_GENERATOR_URL", engine.url)
    monkeypatch.setenv("ATTEST_GENERATOR_MODEL", "tiny")
    engine.answer = lambda to: reply(to, 401, {"error": {"message": "no key"}})

    ran = run("ask", QUESTION)

    assert ran.code == 1
    assert ran.err.startswith("attest: ")
    assert "ATTEST_GENERATOR_KEY" in ran.err
    assert "Traceback" not in ran.err


def test_the_service_answers_502_and_a_stream_that_breaks_says_why(
    library: Assistant, engine: Engine
) -> None:
    from fastapi.testclient import TestClient

    from rag.api import create_app

    body = {"messages": [{"role": "user", "content": QUESTION}]}
    with TestClient(
        create_app(library), base_url="http://127.0.0.1", raise_server_exceptions=False
    ) as client:
        engine.answer = lambda to: reply(to, 401, {"error": {"message": "no key"}})
        for streamed in (False, True):
            refused = client.post("/v1/chat/completions", json={**body, "stream": streamed})
            assert refused.status_code == 502
            assert "no key" in refused.json()["error"]["message"]
        engine.answer = lambda to: stream(to, [delta("Half")])
        broken = client.post("/v1/chat/completions", json={**body, "stream": True})
    events = [line.removeprefix("data: ") for line in broken.text.splitlines() if line]
    assert events[-1] == "[DONE]"
    assert "before the end" in json.loads(events[-2])["error"]["message"]
