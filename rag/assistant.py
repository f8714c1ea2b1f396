"""The composition root: settings in, the whole product out."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from index import Catalog, Collection, Model, StoredDocument
from index.analysis import is_korean
from index.errors import UnknownCollection, UnknownDocument
from rag import uploads
from rag.answer import Speakers, answer
from rag.errors import NotFound, TooLong, UsageError
from rag.ingest import Outcome, ingest
from rag.loaded import LoadedModels, speaks
from rag.loaders import walk
from rag.records import Answer, AnswerMode, LibraryStatus, Mode, Report, SearchResult
from rag.retrieve import retrieve
from rag.settings import Settings

if TYPE_CHECKING:
    from encoder import Embedder
    from generator import Sampling

PASSAGES = 6  # hits that an answer is looked for in
_LONGEST_QUESTION = 20_000  # characters, where no encoder sets a limit in tokens


class Assistant:
    """Everything that the product does, over one home. Safe to share between threads.

    Methods take the name of a collection; None is the one of the settings. Documents are named
    by id, path or file name.
    """

    def __init__(self, settings: Settings, catalog: Catalog) -> None:
        self.settings = settings
        self.models = LoadedModels(settings)
        self._catalog = catalog
        self._collections: dict[str, Collection] = {}
        self._lock = threading.Lock()

    @classmethod
    def open(cls, settings: Settings | None = None) -> Self:
        """Open a home, or make it. Models load when they are first needed."""
        settings = settings or Settings()
        return cls(settings, Catalog(settings.home))

    def close(self) -> None:
        self._catalog.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def add(self, *paths: str | Path, collection: str | None = None) -> list[Outcome]:
        """Add files and folders: each file's outcome, in order.

        Raises:
            NotFound: a path does not exist; nothing was added.
        """
        return list(self.ingest(self.files(paths), collection))

    def files(self, paths: Iterable[str | Path]) -> list[Path]:
        """The files that `add` would read: those named, and those found in folders.

        Raises:
            NotFound: a path does not exist.
        """
        given = [Path(path).expanduser() for path in paths]
        if missing := [str(path) for path in given if not path.exists()]:
            raise NotFound(f"{', '.join(missing)}: no such file or folder")
        return list(walk(given))

    def ingest(self, files: Iterable[Path], collection: str | None = None) -> Iterator[Outcome]:
        """Add files; each one's outcome as soon as it is stored."""
        name = collection or self.settings.collection
        embedder = self._embedder(name)
        return ingest(files, collection=self._open(name, create=True), embedder=embedder)

    def upload(self, name: str, content: bytes, collection: str | None = None) -> Outcome:
        """Keep a file that was handed over rather than named, and add it."""
        file = uploads.keep(self.settings.home, name, content)
        return next(self.ingest([file], collection))

    def documents(self, collection: str | None = None) -> list[StoredDocument]:
        """Every file that the collection knows, by path; none if there is no such collection."""
        name = collection or self.settings.collection
        if collection is None and not self._exists(name):
            return []
        return self._catalog.documents(name)

    def find(self, document: str | int, collection: str | None = None) -> StoredDocument:
        """One document, by id, path or file name.

        Raises:
            UnknownDocument, AmbiguousDocument: none or several have that name.
        """
        return self._catalog.find(collection or self.settings.collection, str(document))

    def text(self, document: str | int, collection: str | None = None) -> str:
        """The text of a document, as its chunks and citations count it."""
        return self._catalog.text(self.find(document, collection).id)

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
                self._catalog.remove(row.id)
                uploads.discard(self.settings.home, row.path)
                outcomes.append(Outcome(row.path, row.id, "removed", row.chunks))
        return outcomes

    def status(self, collection: str | None = None) -> LibraryStatus:
        """What the home holds, and which models it works with."""
        name = collection or self.settings.collection
        if not self._exists(name):
            return LibraryStatus(
                str(self.settings.home), name, self.settings.encoder, None, {}, 0, 0, 0
            )
        counts, model = self._catalog.counts(name), self._catalog.collection(name).model
        return LibraryStatus(
            home=str(self.settings.home),
            collection=name,
            encoder=model.name,
            fingerprint=model.fingerprint,
            documents={status: n for status, n in counts.documents.items() if n},
            chunks=counts.chunks,
            vectors=counts.vectors,
            size_bytes=counts.size,
        )

    def search(
        self,
        query: str,
        *,
        k: int = 5,
        mode: Mode = "hybrid",
        documents: Sequence[str | int] = (),
        collection: str | None = None,
    ) -> SearchResult:
        """The k best chunks.

        Args:
            query: any text but blank
            k: how many hits at most
            mode: meaning and words, or one of them; a question in a language that the encoder
                does not speak is always answered by words
            documents: stay within these; none named is all of them
            collection: where to look

        Raises:
            UsageError: a blank query, or k below 1.
            TooLong: more tokens than the encoder takes.
            UnknownCollection, UnknownDocument: no such name.
        """
        if not query.strip():
            raise UsageError("the question is empty: write what you are looking for")
        if k < 1:
            raise UsageError(f"k ({k}) must be at least 1")
        name = collection or self.settings.collection
        opened = self._open(name)
        embedder = self._embedder(name) if mode != "lexical" else None
        if embedder is None or not self._encoder_speaks(name, query):
            embedder = None
        _check_length(query, embedder)
        within = [self.find(document, name).id for document in documents] or None
        weight = self._catalog.collection(name).fusion_weight
        return retrieve(
            query,
            collection=opened,
            embedder=embedder,
            k=k,
            mode=mode,
            weight=weight,
            documents=within,
        )

    def stream(
        self,
        question: str,
        *,
        mode: AnswerMode = "auto",
        documents: Sequence[str | int] = (),
        collection: str | None = None,
        sampling: "Sampling | None" = None,
        seed: int = 0,
    ) -> Iterator[str | Answer]:
        """The answer's text piece by piece, then the whole `Answer`; raises as `search` does.

        A piece is empty where there is nothing to show yet: closing the iterator there stops the
        generator within a step.

        Args:
            question: any text but blank
            mode: quote, let the generator write, or (auto) quote and add what is borne out
            documents: stay within these; none named is all of them
            collection: where to look
            sampling: how the generator writes; None is greedy and short
            seed: for sampling with chance
        """
        found = self.search(question, k=PASSAGES, documents=documents, collection=collection)
        speakers = self._speakers(question, mode, collection or self.settings.collection)
        return answer(question, found, speakers=speakers, mode=mode, sampling=sampling, seed=seed)

    def ask(
        self,
        question: str,
        *,
        mode: AnswerMode = "auto",
        documents: Sequence[str | int] = (),
        collection: str | None = None,
        sampling: "Sampling | None" = None,
        seed: int = 0,
    ) -> Answer:
        """The whole answer; the arguments and errors are those of `stream`."""
        *_, last = self.stream(
            question,
            mode=mode,
            documents=documents,
            collection=collection,
            sampling=sampling,
            seed=seed,
        )
        assert isinstance(last, Answer)
        return last

    def similar(
        self, document: str | int | Path, *, k: int = 5, collection: str | None = None
    ) -> SearchResult:
        """The documents nearest to one of the library, or to a file that is only read.

        Returns:
            one hit a document: its chunk that matches best

        Raises:
            UnknownDocument: neither the library nor the disk knows the name.
            Unreadable: the file cannot be read.
        """
        from rag.similar import similar_documents

        if k < 1:
            raise UsageError(f"k ({k}) must be at least 1")
        name = collection or self.settings.collection
        opened, embedder = self._open(name), self._embedder(name)
        try:
            row: StoredDocument | None = self.find(str(document), name)
        except UnknownDocument:
            if not Path(document if isinstance(document, Path) else str(document)).is_file():
                raise
            row = None
        return similar_documents(row or Path(str(document)), opened, embedder, k)

    def report(
        self,
        output: str | Path | None = None,
        *,
        clusters: int | None = None,
        collection: str | None = None,
    ) -> Report:
        """Group the library's documents, and write one HTML page if `output` names a file."""
        from rag.report import build_report

        if clusters is not None and clusters < 1:
            raise UsageError(f"clusters ({clusters}) must be at least 1")
        name = collection or self.settings.collection
        opened = self._open(name) if self._exists(name) else None
        return build_report(
            opened, clusters=clusters, output=None if output is None else Path(output)
        )

    def warm(self) -> None:
        """Load what a first question would wait for."""
        name = self.settings.collection
        embedder = self._embedder(name)
        embedder.embed_queries(["warm up"])
        with suppress(NotFound):
            self.models.writer()

    def _exists(self, name: str) -> bool:
        return any(found.name == name for found in self._catalog.collections())

    def _open(self, name: str, *, create: bool = False) -> Collection:
        with self._lock:
            if name not in self._collections:
                model = self._model(name) if create else None
                self._collections[name] = Collection.open(self._catalog, name, model=model)
            return self._collections[name]

    def _model(self, name: str) -> Model:
        embedder = self._embedder(name)
        return Model(self._encoder_name(name), embedder.fingerprint, embedder.dimensions)

    def _encoder_name(self, collection: str) -> str:
        """The encoder that a collection was made with; a new one takes that of the settings."""
        try:
            return self._catalog.collection(collection).model.name
        except UnknownCollection:
            return self.settings.encoder

    def _embedder(self, collection: str) -> "Embedder":
        return self.models.embedder(self._encoder_name(collection))

    def _encoder_speaks(self, collection: str, text: str) -> bool:
        return speaks(self._encoder_name(collection), "ko" if is_korean(text) else "en")

    def _speakers(self, question: str, mode: AnswerMode, collection: str) -> Speakers:
        encoder = self._encoder_name(collection)
        names = {"encoder": encoder}
        writes = mode != "extract" and speaks(
            self.settings.generator, "ko" if is_korean(question) else "en"
        )
        if writes:
            names["generator"] = self.settings.generator
        return Speakers(
            embedder=self._embedder(collection)
            if self._encoder_speaks(collection, question)
            else None,
            writer=self.models.writer() if writes else None,
            names=names,
        )


def _check_length(query: str, embedder: "Embedder | None") -> None:
    if len(query) > _LONGEST_QUESTION:
        raise TooLong(
            f"the question has {len(query)} characters, {_LONGEST_QUESTION} are taken: shorten it"
        )
    if embedder is None:
        return
    tokens = embedder.count_query(query)
    if tokens > embedder.max_tokens:
        raise TooLong(
            f"the question has {tokens} tokens, the encoder takes {embedder.max_tokens}: shorten it"
        )
