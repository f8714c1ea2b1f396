"""From files to a searchable library: examine, read ahead, cut, store, encode in large batches.

A new document is stored with its text at once, so that its words are found while its vectors are
still being made. A changed one replaces its earlier version when its vectors are ready, and keeps
those of the passages that did not change.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from index import Catalog, Collection, NewDocument, Rejected, StoredDocument
from index.chunk_rows import chunk_key
from index.records import Known
from rag.chunking import encoded_text
from rag.loaders import LoadError, media_type
from rag.loaders.names import shown_name
from rag.reading import Reading, cut, layout
from rag.records import ExtractedText
from rag.sources import Content, Source, content_of, on_disk

if TYPE_CHECKING:
    from encoder import Embedder

Status = Literal[
    "added", "updated", "unchanged", "duplicate", "empty", "unsupported", "failed", "removed"
]
Load = Callable[[Path], ExtractedText]

_CHUNKS_AT_ONCE = 256  # encoded together: enough to sort by length, little to hold
_MOST_AT_ONCE = 2 * _CHUNKS_AT_ONCE  # of one document; a longer one is stored in parts
_AHEAD = 4  # files that are read while others are encoded


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
class _Examined:
    """A file that has to be read."""

    source: Source
    content: Content
    earlier: StoredDocument | None
    text: Future[ExtractedText]


@dataclass(frozen=True, slots=True)
class _Added:
    """A new document, stored, whose chunks wait for their vectors."""

    row: StoredDocument
    ids: tuple[int, ...]
    encoded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Changed:
    """A new version that waits for the vectors of the chunks that the old one did not have."""

    document: NewDocument
    vectors: tuple[NDArray[np.float32] | None, ...]  # None where it has to be made
    encoded: tuple[str, ...]  # of those


class Ingest:
    """One run over some files, into one collection.

    Args:
        collection: opened with the embedder's model
        load: reads a file, from several threads at once
        stop: asked between files and between batches; what is in hand then is kept as far as it
            is done
        tags: put on every document that is taken in
    """

    def __init__(
        self,
        catalog: Catalog,
        collection: Collection,
        embedder: "Embedder",
        load: Load,
        *,
        stop: Callable[[], bool] = lambda: False,
        tags: Sequence[str] = (),
    ) -> None:
        self._catalog = catalog
        self._collection = collection
        self._embedder = embedder
        self._load = load
        self._stop = stop
        self._tags = tuple(tags)

    def run(self, sources: Iterable[Source]) -> Iterator[Outcome]:
        """Take files in; each one's outcome, in order. One bad file stops nothing."""
        with ThreadPoolExecutor(_AHEAD, thread_name_prefix="reading") as threads:
            waiting: list[_Item] = []
            pending = 0  # texts to encode in what waits
            for item in self._read(sources, threads):
                if isinstance(item, _Added) and len(item.ids) > _MOST_AT_ONCE:
                    yield from self._finish(waiting)
                    yield from self._finish_long(item)
                    waiting, pending = [], 0
                    continue
                waiting.append(item)
                pending += len(_texts([item]))
                if not 0 < pending < _CHUNKS_AT_ONCE or len(waiting) > _MOST_AT_ONCE:
                    yield from self._finish(waiting)
                    waiting, pending = [], 0
            yield from self._finish(waiting)

    def complete(self) -> Iterator[int]:
        """Make the vectors that are still missing, as after a kill; the chunks of each batch."""
        after = 0
        while not self._stop():
            waiting = self._catalog.waiting(self._collection.name, after, _CHUNKS_AT_ONCE)
            if not waiting:
                return
            texts = [encoded_text(part.title, part.heading, part.text) for part in waiting]
            ids = [part.id for part in waiting]
            self._collection.add_vectors(ids, self._embedder.embed_documents(texts))
            after = ids[-1]
            yield len(ids)

    def _read(self, sources: Iterable[Source], threads: ThreadPoolExecutor) -> "Iterator[_Item]":
        ahead: deque[Outcome | _Examined] = deque()
        for source in sources:
            if self._stop():
                break
            ahead.append(self._examine(source, threads))
            while ahead and (len(ahead) > _AHEAD or isinstance(ahead[0], Outcome)):
                yield self._taken(ahead.popleft())
        while ahead and not self._stop():
            yield self._taken(ahead.popleft())
        for left in ahead:
            if isinstance(left, _Examined):
                left.text.cancel()

    def _examine(self, source: Source, threads: ThreadPoolExecutor) -> Outcome | _Examined:
        try:
            content = Content("", 0, "") if source.file is None else content_of(source.file)
        except OSError as error:
            here = self._collection.known(source.path, "").here
            reason = f"it cannot be opened: {error.strerror or error}"
            return Outcome(source.path, here.id if here else None, "failed", reason=reason)
        if source.refused is not None:
            return self._rejected(source, content, source.refused)
        known = self._collection.known(source.path, content.sha256)
        done = self._done(source, content, known)
        if done is None:
            assert source.file is not None
            return _Examined(source, content, known.here, threads.submit(self._load, source.file))
        source.discard()
        self._tag(done)
        return done

    def _done(self, source: Source, content: Content, known: Known) -> Outcome | None:
        """What became of a file whose content the library has already."""
        here = known.here
        if here and here.sha256 == content.sha256:
            if here.modified != content.modified:
                self._catalog.touch(here.id, content.modified)
            # A file that was refused before is refused again, with its reason.
            return _of(here, "unchanged" if here.status == "indexed" else here.status)
        same = [row for row in known.same if row.status in ("indexed", "duplicate")]
        for row in same:
            if on_disk(row.path) is None:
                moved = self._catalog.rename(row.id, source.path, content.modified)
                reason = f"renamed from {row.path}"
                return Outcome(moved.path, moved.id, "updated", moved.chunks, reason)
        if not same:
            return None
        copy = self._collection.add_duplicate(
            source.path, content.sha256, content.size, content.modified
        )
        return None if copy is None else _of(copy, "duplicate")

    def _taken(self, item: Outcome | _Examined) -> "_Item":
        if isinstance(item, Outcome):
            return item
        source, content = item.source, item.content
        try:
            text = _named(item.text.result(), source)
        except LoadError as error:
            return self._rejected(source, content, error)
        finally:
            source.discard()
        reading = cut(text, source.path, self._embedder)
        document = _document(source, content, text, reading)
        earlier = item.earlier
        if earlier is not None and earlier.status == "indexed":
            return self._changed(document, reading, earlier)
        row = self._collection.add(document, None)
        self._tag(row)
        if row.status == "duplicate":  # another one of this run was stored first
            return _of(row, "duplicate")
        return _Added(row, tuple(self._catalog.chunk_ids(row.id)), reading.encoded)

    def _changed(
        self, document: NewDocument, reading: Reading, earlier: StoredDocument
    ) -> _Changed:
        known = self._catalog.known_vectors(earlier.id)
        keys = [chunk_key(reading.title, part.heading, part.text) for part in reading.chunks]
        vectors = tuple(known.get(key) for key in keys)
        texts = zip(reading.encoded, vectors, strict=True)
        return _Changed(document, vectors, tuple(text for text, have in texts if have is None))

    def _rejected(self, source: Source, content: Content, error: LoadError) -> Outcome:
        name, status, reason = Path(source.path), error.status, str(error)
        rejected = Rejected(
            path=source.path,
            title=name.stem,
            media_type=media_type(name),
            sha256=content.sha256,
            size=content.size,
            status=status,
            reason=reason,
            modified=content.modified or None,
        )
        row = self._collection.reject(rejected)
        return Outcome(source.path, row.id, status, row.chunks, reason)

    def _finish(self, items: "Sequence[_Item]") -> Iterator[Outcome]:
        """Encode what waits, store it and tell; after a stop only what needed no encoder."""
        vectors = self._encoded(_texts(items))
        places = accumulate((len(_texts([item])) for item in items), initial=0)
        parts = list(zip(items, places, strict=False))
        if vectors is not None:
            added = [(item, at) for item, at in parts if isinstance(item, _Added)]
            ids = [key for item, _ in added for key in item.ids]
            rows = [at + i for item, at in added for i in range(len(item.ids))]
            if ids:
                self._collection.add_vectors(ids, vectors[rows])
        for item, at in parts:
            if isinstance(item, Outcome):
                yield item
            elif vectors is not None:
                yield self._finished(item, vectors[at:])

    def _finished(self, item: "_Added | _Changed", made: NDArray[np.float32]) -> Outcome:
        if isinstance(item, _Added):
            return _of(item.row, "added")
        fresh = iter(made)
        vectors = [next(fresh) if row is None else row for row in item.vectors]
        row = self._collection.add(item.document, np.stack(vectors))
        self._tag(row)
        return _of(row, "duplicate" if row.status == "duplicate" else "updated")

    def _finish_long(self, item: _Added) -> Iterator[Outcome]:
        """A document of many chunks keeps the vectors that it has if it is stopped half-way."""
        for start in range(0, len(item.ids), _CHUNKS_AT_ONCE):
            part = slice(start, start + _CHUNKS_AT_ONCE)
            vectors = self._encoded(item.encoded[part])
            if vectors is None:
                return
            self._collection.add_vectors(item.ids[part], vectors)
        yield _of(item.row, "added")

    def _encoded(self, texts: Sequence[str]) -> NDArray[np.float32] | None:
        """None after a stop, unless there is nothing to do."""
        blocks = []
        for start in range(0, len(texts), _CHUNKS_AT_ONCE):
            if self._stop():
                return None
            blocks.append(self._embedder.embed_documents(texts[start : start + _CHUNKS_AT_ONCE]))
        return np.concatenate(blocks) if blocks else np.empty((0, 0), np.float32)

    def _tag(self, row: StoredDocument | Outcome) -> None:
        if self._tags and row.id is not None:
            self._catalog.tag(row.id, add=self._tags)


_Item = Outcome | _Added | _Changed


def _texts(items: Sequence[_Item]) -> list[str]:
    return [text for item in items if not isinstance(item, Outcome) for text in item.encoded]


def _named(text: ExtractedText, source: Source) -> ExtractedText:
    """A text without a title is called after its catalogued name, whatever its file is called."""
    stem = shown_name(source.file.stem) if source.file else ""
    return replace(text, title=Path(source.path).stem) if text.title == stem else text


def _document(
    source: Source, content: Content, text: ExtractedText, reading: Reading
) -> NewDocument:
    return NewDocument(
        path=source.path,
        title=text.title,
        media_type=text.media_type,
        sha256=content.sha256,
        size=content.size,
        text=text.text,
        chunks=reading.chunks,
        warnings=text.warnings,
        modified=content.modified,
        layout=layout(text),
    )


def _of(row: StoredDocument, status: Status) -> Outcome:
    return Outcome(row.path, row.id, status, row.chunks, row.reason, row.warnings)
