"""Collections over HTTP: made, listed, named, weighed, and removed."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from rag import shapes
from rag.api.asking import Attest, Calling, Place
from rag.errors import UsageError

router = APIRouter(prefix="/api/collections", tags=["collections"])
_ONE = "/{name:path}"  # a name may hold slashes


@router.get("")
def list_collections(attest: Attest, caller: Calling) -> dict[str, Any]:
    """Those that the caller may see."""
    held = [one for one in attest.collections() if caller.sees(one.name)]
    return shapes.collections(held, attest.settings.collection)


class Name(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str


@router.post("", status_code=201)
def create(attest: Attest, place: Place, given: Name) -> dict[str, Any]:
    """Make one that holds nothing yet; one also comes to be with its first document."""
    place(given.name)
    return _shown(attest, attest.create(given.name))


@router.get(_ONE)
def status(attest: Attest, place: Place, name: str) -> dict[str, Any]:
    """What it holds, as `attest status --json` prints it, without where on the machine it is."""
    place(name)
    attest.catalog.collection(name)
    return _shown(attest, name)


class Changes(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str | None = None
    fusion_weight: float | None = Field(default=None, ge=0, le=1)


@router.patch(_ONE)
def change(attest: Attest, place: Place, name: str, given: Changes) -> dict[str, Any]:
    """Give it another name, or set how much meaning counts beside words: 0 is words alone."""
    place(name)
    if given.name is None and given.fusion_weight is None:
        raise UsageError("nothing is to be changed: send name, fusion_weight or both")
    if given.name is not None:
        place(given.name)
        name = attest.rename_collection(name, given.name)
    if given.fusion_weight is not None:
        attest.set_fusion_weight(given.fusion_weight, name)
    return status(attest, place, name)


@router.delete(_ONE)
def drop(attest: Attest, place: Place, name: str) -> dict[str, Any]:
    """Remove a collection with every document in it."""
    place(name)
    return {"removed": attest.drop(name)}


def _shown(attest: Attest, name: str) -> dict[str, Any]:
    shown = shapes.status(attest.status(name))
    return {key: value for key, value in shown.items() if key not in ("home", "database")}
