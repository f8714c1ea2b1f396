"""From a question to hits: dense and lexical candidates, fused, without near-duplicates.

Whoever has a second opinion on the best of them may re-rank these.
"""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from index import Candidates, Collection
from index.analysis import content_words
from rag.records import Hit, Mode, SearchResult
from rag.repeats import Gist, gist_of, repeats
from rag.rerank import Reranker

if TYPE_CHECKING:
    from encoder import Embedder

CANDIDATES = 1000  # of each side, before fusion


def retrieve(
    query: str,
    *,
    collection: Collection,
    embedder: "Embedder | None",
    k: int,
    mode: Mode = "hybrid",
    weight: float = 0.5,
    documents: Sequence[int] | None = None,
    reranker: Reranker | None = None,
) -> SearchResult:
    """The k best chunks for a query.

    Args:
        query: not blank
        collection: where to look
        embedder: the one whose vectors the collection holds; None looks for words alone
        k: how many hits at most
        mode: both sides, or one of them
        weight: of the dense side in the fused score; the lexical side has the rest
        documents: ids to stay within; None is all of them
        reranker: has a vote on the best of the hits where they are fused

    Raises:
        ModelMismatch: the collection has moved to another model.
    """
    began = time.perf_counter()
    nothing = Candidates(np.empty(0, np.int64), np.empty(0, np.float32))
    dense = lexical = nothing
    timings = {}
    if embedder is None:
        mode = "lexical"
    elif mode != "lexical":
        vector = embedder.embed_queries([query])[0]
        timings["encode"] = _ms(began)
        dense = collection.dense(
            vector, CANDIDATES, documents=documents, fingerprint=embedder.fingerprint
        )
    if mode != "dense":
        lexical = collection.lexical(query, CANDIDATES, documents=documents)
    match mode:
        case "hybrid":
            ids, scores = fuse(dense, lexical, weight)
        case "dense":
            ids, scores = dense.ids, dense.scores
        case "lexical":
            ids, scores = lexical.ids, lexical.scores
    if reranker is None or mode != "hybrid":
        hits = _hits(collection, ids, scores, dense, lexical, k)
    else:
        hits = _hits(collection, ids, scores, dense, lexical, max(k, reranker.top))
        voting = time.perf_counter()
        hits = reranker(query, hits)[:k]
        timings["rerank"] = _ms(voting)
    words = collection.frequencies(content_words(query))
    timings["total"] = _ms(began)
    return SearchResult(
        query,
        hits,
        words,
        timings,
        weight=weight if mode == "hybrid" else None,
        pending=collection.pending() if embedder is not None else 0,
    )


def fuse(
    dense: Candidates, lexical: Candidates, weight: float
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Weighted sum of both sides' scores, each stretched to 0..1 over all candidates.

    A chunk that shares no word with the query has BM25 0, the least there is. One that the dense
    side did not bring counts as its last (Bruch et al. 2023, "An Analysis of Fusion Functions",
    §4).

    Returns:
        ids and scores, (n,) each, best first; equal scores by id.
    """
    ids = np.union1d(dense.ids, lexical.ids)
    scores = np.zeros(len(ids), np.float32)
    least = dense.scores.min(initial=np.inf)
    for side, low, share in ((dense, least, weight), (lexical, 0.0, 1 - weight)):
        stretched = np.float32(share) * _stretched(side.scores, low)
        scores[np.searchsorted(ids, side.ids)] += stretched
    order = np.lexsort((ids, -scores))
    return ids[order], scores[order]


def _stretched(scores: NDArray[np.float32], low: float) -> NDArray[np.float32]:
    if not len(scores):
        return scores
    high = scores.max()
    if high == low:
        return np.ones_like(scores)
    return np.asarray((scores - low) / (high - low), np.float32)


def _hits(
    collection: Collection,
    ids: NDArray[np.int64],
    scores: NDArray[np.float32],
    dense: Candidates,
    lexical: Candidates,
    k: int,
) -> tuple[Hit, ...]:
    """The best k live chunks, without those that repeat a better one."""
    cosines = dict(zip(dense.ids.tolist(), dense.scores.tolist(), strict=True))
    bm25 = dict(zip(lexical.ids.tolist(), lexical.scores.tolist(), strict=True))
    fused = dict(zip(ids.tolist(), scores.tolist(), strict=True))
    hits: list[Hit] = []
    seen: list[Gist] = []
    for start in range(0, len(ids), 2 * k):
        for chunk in collection.chunks(ids[start : start + 2 * k].tolist()):
            gist = gist_of(chunk.text)
            if any(repeats(gist, better) for better in seen):
                continue
            seen.append(gist)
            rank, parts = len(hits) + 1, (cosines.get(chunk.id), bm25.get(chunk.id))
            hits.append(Hit(rank, fused[chunk.id], *parts, chunk))
            if len(hits) == k:
                return tuple(hits)
    return tuple(hits)


def _ms(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 1)
