"""Documents over HTTP: list, upload, read, remove."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, File, Query, Request, UploadFile
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict

from rag import shapes
from rag.assistant import Assistant
from rag.errors import TooLong
from rag.loaders.names import sent_name
from rag.uploads import safe_name

router = APIRouter(prefix="/api/documents", tags=["documents"])

_LARGEST_UPLOAD = 100_000_000  # bytes


def the_assistant(request: Request) -> Assistant:
    """The assistant that the application was made over."""
    assistant: Assistant = request.app.state.assistant
    return assistant


Attest = Annotated[Assistant, Depends(the_assistant)]


@router.get("")
def list_documents(attest: Attest, collection: str | None = None) -> dict[str, Any]:
    return shapes.documents(attest.documents(collection))


@router.post("")
def upload(
    attest: Attest,
    files: Annotated[list[UploadFile], File()],
    collection: str | None = None,
    tags: Annotated[list[str], Query()] = [],  # noqa: B006 - FastAPI copies it
) -> JSONResponse:
    """Add files. 422 if none of them can be read; each one's reason is in the body.

    A name that cannot be kept (400) or a file that is too large (413) refuses all of them.
    """
    names = [safe_name(sent_name(file.filename or "")) for file in files]
    for file in files:
        _check_size(file)
    kept = [
        attest.keep_upload(name, file.file.read()) for name, file in zip(names, files, strict=True)
    ]
    done = list(attest.ingest_uploads(kept, collection, tags=tags))
    refused = all(one.status in ("empty", "unsupported", "failed") for one in done)
    return JSONResponse(shapes.outcomes(done), 422 if refused else 200)


@router.get("/{document_id}/text")
def text(attest: Attest, document_id: int, collection: str | None = None) -> dict[str, Any]:
    """The stored text, whose code points citations count."""
    return {"id": document_id, "text": attest.text(document_id, collection)}


class Tags(BaseModel):
    model_config = ConfigDict(extra="forbid")

    add: list[str] = []
    remove: list[str] = []


@router.patch("/{document_id}/tags")
def tag(
    attest: Attest, document_id: int, tags: Tags, collection: str | None = None
) -> dict[str, Any]:
    """Put tags on a document and take others off."""
    (row,) = attest.tag([document_id], add=tags.add, remove=tags.remove, collection=collection)
    return shapes.document_full(row)


@router.delete("/{document_id}")
def remove(attest: Attest, document_id: int, collection: str | None = None) -> dict[str, Any]:
    return shapes.outcomes(attest.remove([document_id], collection))


def _check_size(file: UploadFile) -> None:
    if (file.size or 0) > _LARGEST_UPLOAD:
        raise TooLong(
            f"{file.filename} is over {_LARGEST_UPLOAD // 1_000_000} MB, the most that an upload "
            "may have: add it with `attest add` on the machine itself"
        )
