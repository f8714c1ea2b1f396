"""The application: routes put together."""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio import to_thread
from fastapi import Depends, FastAPI, Request
from fastapi.responses import Response

from index.keys import Keys
from rag.api import (
    chat,
    collections,
    conversations,
    documents,
    embeddings,
    errors,
    history,
    jobs,
    metrics,
    models,
    pages,
    reporting,
    search,
    session,
    similar,
)
from rag.api.asking import admitted
from rag.api.desk import Desk, Gone
from rag.api.gate import Gate
from rag.api.limits import BodyLimit
from rag.api.mcp import add_mcp
from rag.api.watching import Watch
from rag.assistant import Assistant
from rag.jobs import Worker
from rag.work import KINDS

_ROUTERS = (
    documents.router,
    collections.router,
    search.router,
    similar.router,
    reporting.router,
    jobs.router,
    conversations.router,
    history.router,
    chat.router,
    embeddings.router,
    models.router,
)
_ABOUT = {  # in the order of the page of documentation
    "OpenAI": "What OpenAI's clients speak.",
    "search": "Passages and documents that are near to something.",
    "documents": "What the library holds.",
    "collections": "Libraries beside each other.",
    "report": "The library in groups.",
    "jobs": "Work in the background.",
    "conversations": "What was asked on the page, and what came of it.",
    "history": "What is learned from.",
    "service": "Signing in, and whether all is well.",
}
_AT_ONCE = 16  # quick requests; each thread that ever computes keeps some megabytes for itself
_HUNG_UP = 499  # nobody reads it; the log does


def create_app(assistant: Assistant) -> FastAPI:
    """The service over one assistant, which it does not close."""
    # The usual pages of documentation load scripts from other hosts; this service loads none.
    app = FastAPI(
        title="Attest",
        summary="Answers from your own documents, with the evidence.",
        openapi_tags=[{"name": name, "description": about} for name, about in _ABOUT.items()],
        docs_url=None,
        redoc_url=None,
        lifespan=_living,
    )
    app.state.assistant = assistant
    app.state.desk = Desk()
    app.state.intake = Desk()
    app.state.warm = threading.Event()  # set once the models are loaded
    app.state.worker = Worker(assistant, KINDS)
    app.state.keys = Keys(assistant.catalog.database)
    app.state.door = session.Door()
    app.state.metrics = metrics.Metrics(assistant, app.state.desk, app.state.worker)
    # The last that is added is the first to see a request.
    app.add_middleware(BodyLimit, files_mb=assistant.settings.max_upload_mb)
    app.add_middleware(Gate, keys=app.state.keys, settings=assistant.settings)
    app.add_middleware(Watch, metrics=app.state.metrics)
    for free in (pages.router, metrics.router, session.router):
        app.include_router(free)
    for router in _ROUTERS:
        app.include_router(router, dependencies=[Depends(admitted)])
    app.state.mcp = add_mcp(app)
    errors.install(app)
    app.add_exception_handler(Gone, _hung_up)
    return app


@asynccontextmanager
async def _living(app: FastAPI) -> AsyncIterator[None]:
    to_thread.current_default_thread_limiter().total_tokens = _AT_ONCE
    worker: Worker = app.state.worker
    worker.start()
    try:
        async with app.state.mcp:
            yield
    finally:
        await to_thread.run_sync(worker.close)


def _hung_up(_request: Request, _error: Exception) -> Response:
    return Response(status_code=_HUNG_UP)
