"""Work in the background over HTTP: how far it is, its result, and its end."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import FileResponse

from index.errors import UnknownJob
from index.jobs import StoredJob
from rag import shapes
from rag.access import Caller
from rag.api.asking import LARGEST_ID, Attest, Calling, the_worker
from rag.errors import NotFound
from rag.work import report_page

router = APIRouter(prefix="/api/jobs", tags=["jobs"])

Id = Annotated[int, Path(ge=1, le=LARGEST_ID)]
# The page runs its own scripts and nothing else: it reaches neither this service nor any other.
_ALONE = "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; " \
    "style-src 'unsafe-inline'; img-src data: blob:; font-src data:"  # fmt: skip


@router.get("")
def list_jobs(
    http: Request, caller: Calling, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> dict[str, Any]:
    """The newest first."""
    held = None if caller.collections is None else sorted(caller.collections)
    return {"jobs": [shapes.job(job) for job in the_worker(http).jobs.all(held, limit=limit)]}


@router.get("/{job_id}")
def job(http: Request, caller: Calling, job_id: Id) -> dict[str, Any]:
    """How far it is; `result` once it is done."""
    return shapes.job(_seen(http, caller, job_id))


@router.delete("/{job_id}")
def cancel(http: Request, caller: Calling, job_id: Id) -> dict[str, Any]:
    """Cancel it. What it has done until then is kept."""
    _seen(http, caller, job_id)
    return shapes.job(the_worker(http).jobs.cancel(job_id))


@router.get("/{job_id}/report.html", response_class=FileResponse)
def page(http: Request, attest: Attest, caller: Calling, job_id: Id) -> FileResponse:
    """The page of a report."""
    file = report_page(attest, _seen(http, caller, job_id).id)
    if not file.is_file():
        raise NotFound(
            f"job {job_id} has no page here: it is no report, not done yet, or its page lies in "
            "the home of another server"
        )
    return FileResponse(file, media_type="text/html", headers={"content-security-policy": _ALONE})


def _seen(http: Request, caller: Caller, job_id: int) -> StoredJob:
    found = the_worker(http).jobs.get(job_id)
    if not caller.sees(found.collection):
        raise UnknownJob(job_id)
    return found
