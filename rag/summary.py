"""A summary in the documents' own sentences, each of which says where it stands.

The sentences that stand for the rest (nearest to the centre of all of them) and repeat each other
least: maximal marginal relevance (Carbonell and Goldstein 1998, §2) with centrality as relevance.
Of a selection with many passages, the kept vectors choose first which passages are read at all, so
that only their sentences are encoded.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from index.analysis import content_words
from index.records import OwnedVectors, StoredChunk
from rag.evidence import Evidence
from rag.records import Hit
from rag.statements import quotable

if TYPE_CHECKING:
    from encoder import Embedder

READ = 16  # passages whose sentences are read
_RELEVANCE = 0.7  # against being unlike what was taken already
_FEW = 8  # content words of a sentence that tells little
_FIRST = 0.4  # for opening its document, less further down: there it is often said what it is about
_WORDS = (4, 60)  # content words of a sentence that can stand alone, and is not a whole table
_LENGTH = 500  # characters at most
_SAME = 0.999  # cosine of what says the same

_PAIR = re.compile(r"[^\s:]+(?: [^\s:]+)?: ")  # Time: 13:00 to 16:15.
_WHOLE = re.compile(r"[.!?。…][\"'”’」』）)\]*_]*\Z|[다요]\Z")

Rows = NDArray[np.float32]  # (n, d), unit length


@dataclass(frozen=True, slots=True)
class _Sentence:
    hit: Hit
    start: int  # within the document's text
    end: int

    @property
    def text(self) -> str:
        offset = self.hit.chunk.start
        return self.hit.chunk.text[self.start - offset : self.end - offset]


def central_passages(vectors: OwnedVectors, limit: int = READ) -> list[int]:
    """The chunks to read of a selection: ids, those that stand for it first.

    Args:
        vectors: of the selection's chunks, as they are kept
        limit: how many at most
    """
    if not len(vectors.ids):
        return []
    centre = _centre(vectors.rows, vectors.documents)
    chosen = spread(vectors.rows @ centre, vectors.rows, limit)
    return [int(vectors.ids[i]) for i in chosen]


def summarise(
    chunks: Sequence[StoredChunk],
    *,
    embedder: "Embedder | None",
    limit: int,
    about: str = "",
) -> list[Evidence]:
    """The sentences that stand for these passages, in reading order.

    Args:
        chunks: what to read
        embedder: None where it does not speak the language: then words tell what is alike
        limit: how many sentences at most
        about: a subject that they should be near to, where only that is wanted
    """
    hits = [Hit(rank, 1.0, None, None, chunk) for rank, chunk in enumerate(chunks, start=1)]
    candidates = _candidates(hits)
    if not candidates:
        return []
    telling = [each for each in candidates if _tells(each.text)]
    candidates = telling if len(telling) >= limit else candidates
    texts = [each.text for each in candidates]
    rows = _by_words(texts) if embedder is None else embedder.embed_documents(texts)
    owners = np.array([each.hit.chunk.document.id for each in candidates])
    scores = _stretched(rows @ _centre(rows, owners)) + _FIRST * _openings(candidates)
    if about and embedder is not None:
        scores += _stretched(rows @ embedder.embed_queries([about])[0])
    taken = spread(scores, rows, limit)
    order = {document: place for place, document in enumerate(dict.fromkeys(owners.tolist()))}
    taken.sort(key=lambda i: (order[int(owners[i])], candidates[i].start))
    return [
        Evidence(each.hit, each.start, each.end, None, float(scores[i]))
        for i, each in ((i, candidates[i]) for i in taken)
    ]


def spread(scores: NDArray[np.float32], rows: Rows, limit: int) -> list[int]:
    """Places of high scores that are unlike each other, in the order in which they were taken.

    Args:
        scores: (n,), of any scale
        rows: unit vectors of the same things, (n, d)
        limit: how many at most; what repeats one that was taken is left out
    """
    relevance, alike = _stretched(scores), rows @ rows.T
    repeats, alike = alike > _SAME, _stretched(alike)
    left = np.ones(len(rows), bool)
    nearest = np.zeros(len(rows), np.float32)  # how like the nearest one that was taken
    taken: list[int] = []
    while left.any() and len(taken) < limit:
        worth = _RELEVANCE * relevance - (1 - _RELEVANCE) * nearest
        best = int(np.where(left, worth, -np.inf).argmax())
        taken.append(best)
        left[best] = False
        left &= ~repeats[best]
        nearest = np.maximum(nearest, alike[best])
    return taken


def _candidates(hits: Sequence[Hit]) -> list[_Sentence]:
    found, seen = [], set[str]()
    for hit in hits:
        for start, end in quotable(hit):
            text = hit.chunk.text[start:end]
            words = content_words(text)
            plain = " ".join(text.split()).casefold()
            if plain in seen:
                continue
            if _WORDS[0] <= len(words) <= _WORDS[1] and len(text) <= _LENGTH:
                seen.add(plain)
                offset = hit.chunk.start
                found.append(_Sentence(hit, offset + start, offset + end))
    return found


def _tells(text: str) -> bool:
    """Whether it is a whole sentence of some length: no line of a form, no row, no caption."""
    form = " | " in text or _PAIR.match(text) is not None or _WHOLE.search(text) is None
    return not form and len(content_words(text)) >= _FEW


def _centre(rows: Rows, owners: NDArray[np.int64]) -> Rows:
    """The mean of the documents' means, (d,): a long document does not count for more."""
    means = [rows[owners == owner].mean(axis=0) for owner in np.unique(owners)]
    centre = np.mean(means, axis=0)
    return np.asarray(centre / max(float(np.linalg.norm(centre)), 1e-9), np.float32)


def _openings(candidates: Sequence[_Sentence]) -> NDArray[np.float32]:
    """1 for a document's first sentence, falling to 0 for what comes far behind it."""
    firsts: dict[int, int] = {}
    for each in candidates:
        key = each.hit.chunk.document.id
        firsts[key] = min(each.start, firsts.get(key, each.start))
    behind = [each.start - firsts[each.hit.chunk.document.id] for each in candidates]
    return np.asarray([1 / (1 + distance / 200) for distance in behind], np.float32)


def _by_words(texts: Sequence[str]) -> Rows:
    """Unit vectors over the words of these texts, words of few of them weighing more."""
    counted = [Counter(content_words(text)) for text in texts]
    within = Counter(word for words in counted for word in words)
    places = {word: place for place, word in enumerate(within)}
    rows = np.zeros((len(texts), max(1, len(places))), np.float32)
    for row, words in zip(rows, counted, strict=True):
        for word, count in words.items():
            row[places[word]] = count * np.log1p(len(texts) / within[word])
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(norms, 1e-9), np.float32)


def _stretched(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """From 0, the least, to 1; all 0 where they are equal."""
    low, high = float(scores.min()), float(scores.max())
    if high - low < 1e-9:
        return np.zeros_like(scores)
    return np.asarray((scores - low) / (high - low), np.float32)
