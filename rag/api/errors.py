"""Every error as one shape, which OpenAI's clients read: {"error": {"message", "type", …}}."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from index import StorageError
from index.errors import (
    AmbiguousDocument,
    BadFilter,
    CollectionExists,
    DatabaseChanged,
    IndexReplaced,
    IndexUnreachable,
    NewerDatabase,
    StorageBusy,
    StorageUnreachable,
    UnknownChunk,
    UnknownCollection,
    UnknownConversation,
    UnknownDocument,
    UnknownJob,
    UnknownKey,
)
from rag.errors import AttestError, TooLong

_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_CODES = {401: "invalid_api_key", 429: "rate_limit_exceeded"}


class BadRequest(AttestError):
    """What OpenAI's clients may ask, and this service cannot do.

    Args:
        message: what, and what to do instead
        param: the field of the request
    """

    http_status = 400

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


class TooMany(AttestError):
    """Too many requests, or too much work at once: later it will do.

    Args:
        message: which limit
        after_s: seconds to wait
    """

    http_status = 429

    def __init__(self, message: str, after_s: float) -> None:
        super().__init__(message)
        self.after_s = max(1, round(after_s))


def error_body(
    status: int, message: str, *, param: str | None = None, code: str | None = None
) -> Any:
    kind = _TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    said = {"message": message, "type": kind, "param": param, "code": code or _CODES.get(status)}
    return {"error": said}


def error_response(
    status: int,
    message: str,
    *,
    param: str | None = None,
    code: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    return JSONResponse(error_body(status, message, param=param, code=code), status, headers)


def of_attest(error: AttestError) -> JSONResponse:
    headers = {"Retry-After": str(error.after_s)} if isinstance(error, TooMany) else None
    param = getattr(error, "param", None)
    code = "context_length_exceeded" if isinstance(error, TooLong) else None
    return error_response(error.http_status, str(error), param=param, code=code, headers=headers)


def of_storage(error: StorageError) -> JSONResponse:
    headers = None
    match error:
        case (
            UnknownCollection()
            | UnknownDocument()
            | UnknownChunk()
            | UnknownJob()
            | UnknownKey()
            | UnknownConversation()
        ):
            status = 404
        case AmbiguousDocument() | CollectionExists():
            status = 409
        case (
            StorageBusy()
            | StorageUnreachable()
            | NewerDatabase()
            | DatabaseChanged()
            | IndexUnreachable()
            | IndexReplaced()
        ):
            status, headers = 503, {"Retry-After": "5"}
        case BadFilter():
            status = 422
        case _:
            status = 500
    return error_response(status, str(error), headers=headers)


def install(app: FastAPI) -> None:
    """Have an application answer errors so."""
    app.add_exception_handler(AttestError, _attest_error)
    app.add_exception_handler(StorageError, _storage_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _unexpected)


def _attest_error(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, AttestError)
    return of_attest(error)


def _storage_error(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, StorageError)
    return of_storage(error)


def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part != "body")
    message, status = f"{where}: {first['msg']}", 422
    if first["type"] == "json_invalid":
        message = f"the body is no JSON: {first['ctx']['error']}, at character {where}"
        where = ""
    elif not where and first["type"] in ("missing", "model_attributes_type"):
        message = "the body is no JSON object: send one, with Content-Type: application/json"
    elif not where:
        message = first["msg"].removeprefix("Value error, ")
    if request.url.path.startswith("/v1/"):
        status = 400
    elif where.startswith("files"):  # a part without a name is no file to the form's reader
        message, status = "files: send at least one file, each under a name of its own", 400
    return error_response(status, message, param=where or None)


def _http_error(_request: Request, error: Exception) -> JSONResponse:
    """No such route or method, or a body that cannot be taken apart."""
    assert isinstance(error, HTTPException)
    return error_response(error.status_code, str(error.detail), headers=error.headers)


def _unexpected(_request: Request, _error: Exception) -> JSONResponse:
    """A fault of the product's own; the server's log has the traceback."""
    return error_response(500, "the server failed on this request: its log says why")
