"""Documents over HTTP: list, upload, read, remove."""

import pathlib
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, File, Path, Query, Request, UploadFile
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict

from index.jobs import StoredJob
from rag import shapes
from rag.api.asking import LARGEST_ID, Attest, Place, the_intake, the_worker
from rag.api.desk import unless_gone
from rag.assistant import Assistant
from rag.errors import TooLong
from rag.ingest import Outcome
from rag.jobs import Worker
from rag.library import tag_name
from rag.loaders.names import sent_name
from rag.uploads import safe_name

router = APIRouter(prefix="/api/documents", tags=["documents"])

Named = Sequence[tuple[str, UploadFile]]  # by safe names
Id = Annotated[int, Path(ge=1, le=LARGEST_ID)]


@router.get("")
def list_documents(attest: Attest, place: Place, collection: str | None = None) -> dict[str, Any]:
    """Every document of a collection, as `attest list --json` prints them."""
    return shapes.documents(attest.documents(place(collection)))


_ANSWERS: dict[int | str, dict[str, Any]] = {
    202: {"description": "the job that reads them"},
    422: {"description": "none of the files can be read"},
}


@router.post("", responses=_ANSWERS)
async def upload(
    attest: Attest,
    place: Place,
    http: Request,
    files: Annotated[list[UploadFile], File()],
    collection: str | None = None,
    tags: Annotated[list[str], Query()] = [],  # noqa: B006 - FastAPI copies it
    background: bool = False,
) -> JSONResponse:
    """Add files. 422 if none of them can be read; each one's reason is in the body.

    With `background`, a job reads them. A name that cannot be kept (400) or a file that is too
    large (413) refuses all of them.
    """
    where = place(collection)
    named = [(safe_name(sent_name(file.filename or "")), file) for file in files]
    for file in files:
        check_size(file, attest.settings.max_upload_mb)
    if background:
        put = partial(_put, attest, the_worker(http), named, where, tags)
        return JSONResponse(shapes.job(await to_thread.run_sync(put)), 202)
    done: list[Outcome] = []
    work = partial(_read, attest, named, where, tags)
    await unless_gone(http.receive, partial(the_intake(http).do, work, done.append))
    await to_thread.run_sync(_settle, attest, where)
    refused = all(one.status in ("empty", "unsupported", "failed") for one in done)
    return JSONResponse(shapes.outcomes(done), 422 if refused else 200)


def _put(
    attest: Assistant, worker: Worker, named: Named, where: str | None, tags: Sequence[str]
) -> StoredJob:
    given = [tag_name(tag) for tag in tags]
    home, name = attest.settings.home, where or attest.settings.collection
    paths = [file.relative_to(home).as_posix() for file in _keep(attest, named)]
    return worker.put("add", name, {"files": paths, "tags": given})


def _read(
    attest: Assistant, named: Named, where: str | None, tags: Sequence[str]
) -> Iterator[Outcome]:
    kept = _keep(attest, named)
    yield from attest.ingest_uploads(kept, where, tags=tags, catch_up=False)


def _settle(attest: Assistant, where: str | None) -> None:
    """What was added can be found. Not by a thread that stands back: searches wait for it."""
    name = where or attest.settings.collection
    if attest.exists(name):
        attest.opened(name).catch_up()


def _keep(attest: Assistant, named: Named) -> list[pathlib.Path]:
    return [attest.keep_upload(name, file.file.read()) for name, file in named]


@router.get("/{document_id}/text")
def text(
    attest: Attest, place: Place, document_id: Id, collection: str | None = None
) -> dict[str, Any]:
    """The stored text, whose code points citations count."""
    return {"id": document_id, "text": attest.text(document_id, place(collection))}


class Tags(BaseModel):
    model_config = ConfigDict(extra="forbid")

    add: list[str] = []
    remove: list[str] = []


@router.patch("/{document_id}/tags")
def tag(
    attest: Attest, place: Place, document_id: Id, tags: Tags, collection: str | None = None
) -> dict[str, Any]:
    """Put tags on a document and take others off."""
    where = place(collection)
    (row,) = attest.tag([document_id], add=tags.add, remove=tags.remove, collection=where)
    return shapes.document_full(row)


@router.delete("/{document_id}")
def remove(
    attest: Attest, place: Place, document_id: Id, collection: str | None = None
) -> dict[str, Any]:
    """Remove a document and everything that was made of it."""
    return shapes.outcomes(attest.remove([document_id], place(collection)))


def check_size(file: UploadFile, most_mb: int) -> None:
    if (file.size or 0) > most_mb * 1_000_000:
        raise TooLong(
            f"{file.filename} is over {most_mb} MB, the most that an upload may have: add it with "
            "`attest add` on the machine itself, or raise max_upload_mb"
        )
