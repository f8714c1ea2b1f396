"""What was thought of a passage, and forgetting what was asked, over HTTP."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from index.records import Judgement
from rag import shapes
from rag.api.asking import LARGEST_ID, Attest, Place
from rag.api.conversations import Owner
from rag.conversations import Conversations

router = APIRouter(prefix="/api", tags=["history"])


class Feedback(BaseModel):
    model_config = ConfigDict(extra="forbid")

    question: str
    chunk_id: int = Field(ge=0, le=LARGEST_ID)
    kind: Judgement | None  # a thumb replaces the one before; null takes it back
    collection: str | None = None


@router.post("/feedback")
def judge(attest: Attest, place: Place, given: Feedback) -> dict[str, Any]:
    """Keep what was thought of a passage that was shown for a question."""
    kept = attest.judge(
        given.question, given.chunk_id, given.kind, collection=place(given.collection)
    )
    return {"remembered": kept}


@router.delete("/history")
def forget(
    attest: Attest,
    place: Place,
    owner: Owner,
    collection: str | None = None,
    conversations: bool = False,
) -> dict[str, Any]:
    """Forget every question and judgement of a collection.

    Conversations, in which questions stand as well, are kept unless `conversations` is true: then
    one's own are deleted too, or, for whoever asks at the machine itself, everybody's.
    """
    where = place(collection)
    forgotten = attest.forget(where, conversations=conversations and not owner)
    if conversations and owner:
        Conversations(attest, owner, where).clear()
    return shapes.forgotten(forgotten)
