"""What a library practises on: questions, what each of them finds, and what is known to be right.

A question comes from people (the log, or a file of theirs) or from the library's own text. Which
part a question belongs to, the one that is learned from or the one that judges, hangs on a hash: a
question that judges today is not learned from tomorrow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from index import Candidates, Collection
from index.analysis import content_words
from index.records import AskedQuestion, OwnedVectors, StoredChunk
from index.titles import found_title
from rag.chunking import encoded_text
from rag.metrics import METRICS, per_query
from rag.pseudo import Kind, PseudoQuestion
from rag.retrieve import CANDIDATES, fuse

if TYPE_CHECKING:
    from encoder import Embedder

Origin = Literal["asked", "given"] | Kind
Side = Literal["dense", "fused"]

CHOICES = 100  # passages that a question chooses from
_SHARP = 0.1  # of the fused score, before the softmax: a tenth more is e times as likely
_HELD_OUT = 4  # one part in so many judges
_UP, _OPENED, _DOWN = 1.0, 0.5, -1.0  # on the fused score of a passage, which lies within 0..1


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    origin: Origin
    grades: Mapping[int, int] = field(default_factory=dict)  # of documents; empty: nobody knows
    bonus: Mapping[int, float] = field(default_factory=dict)  # of chunks, on the teacher's score


@dataclass(frozen=True, slots=True)
class Found:
    """What one question finds, on either side."""

    vector: NDArray[np.float32]  # (d,)
    dense: Candidates
    lexical: Candidates


class Shelf:
    """A collection's passages as they stand: with their vectors, and the documents they are of."""

    def __init__(self, collection: Collection, embedder: "Embedder", weight: float) -> None:
        self.collection = collection
        self.embedder = embedder  # of the passages
        self.weight = weight  # of the dense side in the fused score
        self.vectors: OwnedVectors = collection.vectors()
        keys = self.vectors.ids.tolist()
        self.document_of = dict(zip(keys, self.vectors.documents.tolist(), strict=True))
        self.row_of = {key: row for row, key in enumerate(keys)}

    def find(
        self,
        texts: Sequence[str],
        embedder: "Embedder",
        rows: NDArray[np.float32] | None = None,
    ) -> list[Found]:
        """What questions find when they are encoded by `embedder`.

        Args:
            texts: of the questions
            embedder: whose vectors compare with those of the passages
            rows: of the passages, to look at every one; None asks the index
        """
        vectors = embedder.embed_queries(list(texts))
        near = self._near(vectors, rows)
        lexical = [self.collection.lexical(text, CANDIDATES) for text in texts]
        return [Found(*each) for each in zip(vectors, near, lexical, strict=True)]

    def again(
        self,
        before: Sequence[Found],
        vectors: NDArray[np.float32],
        rows: NDArray[np.float32] | None = None,
    ) -> list[Found]:
        """What the same questions find by other vectors; their words find what they found.

        Args:
            before: of each question
            vectors: of the questions, (n, d)
            rows: of the passages, in the order of `vectors`, where they have others too
        """
        triples = zip(vectors, self._near(vectors, rows), before, strict=True)
        return [Found(vector, dense, old.lexical) for vector, dense, old in triples]

    def ranked(self, found: Found, side: Side, weight: float | None = None) -> list[int]:
        """Chunk ids, best first."""
        ids = found.dense.ids
        if side == "fused":
            ids, _ = fuse(found.dense, found.lexical, self.weight if weight is None else weight)
        return [int(key) for key in ids]

    def documents(self, ranked: Sequence[int]) -> list[int]:
        """Documents, each by its best chunk."""
        return list(dict.fromkeys(self.document_of[i] for i in ranked if i in self.document_of))

    def ndcg(
        self,
        questions: Sequence[Question],
        found: Sequence[Found],
        side: Side,
        weight: float | None = None,
    ) -> NDArray[np.float64]:
        """nDCG@10 of each question, 0 to 1, by the documents that are known to be right."""
        return self.scored(questions, [self.ranked(each, side, weight) for each in found])

    def scored(
        self, questions: Sequence[Question], ranked: Sequence[Sequence[int]]
    ) -> NDArray[np.float64]:
        """As `ndcg`, of any rankings of chunks."""
        judged = {str(i): _named(question.grades) for i, question in enumerate(questions)}
        documents = {
            str(i): [str(key) for key in self.documents(keys)] for i, keys in enumerate(ranked)
        }
        return per_query(judged, documents)[METRICS[0]]

    def _near(
        self, vectors: NDArray[np.float32], rows: NDArray[np.float32] | None
    ) -> list[Candidates]:
        if rows is not None:
            return self._nearest(vectors, rows)
        mark = self.embedder.fingerprint
        return [self.collection.dense(row, CANDIDATES, fingerprint=mark) for row in vectors]

    def _nearest(self, vectors: NDArray[np.float32], rows: NDArray[np.float32]) -> list[Candidates]:
        found = []
        for vector in vectors:
            cosines = rows @ vector
            best = np.argsort(-cosines, kind="stable")[:CANDIDATES]
            found.append(Candidates(self.vectors.ids[best], cosines[best]))
        return found


def lesson(
    shelf: Shelf, questions: Sequence[Question], found: Sequence[Found]
) -> tuple[NDArray[np.float16], NDArray[np.float32]]:
    """What there is to choose from, (n, k, d), and how likely each is what was looked for, (n, k).

    The teacher is the fused list, sharpened by what people opened and thought of it.
    """
    k = min(CHOICES, len(shelf.vectors.ids))
    width = shelf.vectors.rows.shape[1]
    choices = np.empty((len(questions), k, width), np.float16)
    teacher = np.empty((len(questions), k), np.float32)
    for row, (question, each) in enumerate(zip(questions, found, strict=True)):
        rows, scores = _taught(shelf, question, each, k)
        choices[row] = shelf.vectors.rows[rows]
        likely = np.exp((scores - scores.max()) / _SHARP)
        teacher[row] = likely / likely.sum()
    return choices, teacher


def _taught(
    shelf: Shelf, question: Question, found: Found, k: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    ids, scores = fuse(found.dense, found.lexical, shelf.weight)
    fused = {
        key: score
        for key, score in zip(ids.tolist(), scores.tolist(), strict=True)
        if key in shelf.row_of
    }
    for key, more in _bonus(shelf, question, fused).items():
        fused[key] = fused.get(key, 0.0) + more
    best = sorted(fused, key=lambda key: (-fused[key], key))[:k]
    if len(best) < k:  # few share a word, and few were near: any others are as wrong
        best += [key for key in shelf.row_of if key not in fused][: k - len(best)]
    rows = np.array([shelf.row_of[key] for key in best], np.int64)
    return rows, np.array([fused.get(key, 0.0) for key in best], np.float32)


def _bonus(shelf: Shelf, question: Question, fused: Mapping[int, float]) -> dict[int, float]:
    """By chunk. Of a document that is right as a whole it is its best chunk that gets one."""
    if question.origin != "given":
        return {key: more for key, more in question.bonus.items() if key in shelf.row_of}
    best: dict[int, int] = {}
    for key in sorted(fused, key=lambda key: (-fused[key], key)):
        best.setdefault(shelf.document_of[key], key)
    right = (document for document, grade in question.grades.items() if grade > 0)
    return {best[document]: _UP for document in right if document in best}


def from_log(asked: Sequence[AskedQuestion], shelf: Shelf) -> list[Question]:
    """The questions of the log, with the documents that people found right."""
    return [_judged(each, shelf) for each in asked]


def from_text(made: Sequence[PseudoQuestion]) -> list[Question]:
    """Pseudo-questions; right is the document that each was made of."""
    return [Question(each.text, each.kind, {each.document_id: 1}) for each in made]


def passage(chunk: StoredChunk) -> str:
    """What the encoder reads of a chunk."""
    title = found_title(chunk.document.path, chunk.document.title)
    return encoded_text(title, chunk.heading, chunk.text)


def judges(question: str) -> bool:
    """Whether a question is kept for judging.

    Its content words say so, in any order: had one of two wordings been learned from, the other
    would be no question that nobody knows.
    """
    return _held_out(" ".join(sorted(set(content_words(question)))) or question)


def document_judges(document: int) -> bool:
    """Whether a document, by its id, is kept for judging."""
    return _held_out(str(document))


def _held_out(key: str) -> bool:
    return sha256(key.encode()).digest()[0] % _HELD_OUT == 0


def _judged(asked: AskedQuestion, shelf: Shelf) -> Question:
    bonus: dict[int, float] = {}
    for keys, more in ((asked.opened, _OPENED), (asked.up, _UP), (asked.down, _DOWN)):
        bonus |= dict.fromkeys(keys, more)
    grades: dict[int, int] = {}
    for key, more in bonus.items():
        if more > 0 and key in shelf.document_of:
            document = shelf.document_of[key]
            grades[document] = max(grades.get(document, 0), 2 if more >= _UP else 1)
    return Question(asked.text, "asked", grades, bonus)


def _named(grades: Mapping[int, int]) -> dict[str, int]:
    return {str(key): grade for key, grade in grades.items()}
