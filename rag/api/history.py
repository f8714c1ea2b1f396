"""What was thought of a passage, and forgetting what was asked, over HTTP."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from index.records import Judgement
from rag.api.documents import Attest

router = APIRouter(prefix="/api", tags=["history"])

_LARGEST_ID = 2**63 - 1  # that a database can look for


class Feedback(BaseModel):
    model_config = ConfigDict(extra="forbid")

    question: str
    chunk_id: int = Field(ge=0, le=_LARGEST_ID)
    kind: Judgement | None  # a thumb replaces the one before; null takes it back
    collection: str | None = None


@router.post("/feedback")
def judge(attest: Attest, given: Feedback) -> dict[str, Any]:
    """Keep what was thought of a passage that was shown for a question."""
    kept = attest.judge(given.question, given.chunk_id, given.kind, collection=given.collection)
    return {"remembered": kept}


@router.delete("/history")
def forget(attest: Attest, collection: str | None = None) -> dict[str, Any]:
    """Forget every question and judgement of a collection."""
    return {"forgotten": attest.forget(collection)}
