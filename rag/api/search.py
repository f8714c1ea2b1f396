"""Search over HTTP."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from rag import shapes
from rag.api.documents import Attest
from rag.records import Mode

router = APIRouter(prefix="/api", tags=["search"])


class Filters(BaseModel):
    model_config = ConfigDict(extra="forbid")

    documents: list[int | str] = []  # ids, paths or file names to stay within


class SearchRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    query: str
    k: int = Field(default=5, ge=1, le=1000)
    mode: Mode = "hybrid"
    collection: str | None = None
    filters: Filters = Filters()


@router.post("/search")
def search(attest: Attest, request: SearchRequest) -> dict[str, Any]:
    """The k best passages, as `attest search --json` prints them."""
    found = attest.search(
        request.query,
        k=request.k,
        mode=request.mode,
        documents=request.filters.documents,
        collection=request.collection,
    )
    return shapes.search(found)
