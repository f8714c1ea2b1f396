"""Which sentences of the passages answer a question: by meaning, words and kind of answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from index.analysis import content_words
from index.records import WordFrequencies
from rag.quantities import asks_for, states
from rag.records import Hit, SearchResult
from rag.statements import (
    asks_for_a_section,
    asks_of_orders,
    gives_orders,
    is_heading,
    is_numbered,
    spans,
)
from rag.unrelated import unrelated_cosine

if TYPE_CHECKING:
    from encoder import Embedder

_MEANING = 0.5  # of similarity against words, where there is a similarity
_AROUND = 0.5  # of a word that only stands in the title or the headings
_BEFORE = 0.2  # of the score of the sentence before: an answer often follows its subject
_PASSAGE = 0.3  # for standing in the best passage, less in the others
_AMOUNT = 0.3  # for an amount of the kind that is asked for


@dataclass(frozen=True, slots=True)
class Evidence:
    """A sentence of a hit's chunk, at `start:end` of the document's text."""

    hit: Hit
    start: int
    end: int
    # To the question, 0 where unrelated; None where the encoder does not speak its language.
    similarity: float | None
    score: float
    answers: float | None = None  # log-odds that it answers the question; None: nobody judged it

    @property
    def text(self) -> str:
        offset = self.hit.chunk.start
        return self.hit.chunk.text[self.start - offset : self.end - offset]


def find_evidence(
    question: str, found: SearchResult, *, embedder: "Embedder | None"
) -> list[Evidence]:
    """Every sentence of the hits that says something by itself, best first.

    Args:
        question: as asked
        found: its hits, best first
        embedder: None where it does not speak the question's language
    """
    places = [(hit, span) for hit in found.hits for span in spans(hit.chunk.text)]
    if not places:
        return []
    texts = [hit.chunk.text[start:end] for hit, (start, end) in places]
    similarities = None if embedder is None else _similarities(question, texts, embedder)
    near = _nearness(places, texts, similarities, found.words)
    amount = asks_for(question)
    best = max(hit.score for hit in found.hits) or 1.0
    headings, orders = asks_for_a_section(question), asks_of_orders(question)
    evidence = []
    for i, (hit, (start, end)) in enumerate(places):
        named = is_heading(hit, start, end) and not (headings and is_numbered(texts[i]))
        if named or (not orders and gives_orders(texts[i])):
            continue
        follows = i > 0 and places[i - 1][0] is hit
        score = near[i] + (_BEFORE * near[i - 1] if follows else 0) + _PASSAGE * hit.score / best
        score += _AMOUNT * states(texts[i], amount)
        offset = hit.chunk.start
        similarity = None if similarities is None else float(similarities[i])
        evidence.append(Evidence(hit, offset + start, offset + end, similarity, score))
    return sorted(evidence, key=lambda e: -e.score)


def share(words: set[str], asked: WordFrequencies) -> float:
    """How much of a question these words cover, 0..1, rare words weighing more."""
    total = sum(map(asked.weight, asked.counts))
    return sum(asked.weight(w) for w in asked.counts if w in words) / total if total else 0.0


def _similarities(question: str, texts: Sequence[str], embedder: "Embedder") -> NDArray[np.float32]:
    cosines = embedder.embed_documents(texts) @ embedder.embed_queries([question])[0]
    unrelated = np.float32(unrelated_cosine(embedder))
    return np.asarray((cosines - unrelated) / (1 - unrelated), np.float32)


def _nearness(
    places: Sequence[tuple[Hit, tuple[int, int]]],
    texts: Sequence[str],
    similarities: NDArray[np.float32] | None,
    asked: WordFrequencies,
) -> list[float]:
    """Of each sentence to the question: its words, with those of its headings, and its meaning."""
    near = []
    for i, (hit, _) in enumerate(places):
        own = set(content_words(texts[i]))
        around = set(content_words(" ".join((hit.chunk.document.title, *hit.chunk.heading))))
        overlap = share(own, asked) + _AROUND * share(around - own, asked)
        near.append(
            overlap
            if similarities is None
            else _MEANING * float(similarities[i]) + (1 - _MEANING) * overlap
        )
    return near
