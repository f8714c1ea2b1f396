"""Moving a library to another encoder, while the old one goes on answering."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from index import Collection, Model
from index.records import StoredText
from index.tidy import tidy
from rag.errors import UsageError
from rag.models import lasting
from rag.reading import Reading, cut_again

if TYPE_CHECKING:
    from encoder import Embedder
    from index.reembedding import Move
    from rag.library import Library, Stop

_CHUNKS_AT_ONCE = 256
_DOCUMENTS_AT_ONCE = 8  # texts held at a time


@dataclass(frozen=True, slots=True)
class Moved:
    """How far a move is, or where it ended."""

    collection: str
    old: Model
    new: Model
    documents: int  # that have their new vectors
    of: int
    finished: bool  # the library answers by the new model now


def reembed(
    library: "Library", encoder: str, collection: str | None = None, *, stop: "Stop"
) -> Iterator[Moved]:
    """Make the vectors of another encoder, then switch to it in one step.

    Until then everything is answered by the old one. A run that ends early is gone on with by
    the next; what is added or changed meanwhile comes along.

    Args:
        library: whose documents
        encoder: a name of the manifest, or a folder
        collection: which of them
        stop: asked between documents

    Raises:
        UnknownCollection: there is nothing to move.
        UsageError: another process is moving it.
    """
    name = collection or library.settings.collection
    stored = library.catalog.collection(name)
    encoder = lasting(encoder)
    embedder = library.models.embedder(encoder)
    new = Model(encoder, embedder.fingerprint, embedder.dimensions)
    Collection.open(library.catalog, name).check()
    with only_mover(library, name):
        library.catalog.clear_former(name, keep=[new.fingerprint])
        if new.fingerprint != stored.model.fingerprint:
            yield from _move(library, name, stored.model, new, embedder, stop)
        if library.catalog.collection(name).model.fingerprint != new.fingerprint:
            return
        library.catalog.clear_former(name)
        tidy(library.catalog)
    total = library.catalog.counts(name).documents["indexed"]
    yield Moved(name, stored.model, new, total, total, finished=True)


@contextmanager
def only_mover(library: "Library", name: str) -> Iterator[None]:
    """Held by whoever makes or clears away chunks of other models.

    Raises:
        UsageError: another process holds it.
    """
    key = library.catalog.collection(name).id
    with library.catalog.database.held(f"move-{key}") as alone:
        if alone is None:
            raise UsageError(
                f"another process is moving {name!r} to another model: wait for it, or end it"
            )
        yield


def _move(
    library: "Library", name: str, old: Model, new: Model, embedder: "Embedder", stop: "Stop"
) -> Iterator[Moved]:
    move = library.catalog.move(name, new)
    while not stop():
        left = move.left()
        of = library.catalog.counts(name).documents["indexed"]
        yield Moved(name, old, new, of - left, of, finished=False)
        if left == 0:
            if of:  # the first search after the switch is not to wait for its indexes
                Collection.open(library.catalog, name).prepare(new)
            if move.finish():
                return
        for batch in _batches(move, embedder, stop):
            _store(move, batch, embedder)
            of_batch = move.left()
            yield Moved(name, old, new, of - of_batch, of, finished=False)


def _batches(
    move: "Move", embedder: "Embedder", stop: "Stop"
) -> Iterator[list[tuple[StoredText, Reading]]]:
    """Documents cut for the new model, enough of them to be encoded together."""
    after, batch = 0, list[tuple[StoredText, Reading]]()
    while texts := move.texts(after, _DOCUMENTS_AT_ONCE):
        for text in texts:
            if stop():
                return
            batch.append((text, cut_again(text, embedder)))
            if sum(len(reading.chunks) for _, reading in batch) >= _CHUNKS_AT_ONCE:
                yield batch
                batch = []
        after = texts[-1].id
    if batch:
        yield batch


def _store(move: "Move", batch: Sequence[tuple[StoredText, Reading]], embedder: "Embedder") -> None:
    vectors = embedder.embed_documents([text for _, each in batch for text in each.encoded])
    start = 0
    for text, reading in batch:
        end = start + len(reading.chunks)
        move.add(text, reading.chunks, vectors[start:end])
        start = end
