"""What one document holds on a question: its sentences that come nearest, with their vectors."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from index import Collection
from rag import confidence
from rag.evidence import Evidence, find_evidence
from rag.retrieve import retrieve
from rag.subjects import with_subjects
from rag.unrelated import unrelated_cosine

if TYPE_CHECKING:
    from encoder import Embedder

HITS = 6  # passages of a document that are read for a question
OFFERED = 5  # sentences of them that are compared with what other documents say
_KEPT = 20_000  # vectors of sentences: 30 MB

_BULLET = re.compile(r"[-*+•▪◦·–]\s+(?=\S)")

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence that may answer, at `start:end` of its document's text.

    One that leans on the sentence before it ("It lasts …") begins with that.
    """

    text: str
    chunk_id: int
    start: int
    end: int
    page: int | None
    similarity: float  # to the question, 0 where unrelated
    score: float  # of its evidence


@dataclass(frozen=True, slots=True)
class Found:
    """The sentences of one document that come nearest to one question, best first.

    Without vectors the encoder does not speak the question's language: then words have decided.
    """

    offered: tuple[Sentence, ...]
    vectors: NDArray[np.float16] | None  # (offered, d)
    usual: float  # similarity of the document's sentences to the question, on average
    by_words: bool = False  # whether the first is an answer, where only words could say


NOTHING = Found((), None, 0.0)


class Finder:
    """Looks into one document at a time. A sentence is encoded once for all questions.

    Args:
        collection: that the documents are in
        embedder: of its questions; None where only words can be asked
        weight: of meaning beside words, of the collection
    """

    def __init__(self, collection: Collection, embedder: "Embedder | None", weight: float) -> None:
        self._collection = collection
        self._weight = weight
        # It has all that retrieval and evidence ask of an encoder.
        self._embedder = cast("Embedder", Remembering(embedder)) if embedder else None
        self.unrelated = 0.0 if embedder is None else unrelated_cosine(embedder)

    def look(self, question: str, document: int, *, by_meaning: bool = True) -> Found:
        """The sentences of a document that come nearest to a question.

        Args:
            question: as asked
            document: its id
            by_meaning: False where the encoder does not speak the question's language
        """
        embedder = self._embedder if by_meaning else None
        found = retrieve(
            question,
            collection=self._collection,
            embedder=embedder,
            k=HITS,
            weight=self._weight,
            documents=[document],
        )
        evidence = find_evidence(question, found, embedder=embedder)
        if not evidence:
            return NOTHING
        best = evidence[:OFFERED]
        offered = tuple(map(_sentence, best))
        if embedder is None:
            judged = confidence.judge(question, evidence, found, unrelated=0.0)
            return Found(offered, None, 0.0, judged.answerable)
        usual = fmean(e.similarity or 0.0 for e in evidence)
        vectors = embedder.embed_documents([e.text for e in best]).astype(np.float16)
        return Found(offered, vectors, usual)

    def ask(self, questions: Sequence[str]) -> Vectors | None:
        """Vectors of questions, (questions, d); None where only words can be asked."""
        return None if self._embedder is None else self._embedder.embed_queries(questions)


def _sentence(evidence: Evidence) -> Sentence:
    (whole,) = with_subjects([evidence])
    chunk = whole.hit.chunk
    bullet = _BULLET.match(whole.text)
    text = whole.text if bullet is None else whole.text[bullet.end() :]
    return Sentence(
        text=text,
        chunk_id=chunk.id,
        start=whole.end - len(text),
        end=whole.end,
        page=chunk.page,
        similarity=whole.similarity or 0.0,
        score=whole.score,
    )


class Remembering:
    """An encoder that does not encode a text twice."""

    def __init__(self, embedder: "Embedder") -> None:
        self._embedder = embedder
        self._questions: dict[str, Vectors] = {}
        self._sentences: dict[str, Vectors] = {}
        self.fingerprint = embedder.fingerprint

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """As the encoder's own."""
        return _remembered(texts, self._questions, self._embedder.embed_queries)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """As the encoder's own."""
        if len(self._sentences) > _KEPT:
            self._sentences.clear()
        return _remembered(texts, self._sentences, self._embedder.embed_documents)


def _remembered(
    texts: Sequence[str], known: dict[str, Vectors], embed: Callable[[Sequence[str]], Vectors]
) -> Vectors:
    if missing := [text for text in dict.fromkeys(texts) if text not in known]:
        known.update(zip(missing, embed(missing), strict=True))
    return np.stack([known[text] for text in texts])
