"""Peak memory of adding the samples and of serving, and how soon a warm server's answer begins."""

import json
import socket
import time
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import answers
from benchmarks.passages import SAMPLES
from benchmarks.processes import Failed, Program, running
from benchmarks.rounds import Missing, Spread
from benchmarks.table import Row, Table

_ADD_GB, _SERVE_GB, _FIRST_TOKEN_S = 1.5, 2.0, 3.0  # at most
_QUESTIONS = 5  # that count for the time to the first token
_START_S = 600.0  # in which the server must be up, its models loaded; a busy machine takes its time
_ANSWER_S = 600.0  # a machine that is busy otherwise writes slowly
_HOST = "127.0.0.1"


def measure(*, models: Path, encoder: str, generator: str) -> Table:
    """Two programs, started as a user starts them.

    Args:
        models: the folder of pulled models
        encoder: name or folder
        generator: name, folder or file
    """
    with TemporaryDirectory() as home:
        environment = {
            "ATTEST_HOME": home,
            "ATTEST_MODELS_DIR": str(models),
            "ATTEST_ENCODER": encoder,
            "ATTEST_GENERATOR": generator,
        }
        try:
            rows = [_adding(environment), *_serving(environment)]
        except Missing as error:
            rows = [{"name": "peak memory", "missing": str(error)}]
    return Table(
        "memory",
        f"Memory, {encoder} and {generator}: peak resident size, all processes added up",
        tuple(rows),
        (f"first token: of {_QUESTIONS} questions to a warm server, at most {_FIRST_TOKEN_S} s",),
    )


def _adding(environment: Mapping[str, str]) -> Row:
    with running("rag.cli", ["add", str(SAMPLES / "library")], environment) as program:
        program.finish()
        peak = program.usage.peak_gb
    return {"name": "attest add samples/library", "peak_gb": peak, "target_gb": _ADD_GB}


def _serving(environment: Mapping[str, str]) -> Iterator[Row]:
    asked = [
        row.question
        for row in answers.read(SAMPLES / "questions.jsonl")
        if row.answerable and row.language == "en"
    ][: _QUESTIONS + 1]
    port = free_port()
    with running("ui", [], {**environment, "ATTEST_PORT": str(port)}) as program:
        wait_for(program, port)
        for mode in ("auto", "generate"):
            _warm, *counted = [_first_token(port, question, mode) for question in asked]
            yield {
                "name": f"attest serve, mode {mode}",
                "peak_gb": program.usage.peak_gb,
                "target_gb": _SERVE_GB,
                "first_token_s": Spread.of(counted),
            }


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind((_HOST, 0))
        return int(listener.getsockname()[1])


def wait_for(program: Program, port: int, path: str = "/health") -> None:
    """Until a server that is starting answers there.

    Raises:
        Failed: it ended, or took too long.
    """
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and program.process.poll() is None:
        try:
            connection = HTTPConnection(_HOST, port, timeout=_START_S)
            connection.request("GET", path)
            if connection.getresponse().status == 200:
                return
        except OSError:  # not yet
            pass
        finally:
            connection.close()
        time.sleep(0.2)
    if program.process.poll() is not None:
        program.finish()
    raise Failed(f"the server did not come up within {_START_S} s: {program.last_words()}")


def _first_token(port: int, question: str, mode: str) -> float:
    """Seconds from the request to the first piece of the answer; the rest is read to its end."""
    body = {"messages": [{"role": "user", "content": question}], "stream": True, "mode": mode}
    connection = HTTPConnection(_HOST, port, timeout=_ANSWER_S)
    began = time.perf_counter()
    headers = {"Content-Type": "application/json"}
    connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
    response = connection.getresponse()
    first = None
    for line in response:
        if first is None and _content(line):
            first = time.perf_counter() - began
    connection.close()
    if first is None:
        raise Failed(f"{question!r} got no answer: the server said {response.status}")
    return first


def _content(line: bytes) -> str:
    """The piece of the answer that a server-sent event brings, "" where it brings none."""
    if not line.startswith(b"data: {"):
        return ""
    choices = json.loads(line.removeprefix(b"data: "))["choices"]
    return "".join(choice["delta"].get("content", "") for choice in choices)
