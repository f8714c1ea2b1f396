"""The application: routes put together, and every error turned into one shape."""

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from index import StorageError
from index.errors import (
    AmbiguousDocument,
    BadFilter,
    StorageBusy,
    UnknownChunk,
    UnknownCollection,
    UnknownDocument,
)
from rag.api import chat, documents, history, search
from rag.assistant import Assistant
from rag.errors import AttestError


def create_app(assistant: Assistant) -> FastAPI:
    """The service over one assistant, which it does not close."""
    # The usual pages of documentation load scripts from other hosts; this service loads none.
    app = FastAPI(title="Attest", docs_url=None, redoc_url=None)
    app.state.assistant = assistant
    for router in (documents.router, search.router, chat.router, history.router):
        app.include_router(router, dependencies=[Depends(_of_this_site)])
    app.add_exception_handler(AttestError, _attest_error)
    app.add_exception_handler(StorageError, _storage_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _unexpected)

    @app.get("/health")
    def health() -> dict[str, str]:
        return {"status": "ok"}

    return app


def _of_this_site(request: Request) -> None:
    """Pages elsewhere may not add, judge or remove, as forms could: browsers say who sends."""
    if request.method != "GET" and request.headers.get("sec-fetch-site") == "cross-site":
        raise HTTPException(
            403, "a page of another site sent this: use Attest's own page, or no browser"
        )


def error_response(status: int, message: str, kind: str) -> JSONResponse:
    """An error as OpenAI's clients read it."""
    return JSONResponse(
        {"error": {"message": message, "type": kind, "param": None, "code": None}}, status
    )


def _attest_error(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, AttestError)
    kind = "invalid_request_error" if error.http_status < 500 else "server_error"
    return error_response(error.http_status, str(error), kind)


def _storage_error(_request: Request, error: Exception) -> JSONResponse:
    match error:
        case UnknownCollection() | UnknownDocument() | UnknownChunk():
            status = 404
        case AmbiguousDocument():
            status = 409
        case StorageBusy():
            status = 503
        case BadFilter():
            status = 422
        case _:
            status = 500
    return error_response(status, str(error), "invalid_request_error")


def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part != "body")
    message, status = f"{where}: {first['msg']}", 422
    if request.url.path.startswith("/v1/"):
        status = 400
    elif where.startswith("files"):  # a part without a name is no file to the form's reader
        message, status = "files: send at least one file, each under a name of its own", 400
    return error_response(status, message, "invalid_request_error")


def _http_error(_request: Request, error: Exception) -> JSONResponse:
    """No such route or method, or a body that cannot be taken apart."""
    assert isinstance(error, HTTPException)
    response = error_response(error.status_code, str(error.detail), "invalid_request_error")
    response.headers.update(error.headers or {})
    return response


def _unexpected(_request: Request, _error: Exception) -> JSONResponse:
    """A fault of the product's own; the server's log has the traceback."""
    message = "the server failed on this request: its log says why"
    return error_response(500, message, "server_error")
