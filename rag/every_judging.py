"""Whether a document states what is asked: by its own sentences, and by those of the others.

Within one document nothing competes, so that a passage is always the best. What tells an answer
from the next best thing are figures of a sentence:

- score: its evidence, by meaning, words and place, as where an answer is quoted
- standing out: its similarity to the question above that of the document's other sentences
- own: how much nearer another question of the table is to it, if one is
- kind: whether it holds the kind of thing that is asked for (`rag.every_kinds`)
- counterpart: how near it is to what stands out in the other documents
- ahead: its similarity to the question above that of the best of the others

A notice period looks like other notice periods. The last two take a few other documents.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from rag.every_finding import Found, Sentence
from rag.every_kinds import Kind, asked, kinds
from rag.unrelated import above_unrelated

FEW = 4  # other documents, below which nothing is compared with theirs
_LEAST = 1e-6  # of a weight, so that there is always a direction
_FARTHEST = 30.0  # log-odds, beyond which a share is as good as 0 or 1


@dataclass(frozen=True, slots=True)
class Weights:
    bias: float
    score: float
    standing_out: float
    own: float
    kind: float
    counterpart: float = 0.0
    ahead: float = 0.0


# Fitted by `python -m benchmarks.every fit DATA` on generated contracts, whose wordings are others
# than those that are measured, and on papers of covid_qa that are kept for training. A wrong
# quotation does more harm than a missing one: half a unit of log-odds is taken off for that.
ALONE = Weights(bias=-5.71, score=4.37, standing_out=9.82, own=32.33, kind=1.83)
BESIDE = Weights(
    bias=-8.15, score=3.78, standing_out=2.13, own=30.58, kind=1.71, counterpart=7.17, ahead=5.12
)


@dataclass(frozen=True, slots=True)
class Judged:
    """What is taken for a document's answer."""

    sentence: Sentence
    score: float  # 0..1, from .5 on it is stated; not calibrated


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one offered sentence."""

    score: float
    standing_out: float
    own: float
    kind: float
    counterpart: float = 0.0
    ahead: float = 0.0

    def log_odds(self, by: Weights) -> float:
        return (
            by.bias
            + by.score * self.score
            + by.standing_out * self.standing_out
            + by.own * self.own
            + by.kind * self.kind
            + by.counterpart * self.counterpart
            + by.ahead * self.ahead
        )


@dataclass(frozen=True, slots=True)
class Asking:
    """A table's questions, and what a sentence is compared with."""

    questions: tuple[str, ...]
    vectors: NDArray[np.float32] | None  # (questions, d); None where words alone are asked
    unrelated: float  # the encoder's cosine of what does not belong together


@dataclass(frozen=True, slots=True)
class Others:
    """What the other documents say on a question."""

    direction: NDArray[np.float32]  # (d,), of what stands out in them
    best: float  # similarity to the question, of the quarter of them that has most


class Counterparts:
    """What the documents of a table say on one question."""

    def __init__(self, found: Sequence[Found]) -> None:
        spoken = [each for each in found if each.vectors is not None]
        self._similarities = sorted((each.offered[0].similarity for each in spoken), reverse=True)
        self._sum = sum(map(_pull, spoken))

    def besides(self, own: Found) -> Others | None:
        """What all but one say; None where they are too few.

        Args:
            own: one of those that were given
        """
        n = len(self._similarities) - 1
        if own.vectors is None or n < FEW:
            return None
        direction = np.asarray(self._sum - _pull(own), np.float32)
        rest = list(self._similarities)
        rest.remove(own.offered[0].similarity)
        return Others(
            direction / np.float32(np.linalg.norm(direction) + 1e-9), fmean(rest[: max(1, n // 4)])
        )


def judge(place: int, found: Found, asking: Asking, others: Others | None = None) -> Judged | None:
    """What a document states on a question; None: nothing.

    Args:
        place: of the question
        found: in the document
        asking: the table's questions
        others: what the other documents say on it, where that is known
    """
    if not found.offered:
        return None
    if found.vectors is None:
        return Judged(found.offered[0], 0.5) if found.by_words else None
    by = ALONE if others is None else BESIDE
    odds = [row.log_odds(by) for row in figures(place, found, asking, others)]
    best = int(np.argmax(odds))
    if odds[best] < 0:
        return None
    return Judged(found.offered[best], 1 / (1 + math.exp(-min(odds[best], _FARTHEST))))


def figures(place: int, found: Found, asking: Asking, others: Others | None) -> list[Figures]:
    """Of each offered sentence, in their order; `found` has vectors."""
    assert found.vectors is not None
    wanted = asked(asking.questions[place])
    return [
        Figures(
            score=sentence.score,
            standing_out=sentence.similarity - found.usual,
            own=_own(place, vector, asking),
            kind=_of_kind(sentence.text, wanted),
            counterpart=0.0 if others is None else _near(vector, others, asking.unrelated),
            ahead=0.0 if others is None else sentence.similarity - others.best,
        )
        for sentence, vector in zip(found.offered, found.vectors.astype(np.float32), strict=True)
    ]


def _near(vector: NDArray[np.float32], others: Others, unrelated: float) -> float:
    return above_unrelated(float(vector @ others.direction), unrelated)


def _pull(found: Found) -> NDArray[np.float32]:
    """A document's best sentence, as long as it stands out from the others of it."""
    assert found.vectors is not None
    weight = max(0.0, found.offered[0].similarity - found.usual) ** 2 + _LEAST
    return np.asarray(weight * found.vectors[0].astype(np.float32), np.float32)


def _own(place: int, vector: NDArray[np.float32], asking: Asking) -> float:
    """0 where the sentence is nearest to this question, else how much nearer to another one."""
    if asking.vectors is None or len(asking.questions) < 2:
        return 0.0
    cosines = asking.vectors @ vector
    nearest = float(np.delete(cosines, place).max())
    return min(0.0, (float(cosines[place]) - nearest) / (1 - asking.unrelated))


def _of_kind(text: str, wanted: frozenset[Kind]) -> float:
    if not wanted:
        return 0.0
    return 1.0 if kinds(text) & wanted else -1.0
