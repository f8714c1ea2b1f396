"""What was thought of a passage, and forgetting what was asked, over HTTP."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from index.records import Judgement
from rag import shapes
from rag.api.asking import LARGEST_ID, Attest, Place

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
def forget(attest: Attest, place: Place, collection: str | None = None) -> dict[str, Any]:
    """Forget every question and judgement of a collection."""
    return shapes.forgotten(attest.forget(place(collection)))
