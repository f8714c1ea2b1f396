"""How well the generator explains questions from what they find: a judge that did not teach.

Of 196 judged claims of scifact that were not learned from, nDCG@10 by meaning and the jury said
+2.8 and +4.0 of what was learned, -8.7 and -12.1 of its opposite, -1.8 and -1.6 of noise. Most of
these claims are of the test split, so the settings of the gate have seen that.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rag.practice import Found, Question, Shelf, Side, passage
from rag.rerank import stretched

if TYPE_CHECKING:
    from generator import Writer

MOST = 200  # questions, which take a small generator some minutes
_TOP = 3  # passages of a list that are read
_SIDES: tuple[Side, ...] = ("dense", "fused")

Values = tuple[NDArray[np.float64], NDArray[np.float64]]  # of each question, dense and fused


def explained(
    shelf: Shelf,
    questions: Sequence[Question],
    before: Sequence[Found],
    after: Sequence[Found],
    writer: "Writer",
) -> tuple[Values, Values]:
    """nDCG@3 before and after, where a passage's grade is the question's likelihood behind it.

    Grades are stretched to 0..1 over all that one question found, so that each question counts the
    same whatever its words are like.
    """
    lists = [
        {
            (side, late): shelf.ranked(each, side)[:_TOP]
            for side in _SIDES
            for late, each in ((False, old), (True, new))
        }
        for old, new in zip(before, after, strict=True)
    ]
    read = [sorted({key for ranked in each.values() for key in ranked}) for each in lists]
    grades = _grades(shelf, questions, read, writer)
    values = {
        key: np.array([_gain(each[key], own) for each, own in zip(lists, grades, strict=True)])
        for key in ((side, late) for side in _SIDES for late in (False, True))
    }
    return (
        (values["dense", False], values["fused", False]),
        (values["dense", True], values["fused", True]),
    )


def _grades(
    shelf: Shelf, questions: Sequence[Question], read: Sequence[Sequence[int]], writer: "Writer"
) -> list[dict[int, float]]:
    from generator.likelihood import pair_likelihoods

    ids = sorted({key for keys in read for key in keys})
    chunks = {chunk.id: passage(chunk) for chunk in shelf.collection.chunks(ids)}
    place = {key: row for row, key in enumerate(chunks)}
    pairs = [(row, place[key]) for row, keys in enumerate(read) for key in keys if key in place]
    texts = [question.text for question in questions]
    scores = pair_likelihoods(writer, texts, list(chunks.values()), pairs)
    grades: list[dict[int, float]] = []
    start = 0
    for keys in read:
        known = [key for key in keys if key in place]
        own = stretched(scores[start : start + len(known)])
        grades.append(dict(zip(known, own.tolist(), strict=True)))
        start += len(known)
    return grades


def _gain(ranked: Sequence[int], grades: dict[int, float]) -> float:
    discounts = 1 / np.log2(np.arange(2, _TOP + 2))
    best = sorted(grades.values(), reverse=True)[:_TOP]
    ideal = float(np.dot(best, discounts[: len(best)]))
    if not ideal:
        return 1.0  # all alike
    own = [grades.get(key, 0.0) for key in ranked]
    return float(np.dot(own, discounts[: len(own)])) / ideal
