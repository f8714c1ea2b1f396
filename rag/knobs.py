"""Two knobs of a library: how much meaning counts beside words, and the generator's vote.

They are turned only by questions of people with documents that are right. Questions made of the
text repeat its words, and would always vote for words.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rag.gate import LEAST
from rag.metrics import Difference, paired
from rag.practice import Found, Question, Shelf
from rag.records import Hit
from rag.rerank import TOP, WEIGHT, Reranker

if TYPE_CHECKING:
    from generator import Writer

WEIGHTS = tuple(tenth / 10 for tenth in range(11))  # words alone and meaning alone included
_VOTED = 100  # questions: each takes the generator a second


@dataclass(frozen=True, slots=True)
class Knob:
    """A setting before and after, and what the change does to the fused list, in points."""

    before: float
    after: float
    change: Difference  # of the other setting that was best, whether it is taken or not
    questions: int


def weight_knob(
    shelf: Shelf,
    questions: Sequence[Question],
    found: Sequence[Found],
    rng: np.random.Generator,
) -> Knob | None:
    """The fusion weight that is better with confidence; None where too few questions are judged.

    Each half of the questions is measured at the weight that the other half chose.
    """
    if len(questions) < LEAST:
        return None
    values = np.stack([100 * shelf.ndcg(questions, found, "fused", w) for w in WEIGHTS])
    now = 100 * shelf.ndcg(questions, found, "fused")
    halves = np.arange(len(questions)) % 2 == 0
    chosen = np.empty_like(now)
    for half in (halves, ~halves):
        chosen[half] = values[_best(values[:, ~half])][half]
    change = paired(now, chosen, rng=rng)
    after = WEIGHTS[_best(values)] if change.better else shelf.weight
    return Knob(shelf.weight, after, change, len(questions))


def vote_knob(
    shelf: Shelf,
    questions: Sequence[Question],
    found: Sequence[Found],
    writer: "Writer",
    *,
    now: float,
    weight: float,
    rng: np.random.Generator,
) -> Knob | None:
    """Whether the generator's vote is better with confidence; None as `weight_knob`.

    Args:
        shelf: the passages
        questions: in a language that the writer speaks
        found: what they find
        writer: has the vote
        now: how much it counts today
        weight: of the dense side in the fused list that is voted on
        rng: of the bootstrap
    """
    if len(questions) < LEAST:
        return None
    some, their = questions[:_VOTED], found[:_VOTED]
    fused = [fused_hits(shelf, each, weight) for each in their]
    reranker = Reranker(writer)
    voted = [reranker(each.text, hits) for each, hits in zip(some, fused, strict=True)]
    before, after = (_values(shelf, some, hits) for hits in (fused, voted))
    change = paired(before, after, rng=rng)
    taken = WEIGHT if change.better else 0.0
    return Knob(now, taken, change, len(some))


def _best(values: NDArray[np.float64]) -> int:
    """The row of the highest mean; of equals the one nearest to the middle."""
    means = values.mean(axis=1).round(6)
    middle = len(WEIGHTS) // 2
    return min(range(len(WEIGHTS)), key=lambda row: (-means[row], abs(row - middle)))


def fused_hits(shelf: Shelf, found: Found, weight: float) -> tuple[Hit, ...]:
    """The best of both sides at a weight, as a search would hand them to a vote."""
    from rag.retrieve import fuse

    ids, scores = fuse(found.dense, found.lexical, weight)
    fused = dict(zip(ids.tolist(), scores.tolist(), strict=True))
    chunks = shelf.collection.chunks(ids[: 10 * TOP].tolist())
    return tuple(
        Hit(rank, fused[chunk.id], None, None, chunk) for rank, chunk in enumerate(chunks, 1)
    )


def _values(
    shelf: Shelf, questions: Sequence[Question], hits: Sequence[Sequence[Hit]]
) -> NDArray[np.float64]:
    return 100 * shelf.scored(questions, [[hit.chunk.id for hit in each] for each in hits])
