"""Signing in to the page with its password, and out again."""

from typing import Any

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from index.keys import SESSION_S, Keys
from rag.access import is_password
from rag.api.errors import error_response
from rag.api.gate import COOKIE
from rag.api.limits import Rate

router = APIRouter(prefix="/api/session", tags=["service"])

_A_MINUTE = 10  # passwords that are tried, of each address
_AT_ONCE = 2  # each takes 64 MB and a tenth of a second


class Door:
    """How often, and by how many at once, passwords are tried."""

    def __init__(self) -> None:
        self.tries = Rate(_A_MINUTE, burst=_A_MINUTE)
        self.threads = CapacityLimiter(_AT_ONCE)


class SignIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    password: str = Field(max_length=1000)


@router.get("")
def session(request: Request) -> dict[str, Any]:
    """Whether the page has a password, and whether this browser has given it."""
    keys, cookie = _keys(request), request.cookies.get(COOKIE)
    signed_in = cookie is not None and keys.in_session(cookie)
    return {"password": keys.guarded().password, "signed_in": signed_in}


@router.post("", status_code=204, responses={401: {"description": "another password"}})
async def sign_in(request: Request, given: SignIn) -> Response:
    """Give the password; the answer's cookie opens the page."""
    keys, door = _keys(request), request.app.state.door
    door.tries.take(request.client.host if request.client else "")
    right = await to_thread.run_sync(is_password, keys, given.password, limiter=door.threads)
    if not right:
        return error_response(401, "that is not the password")
    token = await to_thread.run_sync(keys.begin_session)
    response = Response(status_code=204)
    response.set_cookie(
        COOKIE,
        token,
        max_age=SESSION_S,
        path="/",
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )
    return response


@router.delete("")
def sign_out(request: Request) -> JSONResponse:
    """Forget this browser."""
    if (cookie := request.cookies.get(COOKIE)) is not None:
        _keys(request).end_session(cookie)
    response = JSONResponse({"signed_in": False})
    response.delete_cookie(COOKIE, path="/")
    return response


def _keys(request: Request) -> Keys:
    keys: Keys = request.app.state.keys
    return keys
