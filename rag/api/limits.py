"""How much one caller may ask for: requests a minute, and bytes of a body."""

import threading
import time

from fastapi import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag.api.errors import TooMany, error_response

_BURST_S = 10.0  # so many seconds' worth may come at once
_REMEMBERED = 10_000  # callers; the first to come are forgotten first
_BODY = 8_000_000  # bytes of a request that brings no files
_FORM = 1_000_000  # bytes of a form beside its files
_FILES = ("/api/documents", "/api/similar/file", "/gradio_api/upload")


class Rate:
    """A bucket for each caller, which fills again as time goes by. Safe to share by threads.

    Args:
        a_minute: requests; 0 for as many as come
        burst: that may come at once; None for ten seconds' worth
    """

    def __init__(self, a_minute: float, burst: float | None = None) -> None:
        self._a_second = a_minute / 60
        self._size = max(1.0, self._a_second * _BURST_S if burst is None else burst)
        self._buckets: dict[str, tuple[float, float]] = {}  # left, and when that was
        self._lock = threading.Lock()

    def take(self, caller: str) -> None:
        """
        Raises:
            TooMany: the bucket is empty.
        """
        if not self._a_second:
            return
        with self._lock:
            left = self._left(caller)
            if left < 1:
                wait = (1 - left) / self._a_second
                raise TooMany(
                    f"over {self._a_second * 60:g} requests a minute: wait {max(1, round(wait))} s",
                    wait,
                )
            self._buckets.pop(caller, None)
            self._buckets[caller] = (left - 1, time.monotonic())
            if len(self._buckets) > _REMEMBERED:
                del self._buckets[next(iter(self._buckets))]

    def _left(self, caller: str) -> float:
        left, then = self._buckets.get(caller, (self._size, time.monotonic()))
        return min(self._size, left + (time.monotonic() - then) * self._a_second)


class BodyLimit:
    """Refuses a body that is too large, before it is read where its length is told.

    Args:
        app: what is behind
        files_mb: megabytes of files in one request
    """

    def __init__(self, app: ASGIApp, files_mb: int) -> None:
        self._app = app
        self._files = files_mb * 1_000_000 + _FORM

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = self._files if scope["path"].startswith(_FILES) else _BODY
        said = f"the request is over {most // 1_000_000} MB, the most that is taken here"
        told = dict(scope["headers"]).get(b"content-length", b"0")
        if not told.isdigit() or int(told) > most:
            await error_response(413, said)(scope, receive, send)
            return
        read = 0

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > most:
                raise HTTPException(413, said)
            return message

        await self._app(scope, counted, send)
