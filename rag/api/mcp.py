"""The library as tools for a model elsewhere: the Model Context Protocol at /mcp."""

import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import partial
from typing import Annotated, Any, TypeVar

from fastapi import FastAPI
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import Field

from index import StorageError
from rag import shapes
from rag.access import ANYBODY, Caller
from rag.api.desk import Desk
from rag.assistant import Assistant
from rag.errors import AttestError
from rag.records import Answer, AnswerMode

T = TypeVar("T")

PATH = "/mcp"
_ABOUT = (
    "A library of the user's own documents. search finds passages, ask answers from them with "
    "quotations, similar finds documents like another or like a text, add puts a text in."
)

K = Annotated[int, Field(ge=1, le=50, description="how many at most")]
Where = Annotated[str | None, Field(description="a collection; the default one if left out")]


def add_mcp(app: FastAPI) -> AbstractAsyncContextManager[None]:
    """Put the tools at /mcp of an application; what has to be entered while it runs."""
    tools = Tools(app.state.assistant, app.state.desk)
    with _quiet():
        server = MCPServer("attest", title="Attest", instructions=_ABOUT, log_level="ERROR")
    for tool in (tools.search, tools.ask, tools.similar, tools.add):
        server.add_tool(tool, structured_output=True)
    # The service itself says who may come in, and from where.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    made = server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        transport_security=security,
    )
    app.router.routes.extend(made.routes)
    return server.session_manager.run()


class Tools:
    """The tools over one assistant; their first lines are what a model reads of them."""

    def __init__(self, assistant: Assistant, desk: Desk) -> None:
        self._attest = assistant
        self._desk = desk

    async def search(
        self,
        context: Context[Any, Any],
        query: Annotated[str, Field(description="what to look for, in English or Korean")],
        k: K = 5,
        collection: Where = None,
    ) -> dict[str, Any]:
        """Find the passages of the user's documents that are nearest to a query."""
        where = self._place(context, collection)
        work = partial(self._attest.search, query, k=k, collection=where)
        return shapes.search(await _told(lambda: self._desk.quick(work)))

    async def ask(
        self,
        context: Context[Any, Any],
        question: Annotated[str, Field(description="a whole question")],
        mode: Annotated[
            AnswerMode, Field(description="extract quotes only, generate writes, auto does both")
        ] = "auto",
        collection: Where = None,
    ) -> dict[str, Any]:
        """Answer a question from the user's documents, with quotations and where they stand.

        `abstained` says that the documents do not hold it.
        """
        where = self._place(context, collection)
        answers: list[Answer] = []

        def take(piece: str | Answer) -> None:
            if isinstance(piece, Answer):
                answers.append(piece)

        begin = partial(self._attest.stream, question, mode=mode, collection=where)
        await _told(lambda: self._desk.do(begin, take))
        return shapes.answer(answers[0])

    async def similar(
        self,
        context: Context[Any, Any],
        document: Annotated[
            str | None, Field(description="id, path or file name of a document of the library")
        ] = None,
        text: Annotated[str | None, Field(description="or any text")] = None,
        k: K = 5,
        collection: Where = None,
    ) -> dict[str, Any]:
        """Find the documents that are most like one of the library, or like a text."""
        from rag.api.similar import SimilarRequest, similar_to

        where = self._place(context, collection)
        try:
            asked = SimilarRequest(document=document, text=text, k=k)
        except ValueError as error:
            raise ToolError("give either document or text") from error
        return await _told(lambda: self._desk.run(partial(similar_to, self._attest, asked, where)))

    async def add(
        self,
        context: Context[Any, Any],
        name: Annotated[str, Field(description="a file name, such as notes.md")],
        text: Annotated[str, Field(description="what the document says")],
        collection: Where = None,
    ) -> dict[str, Any]:
        """Put a text into the library as a document of its own."""
        where = self._place(context, collection, writing=True)
        content = text.encode("utf-8", "replace")
        work = partial(self._attest.upload, _as_text(name), content, where)
        return shapes.outcomes(await _told(lambda: self._desk.run(work)))

    def _place(
        self, context: Context[Any, Any], collection: str | None, *, writing: bool = False
    ) -> str | None:
        request = context.request_context.request
        caller: Caller = getattr(getattr(request, "state", None), "caller", ANYBODY)
        try:
            if writing:
                caller.must_write()
            return caller.place(collection, self._attest.settings.collection)
        except AttestError as error:
            raise ToolError(str(error)) from error


async def _told(work: Callable[[], Awaitable[T]]) -> T:
    """What the work gives; what a caller can mend is said to the model in its own words."""
    try:
        return await work()
    except (AttestError, StorageError) as error:
        raise ToolError(str(error)) from error


def _as_text(name: str) -> str:
    """A name under which a text is read as one."""
    return name if name.lower().endswith((".txt", ".md")) else f"{name}.txt"


@contextmanager
def _quiet() -> Iterator[None]:
    """The library sets up the logging of the whole process, which is not its to do."""
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = before
        root.setLevel(level)
