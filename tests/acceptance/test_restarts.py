"""A server that is killed or told to end in the middle of its work, and started again."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from rag import Assistant, Settings
from rag.conversations import Conversations
from tests.acceptance.processes import Child, Tell
from tests.acceptance.served import Served, models, page, serving, soon

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="signals are another thing there"),
]

_GONE_S = 10.0  # five for what is being written, three for what does not end, and the process
_BREATHS = 20  # as long as a small process takes here, on top: a busy machine takes its time
_ANSWER_S = 300.0  # a machine that is busy otherwise takes its time
_QUESTIONS = [f"When is the lamp number {number} lit?" for number in range(12)]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return models(tmp_path_factory.mktemp("models"))


@pytest.fixture
def home(tmp_path: Path, environment: dict[str, str]) -> Path:
    """A library with some pages, on the tiny models."""
    settings = Settings(home=tmp_path / "home", encoder=environment["ATTEST_ENCODER"], threads=1)
    with Assistant.open(settings) as attest:
        for number in range(20):
            attest.upload(f"page-{number}.md", page(number))
    return settings.home


@contextmanager
def an_answer(served: Served) -> Iterator[Iterator[str]]:
    """One that takes minutes, of which a piece has come."""
    body = {
        "messages": [{"role": "user", "content": "When is the lamp number 3 lit?"}],
        "stream": True,
        "mode": "generate",
        "max_tokens": 3000,
    }
    with httpx.stream(
        "POST", f"{served.address}/v1/chat/completions", json=body, timeout=_ANSWER_S
    ) as answer:
        lines = answer.iter_lines()
        for line in lines:
            if line.startswith("data: {") and "content" in line:
                break
        yield lines


def breath() -> float:
    """Seconds that the smallest of processes takes now."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-I", "-S", "-c", ""], check=True)
    return time.monotonic() - began


def jobs(served: Served) -> dict[int, dict[str, Any]]:
    listed = httpx.get(f"{served.address}/api/jobs", timeout=_ANSWER_S).json()["jobs"]
    return {job["id"]: job for job in listed}


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_that_was_told_is_lost(
    home: Path, environment: dict[str, str], how: signal.Signals
) -> None:
    """Uploads, a table, files in line and an answer in hand: all there afterwards, or gone on."""
    told: list[str] = []

    def upload(address: str, number: int) -> None:
        file = ("files", (f"new-{number}.md", page(1000 + number)))
        try:
            done = httpx.post(f"{address}/api/documents", files=[file], timeout=_ANSWER_S)
        except httpx.HTTPError:
            return  # the server went: nothing was told
        if done.status_code == 200:
            told.extend(one["path"] for one in done.json()["documents"])

    with serving(home, environment) as served, ThreadPoolExecutor(3) as pool:
        asked = {"questions": _QUESTIONS}
        every = httpx.post(f"{served.address}/api/every", json=asked, timeout=_ANSWER_S).json()[
            "id"
        ]
        files = [("files", (f"later-{n}.md", page(2000 + n))) for n in range(3)]
        query = {"background": "true"}
        put = httpx.post(
            f"{served.address}/api/documents", files=files, params=query, timeout=_ANSWER_S
        )
        add = put.json()["id"]
        with an_answer(served), an_answer(served):  # whose readers take nothing more
            waiting = pool.submit(_left_waiting, served.address)
            for number in range(400):
                pool.submit(upload, served.address, number)
            soon(lambda: len(told) > 2 and jobs(served)[every]["done"] > 5)
            slack = _BREATHS * breath()
            took = served.end(how)
        pool.shutdown(cancel_futures=True)
        waiting.result()
        assert took < _GONE_S + slack
        assert served.process.returncode == (0 if how == signal.SIGTERM else -how)
    assert cells(home) > 5

    with serving(home, environment) as served:
        listed = httpx.get(f"{served.address}/api/documents", timeout=_ANSWER_S).json()["documents"]
        paths = [row["path"] for row in listed]
        assert set(told) <= set(paths)
        assert len(paths) == len(set(paths))
        soon(lambda: jobs(served)[add]["status"] == "done")
        # One whose process was killed is taken up when it has been silent for long enough.
        soon(lambda: jobs(served)[every]["status"] == "done")
        found = jobs(served)[every]
        assert found["done"] == found["total"] >= 12 * 20
        added = {one["status"] for one in jobs(served)[add]["result"]["documents"]}
        assert added <= {"added", "unchanged"}
        assert cells(home) == found["total"]  # what was found was not looked at again
    assert "Traceback" not in served.said.read_text("utf-8")


def cells(home: Path) -> int:
    """Cells that are kept, and none twice."""
    files = (home / "every").glob("*/*.jsonl")
    lines = [line for file in files for line in file.read_bytes().split(b"\n")]
    whole = [line for line in lines if line.endswith(b"}")]
    assert all(json.loads(line)["document"] for line in whole)
    return len(whole)


def test_a_question_whose_answer_was_broken_off_is_kept(
    home: Path, environment: dict[str, str]
) -> None:
    """The page stores it before it answers; after a kill it is there, as stopped."""
    settings = Settings(home=home, encoder=environment["ATTEST_ENCODER"], threads=1)

    def ask(tell: Tell) -> None:
        with Assistant.open(settings) as attest:
            talks = Conversations(attest)
            kept = talks.begin("When is the lamp lit?")
            for _ in talks.recorded(kept, attest.stream("When is the lamp lit?", mode="extract")):
                tell("a piece")
                time.sleep(60)

    child = Child(ask)
    assert child.first() == ["a piece"]
    assert child.kill()
    child.told()
    with Assistant.open(settings) as attest:
        (head,) = Conversations(attest).listed()
        (message,) = Conversations(attest).read(head.uid).messages
    assert (message.question, message.state) == ("When is the lamp lit?", "stopped")


def _left_waiting(address: str) -> None:
    body = {"messages": [{"role": "user", "content": "When is the lamp lit?"}]}
    with pytest.raises(httpx.HTTPError):
        httpx.post(
            f"{address}/v1/chat/completions", json=body, timeout=_ANSWER_S
        ).raise_for_status()
