"""Search over HTTP."""

from typing import Annotated, Any

from fastapi import APIRouter, BackgroundTasks
from pydantic import BaseModel, ConfigDict, Field

from rag import history, shapes
from rag.api.asking import Attest, Place
from rag.records import Mode, Within

router = APIRouter(prefix="/api", tags=["search"])

Some = Annotated[list[Annotated[str, Field(max_length=1000)]], Field(max_length=100)]


class Filters(BaseModel):
    model_config = ConfigDict(extra="forbid")

    documents: list[int | str] = Field(default=[], max_length=10_000)  # ids, paths or file names
    paths: Some = []  # glob patterns, one of which the path or its end matches
    media_types: Some = []  # one of these; text/* is any kind of text
    tags: Some = []  # all of these
    since: str | None = None  # ISO 8601 date or time of the file
    until: str | None = None

    def within(self) -> Within:
        return Within(
            documents=tuple(self.documents),
            paths=tuple(self.paths),
            media_types=tuple(self.media_types),
            tags=tuple(self.tags),
            since=self.since,
            until=self.until,
        )


class SearchRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    query: str
    k: int = Field(default=5, ge=1, le=1000)
    mode: Mode = "hybrid"
    collection: str | None = None
    filters: Filters = Filters()
    explain: bool = False  # say of each hit which words of the query it has
    rerank: bool | None = None  # the generator votes on the best hits; null: the library decides


@router.post("/search")
def search(
    attest: Attest, place: Place, request: SearchRequest, later: BackgroundTasks
) -> dict[str, Any]:
    """The k best passages, as `attest search --json` prints them."""
    where = place(request.collection)
    found = attest.search(
        request.query,
        k=request.k,
        mode=request.mode,
        within=request.filters.within(),
        explain=request.explain,
        rerank=request.rerank,
        remember=False,
        collection=where,
    )
    # Behind the answer, which need not wait until others have written.
    name = where or attest.settings.collection
    if found.words.chunks:
        later.add_task(history.remember, attest, found.query, name)
    return shapes.search(found)
