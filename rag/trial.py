"""Questions put to a library side by side: by words, by meaning, by both, and as it has learned."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from index import Candidates, Catalog, Collection, Model, NewDocument, StoredChunk
from index.analysis import is_korean
from index.records import StoredText
from rag.judged import JudgedDocument
from rag.loaded import speaks
from rag.metrics import DEPTH
from rag.reading import Reading, cut, cut_again
from rag.records import ExtractedText, Hit
from rag.repeats import Gist, gist_of, repeats
from rag.retrieve import CANDIDATES, fuse
from rag.vector_cache import Watch, embedded, precision, unwatched

if TYPE_CHECKING:
    from encoder import Embedder

Side = Literal["lexical", "dense", "fused", "adapted"]

_NAME = "judged"  # of the collection in a library made for the purpose
_CHUNKS_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class Trial:
    """A collection, and what it is asked by."""

    encoder: str  # name or folder
    embedder: "Embedder"
    catalog: Catalog
    collection: Collection
    weight: float  # of the dense side in the fused score

    def speaks(self, query: str) -> bool:
        """Whether the encoder is meant for the language of a question."""
        return speaks(self.encoder, "ko" if is_korean(query) else "en")


@dataclass(frozen=True, slots=True)
class Found:
    """What one question found, best first."""

    documents: tuple[str, ...]  # paths; a document ranks by its best chunk
    passages: tuple[str, ...]  # chunk ids


@dataclass(frozen=True, slots=True)
class _Cut:
    document: NewDocument
    encoded: tuple[str, ...]


@contextmanager
def library_of(
    documents: Iterable[JudgedDocument | StoredText],
    embedder: "Embedder",
    encoder: str,
    *,
    cache: Path | None,
    watch: Watch = unwatched,
) -> Iterator[Trial]:
    """A library of these documents alone, made as adding a file makes it.

    Args:
        documents: those without a text are left out
        embedder: makes the vectors
        encoder: its name or folder
        cache: a folder that keeps the library and its vectors; None: it is gone afterwards
        watch: called as texts are encoded
    """
    parts = [made for document in documents if (made := _cut(document, embedder)).encoded]
    model = Model(encoder, embedder.fingerprint, embedder.dimensions)

    def fill(home: Path) -> None:
        texts = [text for part in parts for text in part.encoded]
        _fill(home, parts, embedded(texts, embedder, cache, watch=watch), model)

    with ExitStack() as stack:
        if cache is None:
            home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="attest-")))
            fill(home)
        else:
            home = _kept(cache / "libraries", _key(parts, model, embedder), fill)
        catalog = stack.enter_context(Catalog(home))
        collection = Collection.open(catalog, _NAME)
        yield Trial(encoder, embedder, catalog, collection, catalog.collection(_NAME).fusion_weight)


def _fill(home: Path, parts: Sequence[_Cut], vectors: NDArray[np.float32], model: Model) -> None:
    stops = accumulate((len(part.encoded) for part in parts), initial=0)
    with Catalog(home) as catalog:
        catalog.create(_NAME, model)
        collection = Collection.open(catalog, _NAME, model)
        for part, (start, stop) in zip(parts, pairwise(stops), strict=True):
            collection.add(part.document, vectors[start:stop])


def _kept(folder: Path, key: str, fill: Callable[[Path], None]) -> Path:
    """The home of this key, filled if it is not there."""
    home = folder / key
    if not home.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix="making-") as aside:
            fill(Path(aside) / key)
            try:
                (Path(aside) / key).rename(home)
            except OSError:
                if not home.is_dir():  # else another process was first
                    raise
    return home


def _key(parts: Sequence[_Cut], model: Model, embedder: "Embedder") -> str:
    """Of all that goes into a library: another cut or another encoder makes another one."""
    key = sha256(repr((model, precision(embedder))).encode())
    for part in parts:
        spans = [(chunk.start, chunk.end, chunk.heading) for chunk in part.document.chunks]
        key.update(repr((part.document.sha256, part.document.title, spans)).encode())
    return key.hexdigest()[:32]


def asked(
    trial: Trial, queries: Mapping[str, str], *, watch: Watch = unwatched
) -> dict[Side, dict[str, Found]]:
    """What each question finds by words, by meaning, and by both as a search joins them.

    A question that is longer than the encoder takes is asked by its words alone, and finds
    nothing by meaning; `too_long` names those. So is, where both count, one in a language that
    the encoder does not speak.
    """
    vectors = _vectors(trial.embedder, queries)
    chunks = _Chunks(trial.collection)
    found: dict[Side, dict[str, Found]] = {"lexical": {}, "dense": {}, "fused": {}}
    for done, (key, query) in enumerate(queries.items(), 1):
        lexical = trial.collection.lexical(query, CANDIDATES)
        dense = _NOTHING
        if key in vectors:
            dense = trial.collection.dense(
                vectors[key], CANDIDATES, fingerprint=trial.embedder.fingerprint
            )
        both = lexical.ids
        if key in vectors and trial.speaks(query):
            both, _ = fuse(dense, lexical, trial.weight)
        found["lexical"][key] = chunks.found(lexical.ids)
        found["dense"][key] = chunks.found(dense.ids)
        found["fused"][key] = chunks.found(both)
        watch(done, len(queries))
    return found


def too_long(embedder: "Embedder", queries: Mapping[str, str]) -> set[str]:
    """The questions that have more tokens than the encoder takes."""
    return {key for key, query in queries.items() if not embedder.takes(query)}


def listed(hits: Iterable[Hit]) -> Found:
    """What a search found, as `asked` lists it."""
    chunks = [hit.chunk for hit in hits]
    documents = dict.fromkeys(chunk.document.path for chunk in chunks)
    return Found(tuple(documents)[:DEPTH], tuple(str(chunk.id) for chunk in chunks)[:DEPTH])


class _Chunks:
    """From chunk ids to documents, without passages that repeat a better one, as a search does."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._known: dict[int, tuple[str, Gist]] = {}  # path and gist

    def found(self, ids: NDArray[np.int64]) -> Found:
        documents: dict[str, None] = {}  # in order
        passages: list[str] = []
        seen: dict[frozenset[str], list[Gist]] = {}  # by their facts: with others none repeats
        for chunk_id, path, gist in self._living(ids.tolist()):
            alike = seen.setdefault(gist.facts, [])
            if any(repeats(gist, better) for better in alike):
                continue
            alike.append(gist)
            documents.setdefault(path)
            passages.append(str(chunk_id))
            if len(documents) == DEPTH:
                break
        return Found(tuple(documents), tuple(passages[:DEPTH]))

    def _living(self, ids: Sequence[int]) -> Iterator[tuple[int, str, Gist]]:
        for start in range(0, len(ids), _CHUNKS_AT_ONCE):
            block = ids[start : start + _CHUNKS_AT_ONCE]
            lacking = [chunk_id for chunk_id in block if chunk_id not in self._known]
            for chunk in self._collection.chunks(lacking) if lacking else ():
                self._known[chunk.id] = _known(chunk)
            for chunk_id in block:
                if chunk_id in self._known:
                    yield chunk_id, *self._known[chunk_id]


_NOTHING = Candidates(np.empty(0, np.int64), np.empty(0, np.float32))


def _known(chunk: StoredChunk) -> tuple[str, Gist]:
    return chunk.document.path, gist_of(chunk.text)


def _vectors(embedder: "Embedder", queries: Mapping[str, str]) -> dict[str, NDArray[np.float32]]:
    skipped = too_long(embedder, queries)
    keys = [key for key in queries if key not in skipped]
    rows = embedder.embed_queries([queries[key] for key in keys]) if keys else ()
    return dict(zip(keys, rows, strict=True))


def _cut(document: JudgedDocument | StoredText, embedder: "Embedder") -> _Cut:
    if isinstance(document, StoredText):
        return _part(
            document.path, document.text, document.media_type, cut_again(document, embedder)
        )
    text = ExtractedText(document.text, document.title, "text/plain")
    return _part(document.id, text.text, text.media_type, cut(text, document.id, embedder))


def _part(path: str, text: str, media_type: str, reading: Reading) -> _Cut:
    # By its path too: two documents of one text are two, as the judgements count them.
    content = f"{path}\n{text}".encode()
    document = NewDocument(
        path,
        reading.title,
        media_type,
        sha256(content).hexdigest(),
        len(content),
        text,
        reading.chunks,
    )
    return _Cut(document, reading.encoded)
