"""Embeddings as OpenAI's clients ask for them: the vectors that the library itself works with."""

import base64
from collections.abc import Iterator
from functools import partial
from typing import Any, Literal

import numpy as np
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from rag.api.asking import Attest, Place, the_desk
from rag.api.chat_request import NAME, whole
from rag.api.desk import unless_gone
from rag.api.errors import BadRequest
from rag.errors import TooLong

router = APIRouter(prefix="/v1", tags=["OpenAI"])

_MOST = 2048  # texts of a request, as OpenAI has it
_AT_ONCE = 32  # texts, after which a client that has left is noticed

Vectors = NDArray[np.float32]


class EmbeddingsRequest(BaseModel):
    input: str | list[str] | list[int] | list[list[int]]
    model: str = NAME
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = Field(default=None, ge=1)
    input_type: Literal["document", "query"] = "document"  # encoders tell the two apart
    collection: str | None = None

    @property
    def texts(self) -> list[str]:
        """
        Raises:
            BadRequest: there is none, there are too many, or token ids instead.
        """
        given = [self.input] if isinstance(self.input, str) else self.input
        texts = [whole(one) for one in given if isinstance(one, str)]
        if len(texts) < len(given):
            raise BadRequest(
                "input holds token ids, which belong to another model's tokenizer: send text "
                "(LangChain: OpenAIEmbeddings(check_embedding_ctx_length=False))",
                "input",
            )
        if not 1 <= len(texts) <= _MOST:
            raise BadRequest(f"input has {len(texts)} texts: send 1 to {_MOST}", "input")
        if not all(text.strip() for text in texts):
            raise BadRequest("input has an empty text: leave it out", "input")
        return texts

    @property
    def place(self) -> str | None:
        head, _, name = self.model.partition(":")
        return self.collection or (name if head == NAME and name else None)


@router.post("/embeddings")
async def embed(
    attest: Attest, place: Place, request: EmbeddingsRequest, http: Request
) -> Response:
    """Unit vectors of texts, by the encoder of the collection.

    `dimensions` keeps the first so many numbers, made unit length again. `input_type` (document or
    query) says which of the encoder's two prefixes is meant.
    """
    texts, collection = request.texts, place(request.place)
    parts: list[tuple[Vectors, int]] = []
    work = partial(_embedded, attest, request, texts, collection)
    await unless_gone(http.receive, partial(the_desk(http).do, work, parts.append))
    rows = np.concatenate([part for part, _ in parts])
    tokens = sum(count for _, count in parts)
    name = attest.encoders.name(collection or attest.settings.collection)
    return _response(rows, request, name, tokens)


def _embedded(
    attest: Attest, request: EmbeddingsRequest, texts: list[str], collection: str | None
) -> Iterator[tuple[Vectors, int]]:
    """Vectors of some texts after others, and how many tokens they had."""
    from transformer.errors import LengthError

    if collection not in (None, attest.settings.collection):
        attest.catalog.collection(collection)  # raises where there is none
    embedder = attest.encoders.of(collection or attest.settings.collection)
    query = request.input_type == "query"
    encode = embedder.embed_queries if query else embedder.embed_documents
    count = embedder.count_query if query else embedder.count
    width = request.dimensions or embedder.dimensions
    if width > embedder.dimensions:
        raise BadRequest(
            f"dimensions ({width}) must be {embedder.dimensions} at most, as many as the encoder "
            "gives",
            "dimensions",
        )
    for start in range(0, len(texts), _AT_ONCE):
        some = texts[start : start + _AT_ONCE]
        try:
            rows = encode(some)[:, :width]
        except LengthError as error:
            raise TooLong(str(error)) from error
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        yield rows / np.maximum(lengths, 1e-12), sum(map(count, some))


def _response(rows: Vectors, request: EmbeddingsRequest, name: str, tokens: int) -> Response:
    data: list[dict[str, Any]] = [
        {"object": "embedding", "index": i, "embedding": _written(row, request.encoding_format)}
        for i, row in enumerate(rows)
    ]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    body = {"object": "list", "data": data, "model": name, "usage": usage}
    return JSONResponse(body)


def _written(row: Vectors, form: str) -> str | list[float]:
    if form == "float":
        return [float(number) for number in row]
    return base64.b64encode(row.astype("<f4").tobytes()).decode()
