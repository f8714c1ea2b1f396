"""Documents like one of the library, like a text, or like a file that is only read."""

import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, File, Query, Request, UploadFile
from pydantic import BaseModel, ConfigDict, Field, model_validator

from rag import similar_text
from rag.api.asking import Attest, Place, the_intake
from rag.api.desk import unless_gone
from rag.api.documents import check_size
from rag.api.search import Filters
from rag.assistant import Assistant
from rag.errors import AttestError
from rag.loaders.names import sent_name
from rag.similar import Similar
from rag.uploads import safe_name

router = APIRouter(prefix="/api/similar", tags=["search"])

_LONGEST = 200_000  # characters of a text; a longer one is sent as a file
K = Annotated[int, Query(ge=1, le=1000)]


class SimilarRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    document: int | str | None = None  # id, path or file name of one in the library
    text: str | None = Field(default=None, max_length=_LONGEST)  # or any text
    k: int = Field(default=5, ge=1, le=1000)
    collection: str | None = None
    filters: Filters = Filters()

    @model_validator(mode="after")
    def _one(self) -> "SimilarRequest":
        if (self.document is None) == (self.text is None):
            raise ValueError("give either document or text")
        return self


@router.post("")
def similar(attest: Attest, place: Place, request: SimilarRequest) -> dict[str, Any]:
    """The documents nearest to one of the library, or to a text, as `attest similar` does."""
    return similar_to(attest, request, place(request.collection))


def similar_to(attest: Assistant, request: SimilarRequest, where: str | None) -> dict[str, Any]:
    within = request.filters.within()
    if request.text is not None:
        found = attest.similar_to_text(request.text, k=request.k, within=within, collection=where)
        return similar_text.shape(found)
    assert request.document is not None
    # Found first: the assistant would take a name that it does not know for a file on disk.
    row = attest.find(request.document, where)
    return similar_text.shape(attest.similar(row.id, k=request.k, within=within, collection=where))


@router.post("/file")
async def similar_to_file(
    attest: Attest,
    place: Place,
    http: Request,
    file: Annotated[UploadFile, File()],
    k: K = 5,
    collection: str | None = None,
) -> dict[str, Any]:
    """The documents nearest to a file, which is read and not stored."""
    name, where = safe_name(sent_name(file.filename or "")), place(collection)
    check_size(file, attest.settings.max_upload_mb)

    def work() -> Similar:
        with tempfile.TemporaryDirectory(prefix="attest-") as folder:
            kept = Path(folder) / name
            kept.write_bytes(file.file.read())
            try:
                return attest.similar(kept, k=k, collection=where)
            except AttestError as error:  # which names where the file lay for a moment
                raise type(error)(str(error).replace(str(kept), name)) from error

    found = await unless_gone(http.receive, partial(the_intake(http).run, work))
    return similar_text.shape(replace(found, query=name))
