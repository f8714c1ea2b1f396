"""Reports over HTTP: groups of documents, and questions that are put to every document."""

from functools import partial
from typing import Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from index.jobs import StoredJob
from rag import shapes
from rag.api.asking import Attest, Place, the_desk, the_worker
from rag.api.desk import unless_gone
from rag.api.search import Filters
from rag.assistant import Assistant
from rag.jobs import Worker

router = APIRouter(prefix="/api", tags=["report"])


class ReportRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    clusters: int | None = Field(default=None, ge=1, le=10_000)  # None: as many as there are
    by: Literal["documents", "passages"] = "documents"
    outliers: Literal["keep", "assign"] = "keep"
    collection: str | None = None
    background: bool = False  # as a job, whose page can be fetched


@router.post("/report", responses={202: {"description": "the job that does it"}})
async def report(
    attest: Attest, place: Place, request: ReportRequest, http: Request
) -> JSONResponse:
    """The library in groups, as `attest report --json` prints it."""
    where = place(request.collection)
    if request.background:
        put = partial(_put, attest, the_worker(http), where, request)
        return JSONResponse(shapes.job(await the_desk(http).quick(put)), 202)

    def work() -> dict[str, Any]:
        _must_be(attest, where)
        made = attest.report(
            clusters=request.clusters,
            by=request.by,
            outliers=request.outliers,
            collection=where,
        )
        return shapes.report(made)

    return JSONResponse(await unless_gone(http.receive, lambda: the_desk(http).run(work)))


def _put(attest: Assistant, worker: Worker, where: str | None, request: ReportRequest) -> StoredJob:
    _must_be(attest, where)
    given = request.model_dump(include={"clusters", "by", "outliers"})
    return worker.put("report", where or attest.settings.collection, given)


def _must_be(attest: Assistant, where: str | None) -> None:
    """A collection that is named is there; the one of the settings may be still to come."""
    if where not in (None, attest.settings.collection):
        attest.catalog.collection(where)


class EveryRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    questions: list[str] = Field(min_length=1, max_length=100)
    filters: Filters = Filters()  # which documents are asked
    collection: str | None = None


@router.post("/every", status_code=202)
def every(attest: Attest, place: Place, request: EveryRequest, http: Request) -> dict[str, Any]:
    """Put questions to every document, as a job: its result is a table of quotes."""
    where = place(request.collection)
    within = request.filters.within()
    attest.every(request.questions, within=within, collection=where)  # what is wrong is said now
    kept = {
        name: value for name, value in request.filters.model_dump().items() if value is not None
    }
    given = {"questions": request.questions, "within": kept}
    return shapes.job(the_worker(http).put("every", where or attest.settings.collection, given))
