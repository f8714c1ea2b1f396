"""Rows of token ids to batches: similar lengths together, so that little is padding."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from transformer import masks

_POOL = 50  # batches whose rows are sorted together: short enough to stay random


def by_length(lengths: Sequence[int], *, tokens: int = 4096) -> Iterator[list[int]]:
    """Indices of rows, longest first, each batch of at most so many tokens, padding included."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    start = 0
    while start < len(order):
        rows = max(1, tokens // max(1, lengths[order[start]]))
        yield order[start : start + rows]
        start += rows


def shuffled(lengths: Sequence[int], size: int, rng: torch.Generator) -> list[list[int]]:
    """Every index once, in batches of `size` rows of similar length, in random order."""
    order = torch.randperm(len(lengths), generator=rng).tolist()
    batches = []
    for start in range(0, len(order), size * _POOL):
        pool = sorted(order[start : start + size * _POOL], key=lengths.__getitem__)
        batches += [pool[i : i + size] for i in range(0, len(pool), size)]
    return [batches[i] for i in torch.randperm(len(batches), generator=rng).tolist()]


def padded(rows: Sequence[Sequence[int]], pad_id: int) -> tuple[Tensor, Tensor | None]:
    """Ids (b, s) padded on the right, and their mask (b, s); None where nothing is padded."""
    counts = [len(row) for row in rows]
    width = max(counts)
    tokens = torch.tensor([[*row, *[pad_id] * (width - len(row))] for row in rows])
    if min(counts) == width:
        return tokens, None
    return tokens, masks.lengths(torch.tensor(counts), width)
