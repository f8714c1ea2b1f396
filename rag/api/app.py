"""The application: routes put together, and every error turned into one shape."""

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from index import StorageError
from index.errors import AmbiguousDocument, StorageBusy, UnknownCollection, UnknownDocument
from rag.api import chat, documents, search
from rag.assistant import Assistant
from rag.errors import AttestError


def create_app(assistant: Assistant) -> FastAPI:
    """The service over one assistant, which it does not close."""
    # The usual pages of documentation load scripts from other hosts; this service loads none.
    app = FastAPI(title="Attest", docs_url=None, redoc_url=None)
    app.state.assistant = assistant
    for router in (documents.router, search.router, chat.router):
        app.include_router(router)
    app.add_exception_handler(AttestError, _attest_error)
    app.add_exception_handler(StorageError, _storage_error)
    app.add_exception_handler(RequestValidationError, _invalid)

    @app.get("/health")
    def health() -> dict[str, str]:
        return {"status": "ok"}

    return app


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
        case UnknownCollection() | UnknownDocument():
            status = 404
        case AmbiguousDocument():
            status = 409
        case StorageBusy():
            status = 503
        case _:
            status = 500
    return error_response(status, str(error), "invalid_request_error")


def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part != "body")
    status = 400 if request.url.path.startswith("/v1/") else 422
    return error_response(status, f"{where}: {first['msg']}", "invalid_request_error")
