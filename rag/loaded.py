"""The models of a running product: loaded when first needed, once, and shared by every request."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from rag.errors import Unreadable
from rag.models import kind_of, load_writer, locate, manifest
from rag.settings import Settings

if TYPE_CHECKING:
    from encoder import Embedder
    from encoder.checkpoint import EncoderCheckpoint
    from encoder.judge import Judge
    from generator import Writer
    from rag.remote import RemoteWriter

ORIGIN = "origin.json"  # in the folder of an encoder that was adapted here


class LoadedModels:
    """Encoders by name, and the generator."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.RLock()
        self._embedders: dict[str, Embedder] = {}
        self._judges: dict[str, Judge | None] = {}

    def embedder(self, name: str) -> "Embedder":
        """The encoder of this name or folder.

        Raises:
            NotFound: no such name.
            ModelMissing: it is known, but not on this machine.
        """
        with self._lock:
            if name not in self._embedders:
                folder = locate(name, self._settings.models_dir)
                self._set_threads()
                from encoder import Embedder

                with _loading():
                    self._embedders[name] = Embedder.load(folder)
            return self._embedders[name]

    def judge(self, name: str) -> "Judge | None":
        """What judges evidence by the encoder of this name; None where none comes with it.

        Raises as `embedder`.
        """
        with self._lock:
            if name not in self._judges:
                embedder = self.embedder(name)
                from encoder.judge import ADAPTERS, Judge
                from transformer import packaged

                with _loading():
                    adapter = packaged.find(embedder.fingerprint, ADAPTERS)
                    folder = locate(name, self._settings.models_dir)
                    self._judges[name] = (
                        None if adapter is None else Judge.beside(embedder, folder, adapter)
                    )
            return self._judges[name]

    def taught(self, name: str, data: bytes) -> "Embedder":
        """The encoder with what its questions learned; it holds no second copy of the model.

        Raises:
            Unreadable: the data is damaged, or belongs to another encoder.
        """
        with self._lock:
            base = self.embedder(name)
            from encoder.adapt import taught

            with _loading():
                return taught(base, data)

    def trainable(self, name: str) -> "EncoderCheckpoint":
        """The encoder once more, to be trained: nothing that anybody answers with."""
        folder = locate(name, self._settings.models_dir)
        self._set_threads()
        from encoder import checkpoint

        with _loading():
            return checkpoint.load(folder)

    def writer(self) -> "Writer":
        """The generator of the settings; raises as `embedder` does."""
        with self._lock:
            return self._writer

    @cached_property
    def _writer(self) -> "Writer":
        path = locate(self._settings.generator, self._settings.models_dir)
        self._set_threads()
        with _loading():
            return load_writer(path)

    @cached_property
    def remote(self) -> "RemoteWriter | None":
        """The engine that writes in the generator's place; None where the settings name none."""
        if self._settings.generator_url is None:
            return None
        from rag.remote import RemoteWriter

        return RemoteWriter(
            self._settings.generator_url,
            self._settings.generator_model,
            self._settings.generator_key,
        )

    def _set_threads(self) -> None:
        from transformer import runtime

        runtime.set_threads(self._settings.threads)


@contextmanager
def _loading() -> Iterator[None]:
    """A checkpoint that cannot be read is the user's to mend; reading one leaves nothing behind."""
    from transformer import runtime
    from transformer.errors import ModelError

    try:
        yield
    except ModelError as error:
        raise Unreadable(str(error)) from error
    finally:
        runtime.give_back_memory()


def speaks(name: str, language: str) -> bool:
    """Whether a model is meant for a language; a model of the user's own is taken at their word."""
    entry = manifest().get(taught_from(name) or name)
    return entry is None or language in entry.languages


@lru_cache(maxsize=64)
def taught_from(name: str) -> str | None:
    """Of an encoder that was adapted here, the one that it was before; None for any other."""
    try:
        base = json.loads((Path(name) / ORIGIN).read_text(encoding="utf-8"))["base"]
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return base if isinstance(base, str) else None


def describe(path: Path) -> tuple[str, int]:
    """Fingerprint and number of parameters of a model of either kind."""
    with _loading():
        if kind_of(path) == "encoder":
            from encoder import Embedder

            embedder = Embedder.load(path)
            return embedder.fingerprint, embedder.parameters
        writer = load_writer(path)
        return writer.fingerprint, writer.parameters
