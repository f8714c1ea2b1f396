"""Teaching an encoder–decoder with pairs: every token of the target at once, by teacher forcing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer import masks
from transformer.errors import TrainingError
from transformer.training import Pass

_POOL = 20  # batches whose pairs are sorted together: short enough to stay random


class Pair(NamedTuple):
    """Ids of a source and its target; nothing is put around them yet."""

    source: tuple[int, ...]
    target: tuple[int, ...]


class Batch(NamedTuple):
    """Pairs side by side. What the model is to say stands one place behind what it reads."""

    source: Tensor  # (b, t), padded on the right
    source_mask: Tensor | None  # (b, t), False at padding; None where there is none
    target: Tensor  # (b, s), the begin token first
    labels: Tensor  # (b, s), the end token last; IGNORED behind it

    def to(self, device: torch.device) -> "Batch":
        return Batch(*(None if each is None else each.to(device) for each in self))  # type: ignore[arg-type]


IGNORED = -100  # what cross-entropy passes over


@dataclass(frozen=True, slots=True)
class Marks:
    """Ids around a target, and behind what is shorter than its neighbours."""

    begin: int
    end: int
    pad: int


class Translating:
    """The task: a model that maps (source, source mask, target) to logits learns from pairs.

    Args:
        model: `Seq2Seq`, or any other that is called as `Seq2Seq.forward` is
        pairs: to learn from
        held_out: to measure on; empty: the last weights are taken
        marks: around targets
        rows: pairs of a batch
        smoothing: share of a label that is spread over all tokens (Szegedy et al. 2016, §7)

    Raises:
        TrainingError: a source or a target is empty.
    """

    def __init__(
        self,
        model: nn.Module,
        pairs: Sequence[Pair],
        held_out: Sequence[Pair],
        marks: Marks,
        *,
        rows: int = 32,
        smoothing: float = 0.1,
    ) -> None:
        for number, pair in enumerate([*pairs, *held_out]):
            if not all(pair):
                raise TrainingError(f"pair {number + 1} has an empty side; leave it out")
        self._model, self._pairs, self._held_out = model, pairs, held_out
        self.marks, self.rows, self.smoothing = marks, rows, smoothing

    @property
    def model(self) -> nn.Module:
        return self._model

    def epoch(self, rng: torch.Generator) -> Sequence[Sequence[int]]:
        order = torch.randperm(len(self._pairs), generator=rng).tolist()
        batches = list(_alike(self._pairs, order, self.rows))
        return [batches[i] for i in torch.randperm(len(batches), generator=rng).tolist()]

    def backward(self, batch: Sequence[int], rng: torch.Generator) -> Pass:
        told = self._batch([self._pairs[i] for i in batch])
        logits = self._model(told.source, told.source_mask, told.target)
        labels = told.labels.flatten()
        loss = F.cross_entropy(
            logits.flatten(0, 1), labels, ignore_index=IGNORED, label_smoothing=self.smoothing
        )
        loss.backward()  # type: ignore[no-untyped-call]
        pairs = (self._pairs[i] for i in batch)
        return Pass(float(loss.detach()), sum(len(p.source) + len(p.target) + 1 for p in pairs))

    def evaluate(self) -> Mapping[str, float]:
        if not self._held_out:
            return {}
        return self.measure(self._held_out)

    def measure(self, pairs: Sequence[Pair]) -> Mapping[str, float]:
        """`log_likelihood` of a token of the targets, and `accuracy`, both by teacher forcing."""
        likelihood = right = tokens = 0.0
        for some in _alike(pairs, list(range(len(pairs))), self.rows):
            told = self._batch([pairs[i] for i in some])
            logits = self._model(told.source, told.source_mask, told.target).flatten(0, 1).float()
            labels = told.labels.flatten()
            lost = F.cross_entropy(logits, labels, ignore_index=IGNORED, reduction="sum")
            likelihood -= float(lost)
            right += int((logits.argmax(-1) == labels).sum())
            tokens += int((labels != IGNORED).sum())
        return {"log_likelihood": likelihood / tokens, "accuracy": right / tokens}

    def _batch(self, pairs: Sequence[Pair]) -> Batch:
        return batch(pairs, self.marks).to(next(self._model.parameters()).device)


def batch(pairs: Sequence[Pair], marks: Marks) -> Batch:
    """Pairs as tensors, the marks around their targets."""
    source, mask = padded([pair.source for pair in pairs], marks.pad)
    target, _ = padded([(marks.begin, *pair.target) for pair in pairs], marks.pad)
    labels, _ = padded([(*pair.target, marks.end) for pair in pairs], IGNORED)
    return Batch(source, mask, target, labels)


def padded(rows: Sequence[Sequence[int]], pad: int) -> tuple[Tensor, Tensor | None]:
    """Ids (b, s) padded on the right, and their mask (b, s); None where nothing is padded."""
    counts = [len(row) for row in rows]
    width = max(counts)
    tokens = torch.tensor([[*row, *[pad] * (width - len(row))] for row in rows])
    if min(counts) == width:
        return tokens, None
    return tokens, masks.lengths(torch.tensor(counts), width)


def _alike(pairs: Sequence[Pair], order: Sequence[int], rows: int) -> Iterator[list[int]]:
    """Indices in batches of similar lengths, so that little of the arithmetic goes into padding."""
    for start in range(0, len(order), rows * _POOL):
        pool = sorted(order[start : start + rows * _POOL], key=lambda i: _size(pairs[i]))
        for at in range(0, len(pool), rows):
            yield pool[at : at + rows]


def _size(pair: Pair) -> tuple[int, int]:
    return len(pair.target), len(pair.source)
