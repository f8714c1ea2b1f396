"""The gate before every route, the page's too: who comes in, and as whom.

Without a password and without keys the service is for this machine alone, and answers only to
the names that mean this machine: a page elsewhere can have its own name lead here, and would then
read what the browser reads. As soon as there is a password or a key, one of them has to be shown.
"""

from urllib.parse import quote

from anyio import CapacityLimiter, to_thread
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from index import StorageError
from index.keys import Keys
from rag.access import Caller, NotAllowed, host_of, is_loopback
from rag.api.errors import error_response, of_attest, of_storage
from rag.api.limits import Rate
from rag.errors import AttestError
from rag.settings import Settings

COOKIE = "attest_session"
LOGIN = "/login"

_FREE = frozenset(("/health", "/ready", LOGIN, "/api/session"))
_PROGRAMS = ("/api/", "/v1/", "/mcp", "/docs", "/openapi.json", "/metrics")  # that keys open
_NOBODY = Caller("nobody", writes=False, collections=frozenset())
_SAFE = ("GET", "HEAD", "OPTIONS")
_WRONG_A_MINUTE, _WRONG_AT_ONCE = 10, 20  # wrong keys of one address


class NeedsKey(AttestError):
    """Nothing was shown, or nothing that opens."""

    http_status = 401


class Gate:
    """Args:
    app: what is behind
    keys: of the home
    settings: where the service listens, and how much one may ask
    """

    def __init__(self, app: ASGIApp, keys: Keys, settings: Settings) -> None:
        self._app = app
        self._keys = keys
        self._local = is_loopback(settings.host) and not settings.open
        self._rate = Rate(settings.rate_limit)
        self._wrong = Rate(_WRONG_A_MINUTE, _WRONG_AT_ONCE)
        self._threads = CapacityLimiter(8)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        try:
            admit = self._admit
            caller = await to_thread.run_sync(admit, connection, limiter=self._threads)
        except (AttestError, StorageError) as error:
            await self._refuse(connection, error, receive, send)
            return
        scope.setdefault("state", {})["caller"] = caller
        await self._app(scope, receive, send)

    def _admit(self, connection: HTTPConnection) -> Caller:
        """
        Raises:
            NeedsKey, NotAllowed, TooMany: it may not come in.
        """
        method, path = connection.scope.get("method", ""), connection.scope["path"]
        address = connection.client.host if connection.client else ""
        if method not in _SAFE and _from_elsewhere(connection.headers):
            raise NotAllowed(
                "a page of another site sent this: use Attest's own page, or no browser"
            )
        guarded = self._keys.guarded()
        if not guarded.password and not guarded.keys:
            caller = self._unguarded(connection.headers, address)
        elif path in _FREE:
            return _NOBODY
        else:
            caller = self._known(connection, path, address)
        if path.startswith(_PROGRAMS) and (guarded.password or guarded.keys or not self._local):
            self._rate.take(caller.name)
        return caller

    def _unguarded(self, headers: Headers, address: str) -> Caller:
        name = host_of(headers.get("host", ""))
        if self._local and not is_loopback(name):
            raise NotAllowed(
                f"this service is for its own machine, and {name!r} is another's name: open it as "
                "127.0.0.1; behind a proxy, set a password (attest password) or say --open"
            )
        return Caller(address or "anybody")

    def _known(self, connection: HTTPConnection, path: str, address: str) -> Caller:
        cookie = connection.cookies.get(COOKIE)
        if cookie and self._keys.in_session(cookie):
            if not _same_origin(connection):
                raise NotAllowed("a page of another site sent this: use Attest's own page")
            return Caller(f"page {address}")
        shown = _shown(connection.headers)
        if shown and path.startswith(_PROGRAMS):
            if key := self._keys.of(shown):
                return Caller.of_key(key)
            self._wrong.take(address)
            raise NeedsKey("this key opens nothing here: it is wrong, or was revoked")
        raise NeedsKey(
            "a key is needed: send it as 'Authorization: Bearer attest_…' (attest keys create), or "
            "sign in to the page"
        )

    async def _refuse(
        self,
        connection: HTTPConnection,
        error: AttestError | StorageError,
        receive: Receive,
        send: Send,
    ) -> None:
        scope = connection.scope
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": "not allowed"})
            return
        await _refusal(connection, error)(scope, receive, send)


def _refusal(connection: HTTPConnection, error: AttestError | StorageError) -> Response:
    if isinstance(error, StorageError):
        return of_storage(error)
    if not isinstance(error, NeedsKey):
        return of_attest(error)
    scope = connection.scope
    reads = "text/html" in connection.headers.get("accept", "")
    login = getattr(scope["app"].state, "login", False)
    if login and reads and scope["method"] == "GET":
        target = scope["path"] if scope["path"] != "/" else ""
        return RedirectResponse(f"{LOGIN}?next={quote(target)}" if target else LOGIN, 303)
    return error_response(401, str(error), headers={"WWW-Authenticate": "Bearer"})


def _shown(headers: Headers) -> str | None:
    """A key, as OpenAI's clients send it or as a header of its own."""
    kind, _, text = headers.get("authorization", "").partition(" ")
    return text.strip() if kind.lower() == "bearer" else headers.get("x-api-key")


def _from_elsewhere(headers: Headers) -> bool:
    return headers.get("sec-fetch-site") == "cross-site"


def _same_origin(connection: HTTPConnection) -> bool:
    """Whether what a session does was asked by this very site; browsers say who asks."""
    scope, headers = connection.scope, connection.headers
    if scope["type"] == "http" and scope["method"] in _SAFE:
        return True
    if (site := headers.get("sec-fetch-site")) is not None:
        return site in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2] == headers.get("host")
