"""From files to a searchable library: read, chunk, encode in large batches, store each at once."""

import hashlib
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from index import Collection, NewDocument, Rejected, StoredDocument
from rag.loaders import LoadError, media_type
from rag.reading import read

if TYPE_CHECKING:
    from encoder import Embedder

Status = Literal[
    "added", "updated", "unchanged", "duplicate", "empty", "unsupported", "failed", "removed"
]

_CHUNKS_AT_ONCE = 256  # encoded together: enough to sort by length, little to hold


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file."""

    path: str
    id: int | None
    status: Status
    chunks: int = 0
    reason: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Ready:
    """A file that was read and waits for its vectors."""

    document: NewDocument
    encoded: tuple[str, ...]  # what the encoder reads of each chunk
    known: bool  # an earlier version is stored


def ingest(
    files: Iterable[Path], *, collection: Collection, embedder: "Embedder"
) -> Iterator[Outcome]:
    """Read, encode and store files; each one's outcome, in order. One bad file stops nothing.

    A file is stored in one transaction, so that a stop between outcomes loses nothing of those
    that were reported.
    """
    known = {document.path: document for document in collection.documents()}
    waiting: list[Outcome | _Ready] = []
    pending = 0
    for file in files:
        item = _read(file, known, collection, embedder)
        waiting.append(item)
        if isinstance(item, _Ready):
            pending += len(item.document.chunks)
        if pending >= _CHUNKS_AT_ONCE or not pending:
            yield from _stored(waiting, collection, embedder)
            waiting, pending = [], 0
    yield from _stored(waiting, collection, embedder)


def stored_path(file: Path) -> str:
    """The name under which a file is catalogued: absolute, and in NFC as people type it."""
    return unicodedata.normalize("NFC", str(file.absolute()))


def _read(
    file: Path,
    known: dict[str, StoredDocument],
    collection: Collection,
    embedder: "Embedder",
) -> Outcome | _Ready:
    path = stored_path(file)
    earlier = known.get(path)
    try:
        content = file.read_bytes()
    except OSError as error:
        reason = f"it cannot be opened: {error.strerror or error}"
        return Outcome(path, earlier.id if earlier else None, "failed", reason=reason)
    sha256, size = hashlib.sha256(content).hexdigest(), len(content)
    del content
    if earlier and earlier.sha256 == sha256:
        return _unchanged(earlier)
    if duplicate := collection.add_duplicate(path, sha256, size):
        return _of(duplicate, "duplicate")
    try:
        reading = read(file, embedder)
    except LoadError as error:
        kind, title = media_type(file), unicodedata.normalize("NFC", file.stem)
        reject = Rejected(path, title, kind, sha256, size, error.status, str(error))
        row = collection.reject(reject)
        return Outcome(path, row.id, error.status, reason=str(error), chunks=row.chunks)
    text = reading.text
    document = NewDocument(
        path, text.title, text.media_type, sha256, size, text.text, reading.chunks, text.warnings
    )
    known_before = earlier is not None and earlier.status == "indexed"
    return _Ready(document, reading.encoded, known_before)


def _unchanged(earlier: StoredDocument) -> Outcome:
    """Nothing was done: a file that was refused before is refused again, with its reason."""
    match earlier.status:
        case "indexed":
            return _of(earlier, "unchanged")
        case status:
            return _of(earlier, status)


def _of(row: StoredDocument, status: Status) -> Outcome:
    return Outcome(row.path, row.id, status, row.chunks, row.reason, row.warnings)


def _stored(
    waiting: list[Outcome | _Ready], collection: Collection, embedder: "Embedder"
) -> Iterator[Outcome]:
    texts = [text for item in waiting if isinstance(item, _Ready) for text in item.encoded]
    vectors = embedder.embed_documents(texts)
    start = 0
    for item in waiting:
        if isinstance(item, Outcome):
            yield item
            continue
        stop = start + len(item.document.chunks)
        row = collection.add(item.document, vectors[start:stop])
        start = stop
        if row.status == "duplicate":
            yield _of(row, "duplicate")
        else:
            yield _of(row, "updated" if item.known else "added")
