"""The desk where long work is done: so many at once, so many in line, and none for who has left.

Work is an iterator that gives something often, also where there is nothing to show yet. Each step
runs in a thread that stands back: a search that comes meanwhile goes first. A client that hangs up
has its work closed within a step, in line or not; one that reads slowly does not hold up the work,
whose result waits for it.
"""

import math
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Generic, TypeVar

import anyio
from anyio import to_thread
from anyio.streams.memory import MemoryObjectReceiveStream
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from rag.api.errors import TooMany
from rag.threads import Threads

T = TypeVar("T")
Put = Callable[[str], None]

_AT_ONCE = 2  # pieces of work; they take turns at the processor, so more would all be later
_IN_LINE = 32
_READ_S = 60.0  # within which a client has to take what it is sent
_SIGN_S = 15.0  # of silence, after which a comment shows that the connection lives
_END: Any = object()


class Busy(TooMany):
    """The line is full."""

    http_status = 503


class Gone(Exception):
    """The client hung up: there is nobody to answer."""


class Desk:
    """Args:
    at_once: pieces of work that are done at the same time
    in_line: how many may wait behind them
    """

    def __init__(self, at_once: int = _AT_ONCE, in_line: int = _IN_LINE) -> None:
        self._places = anyio.Semaphore(at_once)
        self._threads = Threads(2 * at_once, "desk")  # as many again, for what is to be closed
        self._in_line = in_line
        self.working = 0
        self.waiting = 0

    async def do(self, begin: Callable[[], Iterator[T]], take: Callable[[T], None]) -> None:
        """Iterates over work to its end, giving each of its results to `take`.

        Raises:
            Busy: too many wait already.
        """
        async with self._turn():
            work = _Steps(await self._threads.run(begin))
            try:
                while (one := await self._threads.run(work.next)) is not _END:
                    take(one)
            finally:
                with anyio.CancelScope(shield=True):
                    await self._threads.run(work.close)

    async def run(self, work: Callable[[], T]) -> T:
        """As `do`, for work in one piece, which nothing ends before its time."""
        results: list[T] = []
        await self.do(lambda: iter([work()]), results.append)
        return results[0]

    async def quick(self, work: Callable[[], T]) -> T:
        """Something short, out of turn."""
        return await to_thread.run_sync(work)

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        if self._places.value == 0 and self.waiting >= self._in_line:
            raise Busy(f"{self.waiting} requests wait already, the most that may: try later", 10)
        self.waiting += 1
        try:
            await self._places.acquire()
        finally:
            self.waiting -= 1
        self.working += 1
        try:
            yield
        finally:
            self.working -= 1
            self._places.release()


class _Steps(Generic[T]):
    """Work that is closed between two steps, also where a server that ends waits for neither."""

    def __init__(self, work: Iterator[T]) -> None:
        self._work = work
        self._lock = threading.Lock()

    def next(self) -> T:
        with self._lock:
            return next(self._work, _END)

    def close(self) -> None:
        with self._lock:
            if (close := getattr(self._work, "close", None)) is not None:
                close()


async def unless_gone(receive: Receive, work: Callable[[], Awaitable[T]]) -> T:
    """What the work gives; it is cancelled once the client hangs up.

    Raises:
        Gone: it did.
    """
    results: list[T] = []
    errors: list[Exception] = []  # a task group would wrap them
    async with anyio.create_task_group() as group:

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            group.cancel_scope.cancel()

        group.start_soon(watch)
        try:
            results.append(await work())
        except Exception as error:
            errors.append(error)
        group.cancel_scope.cancel()
    if errors:
        raise errors[0]
    if not results:
        raise Gone
    return results[0]


class EventStream(Response):
    """Server-sent events that work puts out, as fast as it does and as slowly as they are read.

    An error before the first event is the response; one behind it becomes the last event.

    Args:
        work: puts events; it is cancelled once the client hangs up
        said: an error as an event; None for one that is a fault of our own
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        work: Callable[[Put], Awaitable[None]],
        said: Callable[[Exception], str | None],
    ) -> None:
        super().__init__(headers={"cache-control": "no-cache", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._work = work
        self._said = said

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with suppress(Gone):  # nobody is there to be told anything
            await unless_gone(receive, lambda: self._serve(send))

    async def _serve(self, send: Send) -> None:
        outbox, inbox = anyio.create_memory_object_stream[str | Exception](math.inf)

        async def work() -> None:
            with outbox:
                try:
                    await self._work(outbox.send_nowait)
                except Exception as error:
                    outbox.send_nowait(error)

        failed: list[Exception] = []
        with inbox:
            async with anyio.create_task_group() as group:
                group.start_soon(work)
                try:
                    await self._tell(inbox, send)
                except Exception as error:
                    failed.append(error)
                    group.cancel_scope.cancel()
        if failed:
            raise failed[0]

    async def _tell(self, inbox: MemoryObjectReceiveStream[str | Exception], send: Send) -> None:
        begun = False
        while (event := await self._next(inbox, patient=not begun)) is not None:
            if isinstance(event, Exception):
                said = self._said(event) if begun else None
                if said is None:
                    raise event
                event = said
            if not begun:
                begun = True
                await send(self._start())
            await _in_time(send, {"body": event.encode(), "more_body": True})
        if not begun:
            await send(self._start())
        await _in_time(send, {"body": b"", "more_body": False})

    async def _next(
        self, inbox: MemoryObjectReceiveStream[str | Exception], *, patient: bool
    ) -> str | Exception | None:
        with anyio.move_on_after(math.inf if patient else _SIGN_S):
            try:
                return await inbox.receive()
            except anyio.EndOfStream:
                return None
        return ": still at it\n\n"

    def _start(self) -> Message:
        return {
            "type": "http.response.start",
            "status": self.status_code,
            "headers": self.raw_headers,
        }


async def _in_time(send: Send, message: Message) -> None:
    """Sends a part of a body, or gives up a client that does not take it."""
    with anyio.move_on_after(_READ_S) as waiting:
        await send({"type": "http.response.body", **message})
    if waiting.cancelled_caught:
        raise Gone
