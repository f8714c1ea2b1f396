"""How near two documents are: the mean of the best chunk matches, both ways."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from index import Collection, StoredDocument
from index.records import OwnedVectors, WordFrequencies
from rag.errors import Unreadable
from rag.loaders import LoadError
from rag.reading import cut
from rag.records import ExtractedText, Hit, SearchResult
from rag.sources import stored_path

if TYPE_CHECKING:
    from encoder import Embedder


@dataclass(frozen=True, slots=True)
class Match:
    """A document near the one that was asked about."""

    document_id: int
    chunk_id: int  # its best matching chunk
    score: float  # -1..1
    cosine: float  # of the best matching pair of chunks


def similar_documents(
    asked: StoredDocument | Path,
    collection: Collection,
    embedder: "Embedder",
    k: int,
    *,
    load: Callable[[Path], ExtractedText],
) -> SearchResult:
    """The k documents nearest to one of the library, or to a file that is only read.

    Raises:
        Unreadable: the file cannot be read.
    """
    began = time.perf_counter()
    library = collection.vectors()
    held = len(library.ids)
    if isinstance(asked, Path):
        name, rows = str(asked), _encoded(asked, embedder, load)
    else:
        name, rows = asked.path, library.rows[library.documents == asked.id]
        library = _without(library, asked.id)
    matches = nearest(rows, library.rows, library.ids, library.documents, k)
    chunks = collection.chunks([match.chunk_id for match in matches])
    hits = tuple(
        Hit(rank, match.score, match.cosine, None, part)
        for rank, (match, part) in enumerate(zip(matches, chunks, strict=True), start=1)
    )
    took = round((time.perf_counter() - began) * 1000, 1)
    return SearchResult(name, hits, WordFrequencies(held, {}), {"total": took})


def _encoded(
    file: Path, embedder: "Embedder", load: Callable[[Path], ExtractedText]
) -> NDArray[np.float32]:
    try:
        text = load(file)
    except LoadError as error:
        raise Unreadable(f"{file}: {error}") from error
    return embedder.embed_documents(cut(text, stored_path(file), embedder).encoded)


def _without(library: OwnedVectors, document_id: int) -> OwnedVectors:
    others = library.documents != document_id
    return OwnedVectors(library.ids[others], library.documents[others], library.rows[others])


def nearest(
    asked: NDArray[np.float32],
    rows: NDArray[np.float32],
    ids: NDArray[np.int64],
    owners: NDArray[np.int64],
    k: int,
) -> list[Match]:
    """The k documents nearest to one.

    Args:
        asked: unit vectors of its chunks, (a, d)
        rows: unit vectors of the library's chunks, (n, d)
        ids: of these chunks, (n,)
        owners: the document of each chunk, (n,)
        k: how many at most

    Returns:
        best first; equal scores by document id
    """
    if not len(rows) or not len(asked):
        return []
    order = np.argsort(owners, kind="stable")
    rows, ids, owners = rows[order], ids[order], owners[order]
    documents, starts = np.unique(owners, return_index=True)
    cosines = asked @ rows.T  # (a, n)
    forth = np.maximum.reduceat(cosines, starts, axis=1).mean(axis=0)  # (documents,)
    best = cosines.max(axis=0)  # (n,) each chunk's best match in the asked document
    sizes = np.diff(np.append(starts, len(rows)))
    back = np.add.reduceat(best, starts) / sizes
    scores = (forth + back) / 2
    chosen = np.lexsort((documents, -scores))[:k]
    return [_match(i, documents, starts, sizes, best, ids, scores) for i in chosen]


def _match(
    i: int,
    documents: NDArray[np.int64],
    starts: NDArray[np.int64],
    sizes: NDArray[np.int64],
    best: NDArray[np.float32],
    ids: NDArray[np.int64],
    scores: NDArray[np.float32],
) -> Match:
    own = slice(starts[i], starts[i] + sizes[i])
    top = int(starts[i] + best[own].argmax())
    return Match(int(documents[i]), int(ids[top]), float(scores[i]), float(best[top]))
