"""Which encoder a collection works with: the one that made its vectors, and no other."""

from typing import TYPE_CHECKING

from index import Catalog, Model
from index.analysis import is_korean
from index.errors import UnknownCollection
from rag.errors import ModelMissing, NotFound
from rag.loaded import LoadedModels, speaks
from rag.settings import Settings

if TYPE_CHECKING:
    from encoder import Embedder


class Encoders:
    """The encoders of a home's collections."""

    def __init__(self, settings: Settings, catalog: Catalog, models: LoadedModels) -> None:
        self._settings = settings
        self._catalog = catalog
        self._models = models

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
