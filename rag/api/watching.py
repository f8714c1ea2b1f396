"""Around every request: a number that its answer and the log carry, its time, and safe headers."""

import logging
import re
import time
import uuid

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag import visitors
from rag.access import ANYBODY
from rag.api.metrics import Metrics
from rag.logs import REQUEST

_ID = re.compile(r"[\w.:-]{1,64}", re.ASCII)
_PAGE = "page"  # everything that is no route of the service's own
_FRONT, _SHOWN = "/", 200  # where a browser comes in
_QUIET = (_PAGE, "/health", "/ready", "/metrics", "/docs", "/docs/{name}")  # unless refused
_REFUSED = 400
_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "x-frame-options": "SAMEORIGIN",
}

_log = logging.getLogger(__name__)


class Watch:
    """Args:
    app: what is behind
    metrics: where each request is counted
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get("x-request-id", "")
        number = given if _ID.fullmatch(given) else uuid.uuid4().hex[:16]
        status, began, app = 500, time.perf_counter(), scope["app"]
        ended: float | None = None  # what is done behind an answer is none of its time

        async def noted(message: Message) -> None:
            nonlocal status, ended
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["x-request-id"] = number
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if scope["path"] == _FRONT and status == _SHOWN:
                    headers.append("set-cookie", _visitor(scope))
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body"):
                ended = time.perf_counter()

        token = REQUEST.set(number)
        try:
            await self._app(scope, receive, noted)
        finally:
            ours = scope["app"] is app  # the page is another application, behind this one
            route = getattr(scope.get("route"), "path", None) if ours else None
            self._note(scope, route or _PAGE, status, (ended or time.perf_counter()) - began)
            REQUEST.reset(token)

    def _note(self, scope: Scope, route: str, status: int, seconds: float) -> None:
        self._metrics.note(scope["method"], route, status, seconds)
        told = route not in _QUIET or status >= _REFUSED
        if told and _log.isEnabledFor(logging.INFO):
            caller = scope.get("state", {}).get("caller", ANYBODY)
            fields = {
                "method": scope["method"],
                "route": route,
                "status": status,
                "ms": round(seconds * 1000, 1),
                "caller": caller.name,
            }
            _log.info("answered", extra={"fields": fields})


def _visitor(scope: Scope) -> str:
    connection = HTTPConnection(scope)
    given = connection.cookies.get(visitors.COOKIE, "")
    return visitors.cookie(given, secure=scope["scheme"] == "https")
