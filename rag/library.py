"""The documents of a home: taking them in, keeping them right, and letting them go."""

import copy
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from index import Catalog, Collection, Model, StoredDocument
from index.errors import UnknownDocument
from index.tidy import tidy
from rag import uploads
from rag.encoders import Encoders
from rag.errors import NotFound, UsageError
from rag.ingest import Intake, Outcome
from rag.loaded import LoadedModels
from rag.loaders.cleaning import clean, is_blank
from rag.local_run import LocalRun
from rag.readers import Readers
from rag.records import ExtractedText, LibraryStatus
from rag.settings import Settings
from rag.sources import Source, files, on_disk, sources, stored_path
from rag.stores import Store, StoredObject

if TYPE_CHECKING:
    from rag.ray_cluster import Cluster
    from rag.ray_worker import Needed

Stop = Callable[[], bool]


def never() -> bool:
    return False


class Library:
    """What a home holds. Safe to share between threads.

    Methods take the name of a collection; None is the one of the settings. Documents are named
    by id, path or file name.
    """

    def __init__(self, settings: Settings, catalog: Catalog) -> None:
        self.settings = settings
        self.models = LoadedModels(settings)
        self.catalog = catalog
        self.encoders = Encoders(settings, catalog, self.models)
        self._collections: dict[str, Collection] = {}
        self._readers = Readers()
        self._lock = threading.Lock()

    @classmethod
    def open(cls, settings: Settings | None = None) -> Self:
        """Open a home, or make it. Models load when they are first needed."""
        settings = settings or Settings()
        catalog = Catalog(settings.home, settings.database_url, settings.milvus)
        tidy(catalog)
        return cls(settings, catalog)

    def at(self, collection: str) -> Self:
        """The same library, which looks into another collection where none is named.

        It shares models, indexes and everything else with this one, which has to stay open.
        """
        if collection == self.settings.collection:
            return self
        other = copy.copy(self)
        other.settings = self.settings.model_copy(update={"collection": collection})
        return other

    def close(self) -> None:
        self._readers.close()
        self.catalog.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def add(
        self, *paths: str | Path, collection: str | None = None, tags: Sequence[str] = ()
    ) -> list[Outcome]:
        """Add files and folders: each file's outcome, in order.

        Raises:
            NotFound: a path does not exist; nothing was added.
        """
        return list(self.ingest(self.existing(paths), collection, tags=tags))

    def existing(self, paths: Iterable[str | Path]) -> list[Path]:
        """The paths, all of which are there.

        Raises:
            NotFound: a path does not exist.
        """
        given = [Path(path).expanduser() for path in paths]
        if missing := [str(path) for path in given if not path.exists()]:
            raise NotFound(f"{', '.join(missing)}: no such file or folder")
        return given

    def count_files(self, paths: Sequence[Path]) -> int:
        """How many files `ingest` would look at; an archive counts as one."""
        return sum(1 for _ in files(paths, self.settings.home, ocr=self.settings.ocr))

    def ingest(
        self,
        paths: Sequence[Path],
        collection: str | None = None,
        *,
        tags: Sequence[str] = (),
        stop: Stop = never,
        catch_up: bool = True,
        cluster: "Cluster | None" = None,
    ) -> Iterator[Outcome]:
        """Add files and folders; each file's outcome as soon as it is stored.

        What an earlier run left without vectors is completed at the end.

        Args:
            paths: files and folders
            collection: where to
            tags: put on every document
            stop: asked between documents; what was done until then is kept
            catch_up: have the indexes take it in at the end, which the next search would have to do
            cluster: reads and encodes; None: this process does

        Raises:
            EngineError: the cluster cannot do its part, and nothing was added; or it broke off.
        """
        yield from self._ingest(
            lambda scratch: self._sources(paths, scratch),
            collection,
            tags=tags,
            stop=stop,
            catch_up=catch_up,
            cluster=cluster,
        )

    def sync(
        self,
        folder: str | Path | Store,
        collection: str | None = None,
        *,
        only: Sequence[Path] | None = None,
        prune: bool = False,
        tags: Sequence[str] = (),
        stop: Stop = never,
        cluster: "Cluster | None" = None,
    ) -> Iterator[Outcome]:
        """Bring the library to what a folder holds: as `ingest`, then what is gone.

        Args:
            folder: its files are added, updated or left; one that was renamed is cited by its
                new name, and is not read again. Of a store, an object of the size and time that
                it had is not fetched again
            collection: where to
            only: the files that may have changed, where that is known
            prune: remove the documents whose files are gone
            tags: put on every document
            stop: asked between documents
            cluster: as for `ingest`

        Raises:
            NotFound: there is no such folder; nothing was removed.
            EngineError: as `ingest`.
        """
        if isinstance(folder, Store):
            yield from self._ingest(
                lambda scratch: self._objects(folder, scratch, collection),
                collection,
                tags=tags,
                stop=stop,
                cluster=cluster,
            )
        else:
            (root,) = self.existing([folder])
            changed = [root] if only is None else only
            yield from self.ingest(changed, collection, tags=tags, stop=stop, cluster=cluster)
        for key, _ in self.gone(folder, collection) if prune else ():
            if stop():
                return
            with suppress(UnknownDocument):  # removed by somebody else
                yield self._removed(self.catalog.document(key))

    def gone(
        self, folder: str | Path | Store, collection: str | None = None
    ) -> list[tuple[int, str]]:
        """Ids and paths of the documents of a folder whose files are not there any more."""
        name = collection or self.settings.collection
        if not self.exists(name):
            return []
        if isinstance(folder, Store):
            under = self.catalog.paths_under(name, folder.url)
            return [(key, path) for key, path in under if not folder.holds(path)]
        under = self.catalog.paths_under(name, stored_path(Path(folder)))
        return [(key, path) for key, path in under if on_disk(path) is None]

    def upload(
        self,
        name: str,
        content: bytes,
        collection: str | None = None,
        *,
        tags: Sequence[str] = (),
    ) -> list[Outcome]:
        """Keep a file that was handed over rather than named, and add it.

        Returns:
            its outcome; of an archive those of its members
        """
        file = self.keep_upload(name, content)
        return list(self.ingest_uploads([file], collection, tags=tags))

    def keep_upload(self, name: str, content: bytes) -> Path:
        """Keep a file that was handed over; `ingest_uploads` adds it.

        Raises:
            UsageError: the name is none for a file.
        """
        return uploads.keep(self.settings.home, name, content)

    def ingest_uploads(
        self,
        files: Sequence[Path],
        collection: str | None = None,
        *,
        tags: Sequence[str] = (),
        stop: Stop = never,
        catch_up: bool = True,
    ) -> Iterator[Outcome]:
        """As `ingest`, and lets go of kept files that nothing could be read from."""
        try:
            yield from self.ingest(files, collection, tags=tags, stop=stop, catch_up=catch_up)
        finally:
            self.let_go(files)

    def let_go(self, files: Sequence[Path]) -> None:
        """Delete kept files that no document is read from."""
        for file in files:
            self._discard_upload(stored_path(file))

    def complete(self, collection: str | None = None, *, stop: Stop = never) -> Iterator[int]:
        """Make the vectors that are still missing; the number of chunks of each batch."""
        name = collection or self.settings.collection
        if self.exists(name) and self.catalog.waiting(name, limit=1):
            _, run = self._run(name, (), stop)
            yield from run.complete()

    def documents(self, collection: str | None = None) -> list[StoredDocument]:
        """Every file that the collection knows, by path; none if there is no such collection."""
        name = collection or self.settings.collection
        if collection is None and not self.exists(name):
            return []
        return self.catalog.documents(name)

    def find(self, document: str | int, collection: str | None = None) -> StoredDocument:
        """One document, by id, path or file name.

        Raises:
            UnknownDocument, AmbiguousDocument: none or several have that name.
        """
        return self.catalog.find(collection or self.settings.collection, str(document))

    def text(self, document: str | int, collection: str | None = None) -> str:
        """The text of a document, as its chunks and citations count it."""
        return self.catalog.text(self.find(document, collection).id)

    def tag(
        self,
        documents: Sequence[str | int],
        *,
        add: Sequence[str] = (),
        remove: Sequence[str] = (),
        collection: str | None = None,
    ) -> list[StoredDocument]:
        """Put tags on documents and take others off.

        Raises:
            UnknownDocument, AmbiguousDocument: none or several have a name that was given.
            UsageError: a tag that cannot be.
        """
        found = [self.find(document, collection) for document in documents]
        added = [tag_name(name) for name in add]
        return [
            self.catalog.tag(row.id, added, [tag_name(name) for name in remove]) for row in found
        ]

    def remove(
        self, documents: Sequence[str | int], collection: str | None = None
    ) -> list[Outcome]:
        """Remove documents with everything that was made of them; all of them exist, or none goes.

        Raises:
            UnknownDocument, AmbiguousDocument: none or several have a name that was given.
        """
        found = [self.find(document, collection) for document in documents]
        outcomes = []
        for row in found:
            with suppress(UnknownDocument):  # named twice
                outcomes.append(self._removed(row))
        return outcomes

    def status(self, collection: str | None = None) -> LibraryStatus:
        """What the home holds, and which models it works with."""
        name = collection or self.settings.collection
        where = str(self.catalog.database)
        if not self.exists(name):
            return LibraryStatus(
                home=str(self.settings.home),
                database=where,
                collection=name,
                encoder=self.settings.encoder,
                remember_questions=self.settings.remember_questions,
            )
        counts, found = self.catalog.counts(name), self.catalog.collection(name)
        adapter = next((each for each in self.catalog.adapters(name) if each.active), None)
        return LibraryStatus(
            home=str(self.settings.home),
            database=where,
            collection=name,
            encoder=found.model.name,
            fingerprint=found.model.fingerprint,
            documents={status: n for status, n in counts.documents.items() if n},
            chunks=counts.chunks,
            vectors=counts.vectors,
            pending=counts.chunks - counts.vectors,
            former=counts.former,
            size_bytes=counts.size,
            fusion_weight=found.fusion_weight,
            wanted_encoder=self.settings.encoder,
            remember_questions=self.settings.remember_questions,
            questions=self.catalog.count_asked(name),
            adapter_fingerprint=adapter.fingerprint if adapter else None,
            adapter_made=adapter.made_at if adapter else None,
            rerank_weight=found.rerank_weight,
        )

    def set_fusion_weight(self, weight: float, collection: str | None = None) -> None:
        """Set how much meaning counts beside words in a collection: 0 is words alone, 1 meaning.

        Raises:
            UsageError: it lies outside 0..1.
            UnknownCollection: there is none of that name.
        """
        if not 0 <= weight <= 1:
            raise UsageError(f"weight ({weight:g}) must lie between 0 (words) and 1 (meaning)")
        self.catalog.set_fusion_weight(collection or self.settings.collection, weight)

    def exists(self, name: str) -> bool:
        return any(found.name == name for found in self.catalog.collections())

    def opened(self, name: str) -> Collection:
        """A collection to look into.

        Raises:
            UnknownCollection: there is none of that name.
        """
        with self._lock:
            if name not in self._collections:
                threads = self.settings.threads or 2
                self._collections[name] = Collection.open(self.catalog, name, threads=threads)
            return self._collections[name]

    def load(self, file: Path) -> ExtractedText:
        """Read a file, in a process of its own.

        Raises:
            LoadError: it cannot be read; the message is the reason.
        """
        return self._readers.load(file, ocr=self.settings.ocr)

    def _ingest(
        self,
        sources: Callable[[Path], Iterator[Source]],
        collection: str | None,
        *,
        tags: Sequence[str],
        stop: Stop,
        catch_up: bool = True,
        cluster: "Cluster | None",
    ) -> Iterator[Outcome]:
        """Args: as of `ingest`; `sources` takes a folder for what is unpacked and fetched."""
        name = collection or self.settings.collection
        intake, run = self._run(name, tags, stop)
        with tempfile.TemporaryDirectory(prefix="attest-") as scratch:
            found = sources(Path(scratch))
            if cluster is None:
                yield from run.run(found)
            else:
                yield from cluster.run(intake, self._needed(name), found, stop=stop)
        if not self.exists(name):  # nothing was there to be added, now or before
            return
        for _ in run.complete():
            pass
        if catch_up and not stop():
            self.opened(name).catch_up()

    def _objects(self, store: Store, scratch: Path, collection: str | None) -> Iterator[Source]:
        name = collection or self.settings.collection

        def same(each: StoredObject, modified: str) -> bool:
            if not self.exists(name):
                return False
            here = self.catalog.known(name, each.url, "").here
            return here is not None and (here.size, here.modified) == (each.size, modified)

        return store.sources(scratch, same, ocr=self.settings.ocr)

    def _sources(self, paths: Sequence[Path], scratch: Path) -> Iterator[Source]:
        return sources(paths, self.settings.home, scratch, ocr=self.settings.ocr)

    def _run(self, name: str, tags: Sequence[str], stop: Stop) -> tuple[Intake, LocalRun]:
        embedder = self.encoders.of(name)
        model = Model(self.encoders.name(name), embedder.fingerprint, embedder.dimensions)
        collection = Collection.open(self.catalog, name, model)
        collection.check()
        named = [tag_name(tag) for tag in tags]
        intake = Intake(self.catalog, collection, tags=named)
        return intake, LocalRun(intake, embedder, self.load, stop=stop)

    def _needed(self, name: str) -> "Needed":
        from rag.ray_worker import Needed, own_version

        return Needed(
            version=own_version(),
            model=self.encoders.name(name),
            fingerprint=self.encoders.of(name).fingerprint,
            models_dir=str(self.settings.models_dir),
            ocr=self.settings.ocr,
        )

    def _removed(self, row: StoredDocument) -> Outcome:
        self.catalog.remove(row.id)
        self._discard_upload(row.path)
        return Outcome(row.path, row.id, "removed", row.chunks)

    def _discard_upload(self, path: str) -> None:
        """Deletes a kept upload that no document is read from."""
        file = uploads.kept(self.settings.home, path)
        if file is not None and not self.catalog.reads_from(stored_path(file)):
            uploads.discard(file)


def tag_name(name: str) -> str:
    """A tag as it is stored: one line, NFC, without the # that some people write.

    Raises:
        UsageError: nothing is left of it, or it is longer than 100 characters.
    """
    tag = " ".join(clean(name)[0].strip().removeprefix("#").split())
    if is_blank(tag) or len(tag) > 100:
        raise UsageError(f"{name!r} is no tag: write 1 to 100 characters")
    return tag
