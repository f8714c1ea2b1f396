"""Collections over HTTP: which there are, what they hold, how they weigh, and their end."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from rag import shapes
from rag.api.asking import Attest, Calling, Place

router = APIRouter(prefix="/api/collections", tags=["collections"])


@router.get("")
def list_collections(attest: Attest, caller: Calling) -> dict[str, Any]:
    """Those that the caller may see; one comes to be with its first document."""
    held = [one for one in attest.catalog.collections() if caller.sees(one.name)]
    rows = [
        {
            "name": one.name,
            "encoder": one.model.name,
            "dimensions": one.model.dimensions,
            "documents": sum(attest.catalog.counts(one.name).documents.values()),
        }
        for one in held
    ]
    return {"collections": rows, "default": attest.settings.collection}


@router.get("/{name}")
def status(attest: Attest, place: Place, name: str) -> dict[str, Any]:
    """What it holds, as `attest status --json` prints it, without where on the machine it is."""
    where = place(name)
    attest.catalog.collection(name)
    shown = shapes.status(attest.status(where))
    return {key: value for key, value in shown.items() if key not in ("home", "database")}


class Weight(BaseModel):
    model_config = ConfigDict(extra="forbid")

    fusion_weight: float = Field(ge=0, le=1)


@router.patch("/{name}")
def weigh(attest: Attest, place: Place, name: str, given: Weight) -> dict[str, Any]:
    """Set how much meaning counts beside words: 0 is words alone, 1 is meaning alone."""
    attest.set_fusion_weight(given.fusion_weight, place(name))
    return status(attest, place, name)


@router.delete("/{name}")
def drop(attest: Attest, place: Place, name: str) -> dict[str, Any]:
    """Remove a collection with every document in it."""
    place(name)
    return {"removed": attest.drop(name)}
