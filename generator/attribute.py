"""What an answer rests on: its likelihood again, behind fewer of its sources or behind others.

Leave-one-out and its relatives, as exact as sources that are read by themselves allow: dropping
one changes nothing in the others (Cohen-Wang et al. 2024, "ContextCite", of which this scores
all subsets, where they are few, in place of a fit).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from generator.blocks import PassageCaches
from generator.likelihood import log_probabilities, through
from transformer.cache import Joined

Subset = tuple[int, ...]  # places of the sources that are there, in their order

FEW = 4  # sources, up to which every subset is scored

_BATCH = 1024  # tokens that go through the model at once: what comes out stays near the processor
_KEPT = 8192  # positions of sources laid side by side: some 190 MB of a small model
_COPIED = 0.8  # of the words of the shorter text that stand in the longer one
_LEAST = 4  # words of a text that can be a copy
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Reading:
    """An answer behind sources."""

    sources: tuple[str, ...]  # as they shall stand in the prompt, in this order
    answer: tuple[int, ...]  # tokens, at least one
    instead: tuple[tuple[int, ...], ...] = ()  # other answers, compared where they part from it


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """What a model thinks of a reading."""

    scores: NDArray[np.float32]  # log p of each of the answer's tokens
    # Of each other answer: log p of its token where the two part, less that of the answer's.
    gaps: tuple[float, ...] = ()


@torch.inference_mode()
def read(caches: PassageCaches, question: str, readings: Sequence[Reading]) -> list[Read]:
    """Score answers to one question behind the sources that each is given, all in few passes.

    Args:
        caches: of the model that is asked; sources that it has are not computed again
        question: as `PassageCaches.question` writes it
        readings: in any order; what they share is computed once

    Raises:
        ValueError: an answer of no token, or one of which another is only the beginning.
        LengthError: a reading is more than the model has places.
        ModelError: the model's numbers are broken.
    """
    if not all(reading.answer for reading in readings):
        raise ValueError("an answer of no token has no likelihood; give at least one token")
    distinct = list(dict.fromkeys(readings))
    if not distinct:
        return []
    texts = list(dict.fromkeys(text for each in distinct for text in each.sources))
    asked, lengths = caches.question(question), dict[str, int]()
    if caches.movable:
        blocks = caches.blocks(texts)
        lengths = {text: len(block.tokens) for text, block in zip(texts, blocks, strict=True)}
    done: dict[Reading, Read] = {}
    for batch in _batches(distinct, len(asked), lengths):
        done.update(zip(batch, _batch(caches, asked, batch), strict=True))
    return [done[reading] for reading in readings]


def _batches(
    readings: Sequence[Reading], asked: int, lengths: Mapping[str, int]
) -> Iterator[list[Reading]]:
    """Readings of like length together, as many as go through at once."""

    def positions(reading: Reading) -> int:
        return sum(lengths.get(text, 0) for text in reading.sources)

    batch: list[Reading] = []
    for reading in sorted(readings, key=lambda reading: -len(reading.answer)):
        tokens = asked + len((batch or [reading])[0].answer)
        longest = max(map(positions, [*batch, reading]))
        rows = len(batch) + 1
        if batch and (rows * tokens > _BATCH or rows * longest > _KEPT):
            yield batch
            batch = []
        batch.append(reading)
    yield batch


def _batch(caches: PassageCaches, asked: Sequence[int], readings: Sequence[Reading]) -> list[Read]:
    x = _foretelling(caches, asked, readings)  # (b, s, d)
    rows, columns, targets = list[int](), list[int](), list[int]()
    for row, reading in enumerate(readings):
        # Asked once more where another answer parts from it, for the other's token.
        parts = [(_parting(reading.answer, other), other) for other in reading.instead]
        wanted = [*enumerate(reading.answer), *((at, other[at]) for at, other in parts)]
        rows += [row] * len(wanted)
        columns += [len(asked) - 1 + at for at, _ in wanted]
        targets += [token for _, token in wanted]
    scores = log_probabilities(caches.model, x[rows, columns], torch.tensor(targets)).numpy()
    found, start = [], 0
    for reading in readings:
        own = scores[start : start + len(reading.answer)]
        start += len(own)
        others = scores[start : start + len(reading.instead)]
        start += len(others)
        parts_at = [_parting(reading.answer, other) for other in reading.instead]
        found.append(Read(own, tuple(map(float, others - own[parts_at]))))
    return found


def _foretelling(
    caches: PassageCaches, asked: Sequence[int], readings: Sequence[Reading]
) -> Tensor:
    """What the head reads behind the question's tokens and the answers', (b, s, d)."""
    followed = [[*asked, *reading.answer[:-1]] for reading in readings]
    s = max(map(len, followed))
    tokens = torch.zeros(len(readings), s, dtype=torch.long)
    for row, ids in enumerate(followed):  # what is padded behind is seen by nobody
        tokens[row, : len(ids)] = torch.tensor(ids)
    head = caches.head()
    start = head[0].shape[3]
    own = []
    for reading in readings:
        cache = caches.assemble(reading.sources, s)
        stretch = slice(start, cache.length)
        own.append((cache.keys[:, 0, :, stretch], cache.values[:, 0, :, stretch]))
    starts = torch.tensor([start + keys.shape[2] for keys, _ in own])
    joined = Joined(head, own, room=s)
    positions = starts[:, None] + torch.arange(s)
    return through(caches.model, tokens, positions, mask=joined.mask, cache=joined)


def _parting(answer: Sequence[int], other: Sequence[int]) -> int:
    n = min(len(answer), len(other))
    place = next((i for i in range(n) if answer[i] != other[i]), None)
    if place is None:
        raise ValueError("an answer and what is compared with it must part within both")
    return place


def up_to_parting(answer: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
    """The answer's tokens as far as the first that the other has not."""
    return tuple(answer[: _parting(answer, other) + 1])


def subsets(n: int, *, few: int = FEW) -> tuple[Subset, ...]:
    """Of n sources those to score: every one where n is few, else all, none, drop-one and solo."""
    everything = tuple(range(n))
    if n <= few:
        return tuple(some for size in range(n + 1) for some in combinations(everything, size))
    dropped = (tuple(j for j in everything if j != i) for i in everything)
    return ((), *((i,) for i in everything), *dropped, everything)


def grouped(texts: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Places of texts that say the same, together: without one, its copy still gives the answer.

    A copy holds nearly all words of the other, and the same numbers: rows of a table are none.
    """
    words = [set(_WORD.findall(text.casefold())) for text in texts]
    groups: list[list[int]] = []
    for i in range(len(texts)):
        near = [group for group in groups if any(_copies(words[i], words[j]) for j in group)]
        joined = sorted([i, *(j for group in near for j in group)])
        groups = [group for group in groups if group not in near] + [joined]
    return tuple(sorted(tuple(group) for group in groups))


def _copies(a: set[str], b: set[str]) -> bool:
    if a == b:
        return True
    shorter, longer = sorted((a, b), key=len)
    if not {word for word in shorter if any(map(str.isdigit, word))} <= longer:
        return False
    return len(shorter) >= _LEAST and len(shorter & longer) >= _COPIED * len(shorter)


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """An answer's mean log p a token, by the groups of sources that are there.

    Attributes:
        subsets: of groups; all of them at once among these, and each by itself
        means: of each subset
        declining: of each subset, the gap to declining; empty where the model was not taught to
    """

    subsets: tuple[Subset, ...]
    means: tuple[float, ...]
    declining: tuple[float, ...] = ()

    @property
    def everything(self) -> Subset:
        return max(self.subsets, key=len)

    def drop(self, group: int) -> float:
        """How far the answer falls, nats a token, below all behind the best that lack a group."""
        return self._mean(self.everything) - max(self._mean(each) for each in self._without(group))

    def shortfall(self, group: int) -> float:
        """How far it falls behind nothing but a group; below 0 where the others only disturb."""
        return self._mean(self.everything) - self._mean((group,))

    def necessary(self, group: int, *, margin: float) -> bool:
        """Whether it falls by more than a margin without a group, or would be declined."""
        declined = not self._declines(self.everything) and all(
            self._declines(each) for each in self._without(group)
        )
        return declined or self.drop(group) > margin

    def sufficient(self, group: int, *, margin: float) -> bool:
        """Whether a group alone keeps the answer within a margin, and from being declined."""
        return not self._declines((group,)) and self.shortfall(group) <= margin

    def _without(self, group: int) -> list[Subset]:
        return [each for each in self.subsets if group not in each]

    def _mean(self, subset: Subset) -> float:
        return self.means[self.subsets.index(subset)]

    def _declines(self, subset: Subset) -> bool:
        return bool(self.declining) and self.declining[self.subsets.index(subset)] > 0
