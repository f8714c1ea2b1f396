"""What every route asks first: the assistant, who calls, and which collection is meant."""

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPBearer

from rag.access import ANYBODY, Caller
from rag.api.desk import Desk
from rag.assistant import Assistant
from rag.jobs import Worker

# POST is how these are asked, and they change nothing. Whatever is not listed may change things.
READING = frozenset(
    (
        "/api/search",
        "/api/similar",
        "/api/similar/file",
        "/api/report",
        "/api/every",
        "/v1/chat/completions",
        "/v1/embeddings",
    )
)
_BEARER = HTTPBearer(auto_error=False, description="a key of `attest keys create`")
LARGEST_ID = 2**63 - 1  # that a database can look for


def the_assistant(request: Request) -> Assistant:
    """The assistant that the application was made over."""
    assistant: Assistant = request.app.state.assistant
    return assistant


def the_caller(request: Request) -> Caller:
    """Whom the gate let in; anybody where there is none."""
    caller: Caller = getattr(request.state, "caller", ANYBODY)
    return caller


def admitted(request: Request, _shown: Annotated[object, Depends(_BEARER)]) -> None:
    """A key that only reads changes nothing."""
    reads = request.method in ("GET", "HEAD") or request.scope["route"].path in READING
    if not reads:
        the_caller(request).must_write()


def _placing(request: Request) -> Callable[[str | None], str | None]:
    caller, default = the_caller(request), the_assistant(request).settings.collection
    return lambda asked: caller.place(asked, default)


Attest = Annotated[Assistant, Depends(the_assistant)]
Calling = Annotated[Caller, Depends(the_caller)]
# The collection that a request means, if its caller may see that one.
Place = Annotated[Callable[[str | None], str | None], Depends(_placing)]


def the_desk(request: Request) -> Desk:
    """Where answers are written."""
    desk: Desk = request.app.state.desk
    return desk


def the_intake(request: Request) -> Desk:
    """Where files are read, and made part of the library while somebody waits for it."""
    intake: Desk = request.app.state.intake
    return intake


def the_worker(request: Request) -> Worker:
    """Who does the jobs."""
    worker: Worker = request.app.state.worker
    return worker
