"""Which encoder a collection works with: the one that made its vectors, and no other.

Its questions may be encoded by what that one has learned since: see `rag.adapting`.
"""

import logging
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from index import Catalog, Model
from index.analysis import is_korean
from index.errors import UnknownCollection
from rag.errors import ModelMissing, NotFound, Unreadable
from rag.loaded import LoadedModels, speaks
from rag.settings import Settings

if TYPE_CHECKING:
    from encoder import Embedder


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Taught:
    """The questions' encoder of a collection, for as long as its adapter is in use."""

    collection: str  # its uid: a name may come back
    adapter: int
    embedder: "Embedder"


class Encoders:
    """The encoders of a home's collections."""

    def __init__(self, settings: Settings, catalog: Catalog, models: LoadedModels) -> None:
        self._settings = settings
        self._catalog = catalog
        self._models = models
        self._taught: dict[str, _Taught] = {}
        self._lock = threading.Lock()

    def name(self, collection: str) -> str:
        """The encoder that a collection was made with; a new one takes that of the settings."""
        try:
            return self._catalog.collection(collection).model.name
        except UnknownCollection:
            return self._settings.encoder

    def of(self, collection: str) -> "Embedder":
        """The encoder whose vectors a collection holds.

        Raises:
            ModelMissing: it is not on this machine, or another one has its name now.
        """
        try:
            model = self._catalog.collection(collection).model
        except UnknownCollection:
            return self._models.embedder(self._settings.encoder)
        return self._embedder_of(collection, model)

    def asking(self, collection: str) -> "Embedder":
        """The encoder of a collection's questions: as `of`, with the adapter that is in use.

        Its vectors compare with those of `of`, whose fingerprint it has. Another process may put
        another adapter to use, or none, at any time: the next question is encoded by that.

        Raises:
            ModelMissing: as `of`.
        """
        base = self.of(collection)
        try:
            found = self._catalog.collection(collection)
        except UnknownCollection:
            return base
        with self._lock:
            kept = self._taught.get(collection)
            if found.adapter_id is None:
                self._taught.pop(collection, None)
                return base
            if kept is None or (kept.collection, kept.adapter) != (found.uid, found.adapter_id):
                made = self._with_adapter(collection, base)
                kept = self._taught[collection] = _Taught(found.uid, found.adapter_id, made)
            return kept.embedder

    def _with_adapter(self, collection: str, base: "Embedder") -> "Embedder":
        """A damaged adapter must not stop a library from answering: then it is the base."""
        adapter = self._catalog.active_adapter(collection)
        if adapter is None or adapter.base != base.fingerprint:
            return base
        try:
            name = self._catalog.collection(collection).model.name
            return self._models.taught(name, adapter.data)
        except Unreadable as error:
            _log.warning("adapter %d of %r is left out: %s", adapter.id, collection, error)
            return base

    def _embedder_of(self, collection: str, model: Model) -> "Embedder":
        made = f"the library {collection!r} was made by {model.name} ({model.fingerprint[:12]})"
        wanted = self._settings.encoder
        instead = f"move it to another model with `attest reembed {wanted}`"
        try:
            embedder = self._models.embedder(model.name)
        except (NotFound, ModelMissing) as error:
            raise ModelMissing(
                f"{made}, which is not on this machine, and the settings name {wanted}: "
                f"{error}; or {instead}. Search by words alone goes on: --mode lexical"
            ) from error
        if embedder.fingerprint != model.fingerprint:
            raise ModelMissing(
                f"{made}, but {model.name} is now another model ({embedder.fingerprint[:12]}): "
                f"bring the old one back, or {instead}. Search by words alone goes on: "
                "--mode lexical"
            )
        return embedder

    def speaks(self, collection: str, text: str) -> bool:
        """Whether a collection's encoder is meant for the language of a text."""
        return speaks(self.name(collection), "ko" if is_korean(text) else "en")
