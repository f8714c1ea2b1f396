"""Documents over HTTP: list, upload, read, remove."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, File, Request, UploadFile
from fastapi.responses import JSONResponse

from rag import shapes
from rag.assistant import Assistant
from rag.errors import TooLong

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
) -> JSONResponse:
    """Add files. 422 if none of them can be read; each one's reason is in the body."""
    done = [attest.upload(file.filename or "", _content(file), collection) for file in files]
    refused = all(one.status in ("empty", "unsupported", "failed") for one in done)
    return JSONResponse(shapes.outcomes(done), 422 if refused else 200)


@router.get("/{document_id}/text")
def text(attest: Attest, document_id: int, collection: str | None = None) -> dict[str, Any]:
    """The stored text, whose code points citations count."""
    return {"id": document_id, "text": attest.text(document_id, collection)}


@router.delete("/{document_id}")
def remove(attest: Attest, document_id: int, collection: str | None = None) -> dict[str, Any]:
    return shapes.outcomes(attest.remove([document_id], collection))


def _content(file: UploadFile) -> bytes:
    content = file.file.read(_LARGEST_UPLOAD + 1)
    if len(content) > _LARGEST_UPLOAD:
        raise TooLong(
            f"{file.filename} is over {_LARGEST_UPLOAD // 1_000_000} MB, the most that an upload "
            "may have: add it with `attest add` on the machine itself"
        )
    return content
