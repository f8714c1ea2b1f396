"""The conversations that are kept for whoever asks: listed, found, read, named and deleted."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import PlainTextResponse, Response
from pydantic import BaseModel, ConfigDict

from index.errors import UnknownConversation
from index.records import StoredConversation
from rag.api.asking import Attest, Calling, Place
from rag.conversation_export import as_json, as_markdown
from rag.conversations import Conversation, Conversations
from rag.visitors import owner_of

router = APIRouter(prefix="/api/conversations", tags=["conversations"])


def _owner(request: Request, caller: Calling) -> str:
    host = request.client.host if request.client else ""
    visitor = owner_of(host, request.headers, request.cookies)
    return caller.name if caller.name.startswith("key ") else visitor


Owner = Annotated[str, Depends(_owner)]  # "" for the person at the machine


def _keeping(attest: Attest, owner: Owner) -> Callable[[str | None], Conversations]:
    return lambda collection: Conversations(attest, owner, collection)


Kept = Annotated[Callable[[str | None], Conversations], Depends(_keeping)]


def _read(kept: Kept, caller: Calling, uid: str) -> Conversation:
    found = kept(None).read(uid)
    if not caller.sees(found.head.collection):
        raise UnknownConversation(uid)
    return found


Wanted = Annotated[Conversation, Depends(_read)]


@router.get("")
def list_conversations(
    kept: Kept,
    place: Place,
    find: Annotated[str, Query(max_length=500)] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
    collection: str | None = None,
) -> dict[str, Any]:
    """The last changed first; with `find`, those that hold each of its words."""
    listed = kept(place(collection)).listed(find, limit)
    return {"conversations": [_head(each) for each in listed]}


@router.get("/{uid}", response_model=None)
def read(found: Wanted, form: Literal["json", "markdown"] = "json") -> Response | dict[str, Any]:
    """All of it, with citations, as a file of the page has it."""
    if form == "markdown":
        return PlainTextResponse(as_markdown(found), media_type="text/markdown; charset=utf-8")
    return as_json(found)


class Title(BaseModel):
    model_config = ConfigDict(extra="forbid")

    title: str


@router.patch("/{uid}")
def rename(kept: Kept, found: Wanted, given: Title) -> dict[str, Any]:
    """Give it another title."""
    return {"id": found.head.uid, "title": kept(None).rename(found.head.uid, given.title)}


@router.delete("/{uid}")
def remove(kept: Kept, found: Wanted) -> dict[str, Any]:
    """Delete it with its messages."""
    kept(None).remove(found.head.uid)
    return {"removed": 1}


def _head(one: StoredConversation) -> dict[str, Any]:
    return {
        "id": one.uid,
        "title": one.title,
        "collection": one.collection,
        "made": one.made_at,
        "changed": one.changed_at,
        "messages": one.messages,
    }
