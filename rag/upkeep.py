"""Keeping a home right: verify, rebuild, export, import, reset."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from index.archive import export, import_archive
from index.repair import repair
from index.verify import Problem, Verification, verify
from rag import uploads
from rag.errors import UsageError
from rag.reembed import only_mover
from rag.sources import stored_path
from rag.work import forget

if TYPE_CHECKING:
    from rag.library import Library

_NAMED = 5  # examples in a problem


@dataclass(frozen=True, slots=True)
class Archived:
    """What went into an archive, or came out of one."""

    file: str
    collections: tuple[str, ...]
    documents: int
    chunks: int
    size_bytes: int
    questions: int = 0  # that came along
    conversations: int = 0  # likewise


def check(library: "Library") -> Verification:
    """Count everything against everything, in every collection and among the kept uploads."""
    found = verify(library.catalog)
    stray = _stray_uploads(library)
    if not stray:
        return found
    names = ", ".join(file.name for file in stray[:_NAMED])
    problem = Problem("files", None, f"uploads that no document is read from: {names}", len(stray))
    return Verification(found.collections, (*found.problems, problem))


def rebuild(library: "Library") -> Iterator[int]:
    """Repair what `check` complains of, and make every index and every missing vector anew.

    Returns:
        the number of chunks of each batch that got its vectors
    """
    for file in _stray_uploads(library):
        uploads.discard(file)
    for collection in library.catalog.collections():
        with suppress(UsageError), only_mover(library, collection.name):
            library.catalog.clear_former(collection.name)
    repair(library.catalog)
    for collection in library.catalog.collections():
        yield from library.complete(collection.name)
        library.opened(collection.name).catch_up()


def write_archive(
    library: "Library", file: Path, collection: str | None, *, history: bool = False
) -> Archived:
    """Write the home, or one collection of it, into one file; questions only where asked for."""
    names = None if collection is None else [collection]
    kept = uploads.all_kept(library.settings.home)
    read = [upload for upload in kept if _is_read(library, upload)]
    export(library.catalog, file, names, read, history=history)
    written = names or [found.name for found in library.catalog.collections()]
    return _archived(library, file, written, history=history)


def read_archive(library: "Library", file: Path) -> Archived:
    """Take in the collections of an archive; none of them may be there already."""
    library.catalog.engine.check(None)
    return _archived(library, file, import_archive(library.catalog, file), history=True)


def reset(library: "Library") -> int:
    """Remove every collection, document, index and upload of a home; how many documents it were."""
    names = [found.name for found in library.catalog.collections()]
    documents = sum(len(library.catalog.documents(name)) for name in names)
    library.catalog.clear()
    forget(library)
    for file in uploads.all_kept(library.settings.home):
        uploads.discard(file)
    return documents


def _stray_uploads(library: "Library") -> list[Path]:
    kept = uploads.all_kept(library.settings.home)
    return [file for file in kept if not _is_read(library, file)]


def _is_read(library: "Library", upload: Path) -> bool:
    return library.catalog.reads_from(stored_path(upload))


def _archived(library: "Library", file: Path, names: list[str], *, history: bool) -> Archived:
    from index.conversations import Conversations

    counts = [library.catalog.counts(name) for name in names]
    talks = Conversations(library.catalog.database)
    return Archived(
        file=str(file),
        collections=tuple(names),
        documents=sum(sum(each.documents.values()) for each in counts),
        chunks=sum(each.chunks for each in counts),
        size_bytes=file.stat().st_size,
        questions=sum(map(library.catalog.count_asked, names)) if history else 0,
        conversations=sum(map(talks.count, names)) if history else 0,
    )
