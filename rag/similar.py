"""How near two documents are: the mean of the best chunk matches, both ways.

The index names the documents whose chunks come near; these alone are compared whole, so that the
vectors of a large library are never in memory at once. What all vectors have in common is taken
away first (`rag.centring`).
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from index import Catalog, Collection, StoredChunk
from index.owned import owners_of, vectors_of
from index.records import WordFrequencies
from rag.centring import centre_of, centred
from rag.errors import Unreadable, UsageError
from rag.loaders import LoadError
from rag.loaders.cleaning import clean, is_blank
from rag.reading import cut
from rag.records import ExtractedText, Hit, SearchResult
from rag.sources import stored_path

if TYPE_CHECKING:
    from encoder import Embedder

_DEPTH = 300  # chunks that the index names for each chunk of the asked document
_DEEPEST = 50_000  # chunks and documents that are looked at for any k
_PROBES = 12  # chunks of the asked document that the index is asked for: evenly spread
_CLOSER = 80  # documents that are compared whole, at least
_ALIGNED = 4  # pairs of passages that are shown of a document

Rows = NDArray[np.float32]
Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk of what was asked about, which need not be stored."""

    text: str
    start: int
    end: int
    page: int | None
    heading: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """What others shall be like."""

    name: str
    rows: Rows  # unit vectors of its passages, (a, d)
    passages: tuple[Passage, ...]
    document_id: int | None = None  # where it is stored: it is not like itself


@dataclass(frozen=True, slots=True)
class Aligned:
    """Two passages that match: the best match of one of them in the other document."""

    asked: Passage
    other: StoredChunk
    cosine: float


@dataclass(frozen=True, slots=True)
class Similar(SearchResult):
    """One hit a document, its chunk that matches best; beside it, which passages match which."""

    aligned: tuple[tuple[Aligned, ...], ...] = ()  # of each hit, best first


@dataclass(frozen=True, slots=True)
class Match:
    """A document near the one that was asked about."""

    document_id: int
    chunk_id: int  # its best matching chunk
    score: float  # -1..1
    cosine: float  # of the best matching pair of chunks
    pairs: tuple[tuple[int, int, float], ...] = ()  # place of the asked chunk, chunk id, cosine


def stored(document_id: int, name: str, collection: Collection, catalog: Catalog) -> Asked:
    """A document of the library, without the chunks that have no vector yet."""
    return _of_chunks(name, catalog.chunks_of(document_id), collection, catalog, document_id)


def passage(chunk: StoredChunk, collection: Collection, catalog: Catalog) -> Asked:
    """One passage of the library; its own document is left out."""
    return _of_chunks(chunk.document.title, [chunk], collection, catalog, chunk.document.id)


def file(path: Path, embedder: "Embedder", load: Callable[[Path], ExtractedText]) -> Asked:
    """A file that is only read.

    Raises:
        Unreadable: it cannot be read.
    """
    try:
        text = load(path)
    except LoadError as error:
        raise Unreadable(f"{path}: {error}") from error
    return _of_text(str(path), text, stored_path(path), embedder)


def pasted(text: str, embedder: "Embedder") -> Asked:
    """Any text.

    Raises:
        UsageError: it is blank.
    """
    text, _ = clean(text)
    if is_blank(text):
        raise UsageError("the text is empty: paste what others shall be like")
    name = " ".join(text.split())[:60]
    return _of_text(name, ExtractedText(text, "text", "text/plain"), "text.txt", embedder)


def similar_documents(
    asked: Asked,
    collection: Collection,
    catalog: Catalog,
    k: int,
    *,
    embedder: "Embedder | None" = None,
    documents: Sequence[int] | None = None,
) -> Similar:
    """The k documents nearest to what was asked about, and the passages that match.

    Args:
        asked: what others shall be like
        collection: where to look
        catalog: that the collection is in
        k: how many at most
        embedder: that made the vectors; without it, what they have in common is theirs alone
        documents: ids to stay within; None is all of them
    """
    began = time.perf_counter()
    matches = find(asked, collection, catalog, k=k, embedder=embedder, documents=documents)
    wanted = {match.chunk_id for match in matches} | {i for m in matches for _, i, _ in m.pairs}
    chunks = {chunk.id: chunk for chunk in collection.chunks(sorted(wanted))}
    here = [match for match in matches if match.chunk_id in chunks]
    hits = tuple(
        Hit(rank, match.score, match.cosine, None, chunks[match.chunk_id])
        for rank, match in enumerate(here, start=1)
    )
    took = round((time.perf_counter() - began) * 1000, 1)
    return Similar(
        query=asked.name,
        hits=hits,
        words=WordFrequencies(catalog.counts(collection.name).chunks, {}),
        timings_ms={"total": took},
        pending=collection.pending(),
        aligned=tuple(_aligned(asked, match, chunks) for match in here),
    )


def find(
    asked: Asked,
    collection: Collection,
    catalog: Catalog,
    *,
    k: int,
    embedder: "Embedder | None" = None,
    documents: Sequence[int] | None = None,
) -> list[Match]:
    """The k documents nearest to what was asked about, best first; equal scores by document id.

    The arguments are those of `similar_documents`.
    """
    if not len(asked.rows):
        return []
    near = _candidates(asked, collection, catalog, min(max(_CLOSER, 3 * k), _DEEPEST), documents)
    if not near:
        return []
    found = vectors_of(catalog, collection.name, near)
    centre = centre_of(catalog, collection.name, embedder)
    mine, theirs = centred(asked.rows, centre), centred(found.rows, centre)
    return nearest(mine, theirs, found.ids, found.documents, k)


def nearest(asked: Rows, rows: Rows, ids: Ids, owners: Ids, k: int) -> list[Match]:
    """The k documents nearest to one.

    Args:
        asked: unit vectors of its chunks, (a, d)
        rows: unit vectors of the others' chunks, (n, d)
        ids: of these chunks, (n,)
        owners: the document of each chunk, (n,)
        k: how many at most

    Returns:
        best first; equal scores by document id
    """
    scores = scores_of(asked, rows, owners)[:k]
    return [
        _match(asked, key, score, rows[owners == key], ids[owners == key]) for key, score in scores
    ]


def scores_of(asked: Rows, rows: Rows, owners: Ids) -> list[tuple[int, float]]:
    """Each document with its score, best first; the arguments are those of `nearest`."""
    if not len(rows) or not len(asked):
        return []
    order = np.argsort(owners, kind="stable")
    documents, starts = np.unique(owners[order], return_index=True)
    cosines = asked @ rows[order].T  # (a, n)
    forth = np.maximum.reduceat(cosines, starts, axis=1).mean(axis=0)  # (documents,)
    best = cosines.max(axis=0)  # (n,) each chunk's best match in the asked document
    back = np.add.reduceat(best, starts) / np.diff(np.append(starts, len(rows)))
    scores = (forth + back) / 2
    ranked = np.lexsort((documents, -scores))
    return [(int(documents[i]), float(scores[i])) for i in ranked]


def _match(asked: Rows, document_id: int, score: float, rows: Rows, ids: Ids) -> Match:
    cosines = asked @ rows.T  # (a, own)
    pairs = list[tuple[int, int, float]]()
    left, right = set[int](), set[int]()
    for place in np.argsort(-cosines, axis=None, kind="stable").tolist():
        mine, its = divmod(place, len(rows))
        if mine in left or its in right:
            continue
        left.add(mine)
        right.add(its)
        pairs.append((mine, int(ids[its]), float(cosines[mine, its])))
        if len(pairs) == _ALIGNED:
            break
    _, best, cosine = pairs[0]
    return Match(document_id, best, score, cosine, tuple(pairs))


def _candidates(
    asked: Asked,
    collection: Collection,
    catalog: Catalog,
    most: int,
    documents: Sequence[int] | None,
) -> list[int]:
    """The documents whose chunks are nearest to some of the asked one's, by their mean."""
    places = np.linspace(0, len(asked.rows) - 1, min(_PROBES, len(asked.rows))).round()
    depth = min(max(_DEPTH, 2 * most), _DEEPEST)
    total: dict[int, float] = {}
    for place in places.astype(int).tolist():
        near = collection.dense(asked.rows[place], depth, documents=documents)
        floor = float(near.scores[-1]) if len(near.scores) else 0.0
        best: dict[int, float] = {}
        for owner, score in zip(owners_of(catalog, near.ids), near.scores.tolist(), strict=True):
            best.setdefault(int(owner), score - floor)  # they come best first
        for owner, score in best.items():
            total[owner] = total.get(owner, 0.0) + score
    total.pop(asked.document_id or 0, None)
    total.pop(0, None)  # of chunks that have just gone
    return sorted(total, key=lambda key: (-total[key], key))[:most]


def _of_chunks(
    name: str,
    chunks: Sequence[StoredChunk],
    collection: Collection,
    catalog: Catalog,
    document_id: int,
) -> Asked:
    found = vectors_of(catalog, collection.name, [document_id])
    rows = dict(zip(found.ids.tolist(), found.rows, strict=True))
    here = [chunk for chunk in chunks if chunk.id in rows]
    passages = tuple(Passage(c.text, c.start, c.end, c.page, c.heading) for c in here)
    width = found.rows.shape[1] if found.rows.ndim == 2 else 0
    matrix = np.array([rows[c.id] for c in here], np.float32).reshape(len(here), width)
    return Asked(name, matrix, passages, document_id)


def _of_text(name: str, text: ExtractedText, path: str, embedder: "Embedder") -> Asked:
    reading = cut(text, path, embedder)
    passages = tuple(Passage(c.text, c.start, c.end, c.page, c.heading) for c in reading.chunks)
    return Asked(name, embedder.embed_documents(reading.encoded), passages)


def _aligned(asked: Asked, match: Match, chunks: dict[int, StoredChunk]) -> tuple[Aligned, ...]:
    return tuple(
        Aligned(asked.passages[place], chunks[key], cosine)
        for place, key, cosine in match.pairs
        if key in chunks
    )
