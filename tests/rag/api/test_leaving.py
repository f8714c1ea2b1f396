"""Clients that leave, that read slowly, and that are too many: none keeps others waiting."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import httpx
import pytest
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from rag.api import errors
from rag.api.desk import Desk, EventStream, Gone, Put, unless_gone
from rag.errors import EngineError
from tests.rag.api.conftest import listening


class Work:
    """Gives a piece every so often, and knows when it was closed."""

    def __init__(self, pieces: int = 10**9, pause_s: float = 0.01, size: int = 10) -> None:
        self.given = 0
        self.closed = threading.Event()
        self._pieces, self._pause_s, self._size = pieces, pause_s, size

    def __call__(self) -> Iterator[str]:
        try:
            for _ in range(self._pieces):
                time.sleep(self._pause_s)
                self.given += 1
                yield "x" * self._size
        finally:
            self.closed.set()


def service(work: Callable[[], Iterator[str]], desk: Desk) -> FastAPI:
    app = FastAPI()
    errors.install(app)
    app.add_exception_handler(Gone, lambda *_: JSONResponse({}, 499))

    @app.get("/stream")
    async def stream() -> EventStream:
        async def pieces(put: Put) -> None:
            await desk.do(work, lambda piece: put(f"data: {piece}\n\n"))

        return EventStream(pieces, lambda error: f"data: broke off, {error}\n\n")

    @app.get("/whole")
    async def whole(request: Request) -> dict[str, int]:
        taken: list[str] = []
        await unless_gone(request.receive, partial(desk.do, work, taken.append))
        return {"pieces": len(taken)}

    return app


def soon(true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 30
    while not true() and time.monotonic() < deadline:
        time.sleep(0.01)
    return true()


def test_a_tab_that_is_closed_ends_its_work() -> None:
    work, desk = Work(), Desk()
    with listening(service(work, desk)) as address:
        with httpx.stream("GET", f"{address}/stream") as response:
            pieces = response.iter_text()
            assert next(pieces).startswith("data: xxx")
            assert desk.working == 1
        assert work.closed.wait(30)
        assert soon(lambda: desk.working == 0)


def test_who_hangs_up_before_an_answer_ends_its_work() -> None:
    work, desk = Work(), Desk()
    with listening(service(work, desk)) as address:
        with pytest.raises(httpx.ReadTimeout):
            httpx.get(f"{address}/whole", timeout=1)
        assert work.given
        assert work.closed.wait(30)
        assert soon(lambda: desk.working == 0)


def test_a_slow_reader_holds_up_nobody_and_misses_nothing() -> None:
    """More than all buffers between hold: the work ends while nothing of it is read."""
    work, desk = Work(pieces=400, pause_s=0, size=50_000), Desk(at_once=1)
    with (
        listening(service(work, desk)) as address,
        httpx.stream("GET", f"{address}/stream", timeout=60) as response,
    ):
        assert work.closed.wait(60)
        assert soon(lambda: desk.working == 0)
        assert httpx.get(f"{address}/whole", timeout=60).json() == {"pieces": 400}
        read = sum(len(piece) for piece in response.iter_bytes())
    assert read == 400 * (50_000 + len("data: \n\n"))


def test_who_takes_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits for it is let go of, once it has not taken a part within the time for that."""
    monkeypatch.setattr("rag.api.desk._READ_S", 0.5)
    work, desk = Work(pieces=400, pause_s=0, size=50_000), Desk()
    with listening(service(work, desk)) as address:
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=30) as client:
            client.sendall(b"GET /stream HTTP/1.1\r\nHost: here\r\n\r\n")
            assert work.closed.wait(60)
            assert soon(lambda: desk.working == 0)
            time.sleep(1.5)
            read = 0
            while part := client.recv(1 << 20):  # to the end that the server has made
                read += len(part)
    assert 0 < read < 400 * 50_000


def test_who_leaves_the_line_is_not_waited_for() -> None:
    work, desk = Work(), Desk(at_once=1)
    with (
        listening(service(work, desk)) as address,
        httpx.stream("GET", f"{address}/stream") as first,
    ):
        pieces = first.iter_text()  # held: one that is let go closes the connection
        next(pieces)
        with pytest.raises(httpx.ReadTimeout):
            httpx.get(f"{address}/whole", timeout=1)
        assert soon(lambda: desk.waiting == 0)
        assert desk.working == 1


def test_a_full_line_is_503_with_when_to_come_back() -> None:
    work, desk = Work(), Desk(at_once=1, in_line=0)
    with (
        listening(service(work, desk)) as address,
        httpx.stream("GET", f"{address}/stream") as first,
    ):
        pieces = first.iter_text()  # held: one that is let go closes the connection
        next(pieces)
        refused = httpx.get(f"{address}/stream")
        assert refused.status_code == 503
        assert int(refused.headers["retry-after"]) > 0
        assert "the most that may" in refused.json()["error"]["message"]


@pytest.mark.parametrize("before", [0, 2])
def test_work_that_breaks_off_says_so_where_it_still_can(before: int) -> None:
    def work() -> Iterator[str]:
        for i in range(before):
            yield str(i)
        raise EngineError("the engine fell asleep")

    with listening(service(work, Desk())) as address:
        response = httpx.get(f"{address}/stream")
    if before:
        assert response.status_code == 200
        assert response.text.endswith("data: 1\n\ndata: broke off, the engine fell asleep\n\n")
    else:
        assert response.status_code == 502
        assert response.json()["error"]["message"] == "the engine fell asleep"


def test_a_server_that_is_told_to_end_ends_with_work_in_hand() -> None:
    work, desk = Work(), Desk()
    began = time.monotonic()
    with listening(service(work, desk)) as address:
        opened = httpx.Client().stream("GET", f"{address}/stream")
        pieces = opened.__enter__().iter_text()
        next(pieces)
    assert time.monotonic() - began < 30
    assert work.closed.wait(30)
    opened.__exit__(None, None, None)
