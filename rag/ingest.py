"""What becomes of files on their way into a collection, whichever engine reads and encodes them.

An engine asks `Intake` of each file whether it has to be read at all, has it read, cut and encoded,
and hands back what came of that: every transaction of a run is made here. A new document is stored
with its text at once, so that its words are found while its vectors are still being made. A changed
one replaces its earlier version when its vectors are ready.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from index import Catalog, Collection, NewDocument, Rejected, StoredDocument
from index.chunk_rows import chunk_key
from index.records import Known
from rag.loaders import LoadError, media_type
from rag.reading import Reading, layout
from rag.records import ExtractedText
from rag.sources import Content, Source, content_of, on_disk

Status = Literal[
    "added", "updated", "unchanged", "duplicate", "empty", "unsupported", "failed", "removed"
]


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
class Examined:
    """A file that has to be read."""

    source: Source
    content: Content
    earlier: StoredDocument | None


@dataclass(frozen=True, slots=True)
class Added:
    """A new document, stored, whose chunks wait for their vectors."""

    row: StoredDocument
    ids: tuple[int, ...]
    encoded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Changed:
    """A new version that waits for the vectors of the chunks that the old one did not have."""

    document: NewDocument
    vectors: tuple[NDArray[np.float32] | None, ...]  # None where it has to be made
    encoded: tuple[str, ...]  # of those


class Intake:
    """One run over some files, into one collection.

    Args:
        collection: opened with the embedder's model
        tags: put on every document that is taken in
    """

    def __init__(
        self, catalog: Catalog, collection: Collection, *, tags: Sequence[str] = ()
    ) -> None:
        self.catalog = catalog
        self.collection = collection
        self._tags = tuple(tags)

    def examine(self, source: Source) -> Outcome | Examined:
        """What became of a file that need not be read, or that it has to be."""
        if source.as_before or source.missing is not None:
            return self._not_opened(source)
        try:
            content = Content("", 0, "") if source.file is None else content_of(source.file)
        except OSError as error:
            reason = f"it cannot be opened: {error.strerror or error}"
            return self._not_opened(replace(source, missing=reason))
        if source.refused is not None:
            return self._rejected(source, content, source.refused)
        known = self.collection.known(source.path, content.sha256)
        done = self._done(source, content, known)
        if done is None:
            return Examined(source, content, known.here)
        source.discard()
        self._tag(done)
        return done

    def refuse(self, examined: Examined, error: LoadError) -> Outcome:
        """Keep why a file could not be read."""
        return self._rejected(examined.source, examined.content, error)

    def take(
        self, examined: Examined, text: ExtractedText, reading: Reading
    ) -> Outcome | Added | Changed:
        """Store what was read of a file, as far as that can be before its vectors are made."""
        document = _document(examined, text, reading)
        earlier = examined.earlier
        if earlier is not None and earlier.status == "indexed":
            return self._changed(document, reading, earlier)
        row = self.collection.add(document, None)
        self._tag(row)
        if row.status == "duplicate":  # another one of this run was stored first
            return _of(row, "duplicate")
        return Added(row, tuple(self.catalog.chunk_ids(row.id)), reading.encoded)

    def finish(self, item: Added | Changed, made: NDArray[np.float32]) -> Outcome:
        """The outcome of a document whose vectors are there.

        Args:
            made: of a changed one, (n, d) with a row for each of `item.encoded`, and any behind;
                those of an added one are stored already
        """
        if isinstance(item, Added):
            return _of(item.row, "added")
        fresh = iter(made)
        vectors = [next(fresh) if row is None else row for row in item.vectors]
        row = self.collection.add(item.document, np.stack(vectors))
        self._tag(row)
        return _of(row, "duplicate" if row.status == "duplicate" else "updated")

    def _changed(self, document: NewDocument, reading: Reading, earlier: StoredDocument) -> Changed:
        known = self.catalog.known_vectors(earlier.id)
        keys = [chunk_key(reading.title, part.heading, part.text) for part in reading.chunks]
        vectors = tuple(known.get(key) for key in keys)
        texts = zip(reading.encoded, vectors, strict=True)
        return Changed(document, vectors, tuple(text for text, have in texts if have is None))

    def _not_opened(self, source: Source) -> Outcome:
        """What is in the library stays as it is."""
        here = self.collection.known(source.path, "").here
        if source.missing is not None or here is None:
            reason = source.missing or "it was removed meanwhile: run the command again"
            return Outcome(source.path, here.id if here else None, "failed", reason=reason)
        done = _of(here, "unchanged" if here.status == "indexed" else here.status)
        self._tag(done)
        return done

    def _done(self, source: Source, content: Content, known: Known) -> Outcome | None:
        """What became of a file whose content the library has already."""
        here = known.here
        if here and here.sha256 == content.sha256:
            if here.modified != content.modified:
                self.catalog.touch(here.id, content.modified)
            # A file that was refused before is refused again, with its reason.
            return _of(here, "unchanged" if here.status == "indexed" else here.status)
        same = [row for row in known.same if row.status in ("indexed", "duplicate")]
        for row in same:
            if on_disk(row.path) is None:
                moved = self.catalog.rename(row.id, source.path, content.modified)
                reason = f"renamed from {row.path}"
                return Outcome(moved.path, moved.id, "updated", moved.chunks, reason)
        if not same:
            return None
        copy = self.collection.add_duplicate(
            source.path, content.sha256, content.size, content.modified
        )
        return None if copy is None else _of(copy, "duplicate")

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
        row = self.collection.reject(rejected)
        return Outcome(source.path, row.id, status, row.chunks, reason)

    def _tag(self, row: StoredDocument | Outcome) -> None:
        if self._tags and row.id is not None:
            self.catalog.tag(row.id, add=self._tags)


def _document(examined: Examined, text: ExtractedText, reading: Reading) -> NewDocument:
    return NewDocument(
        path=examined.source.path,
        title=text.title,
        media_type=text.media_type,
        sha256=examined.content.sha256,
        size=examined.content.size,
        text=text.text,
        chunks=reading.chunks,
        warnings=text.warnings,
        modified=examined.content.modified,
        layout=layout(text),
    )


def _of(row: StoredDocument, status: Status) -> Outcome:
    return Outcome(row.path, row.id, status, row.chunks, row.reason, row.warnings)
