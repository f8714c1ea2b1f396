"""The models that OpenAI's clients can name: one for the library, one for each collection."""

from typing import Annotated, Any

from fastapi import APIRouter, Path

from rag.api.asking import Attest, Calling
from rag.api.chat_request import NAME
from rag.errors import NotFound

router = APIRouter(prefix="/v1/models", tags=["OpenAI"])


@router.get("")
def models(attest: Attest, caller: Calling) -> dict[str, Any]:
    """`attest`, `attest:NAME` for each collection, and the encoders by their own names."""
    return {"object": "list", "data": [_model(name) for name in _names(attest, caller)]}


@router.get("/{name:path}")
def model(attest: Attest, caller: Calling, name: Annotated[str, Path()]) -> dict[str, Any]:
    """One of them."""
    if name not in _names(attest, caller):
        raise NotFound(f"no model {name!r}: GET /v1/models lists those that there are")
    return _model(name)


def _names(attest: Attest, caller: Calling) -> list[str]:
    held = [one for one in attest.catalog.collections() if caller.sees(one.name)]
    encoders = dict.fromkeys(one.model.name for one in held) or {attest.settings.encoder: None}
    return [NAME, *(f"{NAME}:{one.name}" for one in held), *encoders]


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": NAME}
