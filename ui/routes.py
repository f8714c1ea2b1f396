"""What the page fetches by itself, beside Gradio: pictures of PDF pages, and files to keep."""

import json
from typing import Any

from fastapi import APIRouter, FastAPI, HTTPException, Request, Response

from index import StorageError
from rag.assistant import Assistant
from rag.conversation_export import as_json, as_markdown
from rag.conversations import Conversation, Conversations
from rag.errors import AttestError
from rag.pages import MEDIA_TYPE, page_picture
from rag.visitors import owner_of
from ui.locale import COOKIE, choose, texts

_NOT_FOUND = 404
_READER = ("close", "text", "before", "after", "of", "cut")


def add_routes(app: FastAPI, assistant: Assistant) -> None:
    """Put them below /page of the service."""
    router = APIRouter(prefix="/page", include_in_schema=False)

    @router.get("/documents/{document}")
    def stored(document: int, request: Request) -> dict[str, Any]:
        try:
            return _stored(assistant, document, request)
        except StorageError as error:
            raise HTTPException(_NOT_FOUND, str(error)) from error

    @router.get("/documents/{document}/pages/{page}")
    def picture(document: int, page: int, start: int = 0, end: int = 0) -> dict[str, Any]:
        try:
            made = page_picture(assistant, document, page, start, end)
        except (AttestError, StorageError) as error:
            raise HTTPException(_NOT_FOUND, str(error)) from error
        return {
            "picture": f"data:image/png;base64,{made.png}",
            "width": made.width,
            "height": made.height,
            "boxes": made.boxes,
        }

    @router.get("/conversations/{uid}.md")
    def markdown(uid: str, request: Request) -> Response:
        found = _conversation(assistant, uid, request)
        return _file(as_markdown(found), "text/markdown", f"{uid}.md")

    @router.get("/conversations/{uid}.json")
    def as_data(uid: str, request: Request) -> Response:
        found = as_json(_conversation(assistant, uid, request))
        text = json.dumps(found, ensure_ascii=False, indent=2)
        return _file(text, "application/json", f"{uid}.json")

    app.include_router(router)


def _stored(assistant: Assistant, document: int, request: Request) -> dict[str, Any]:
    """What is stored of a document, and the words around it in the reader's language."""
    row = assistant.catalog.document(document)
    pages = [chunk.page or 0 for chunk in assistant.catalog.chunks_of(document)]
    accepted = request.headers.get("accept-language")
    language = choose(assistant.settings.language, request.cookies.get(COOKIE), accepted)
    words = texts(language)
    said = {key: words.entries[f"reader.{key}"] for key in _READER}
    return {
        "id": row.id,
        "title": row.title,
        "path": row.path,
        "text": assistant.catalog.text(document),
        "pages": max(pages, default=0) if row.media_type == MEDIA_TYPE else 0,
        "words": said,
    }


def _conversation(assistant: Assistant, uid: str, request: Request) -> Conversation:
    host = request.client.host if request.client else ""
    whose = owner_of(host, request.headers, request.cookies)
    try:
        return Conversations(assistant, whose).read(uid)
    except StorageError as error:
        raise HTTPException(_NOT_FOUND, str(error)) from error


def _file(text: str, media_type: str, name: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="conversation-{name}"'}
    return Response(text.encode(), media_type=f"{media_type}; charset=utf-8", headers=headers)
