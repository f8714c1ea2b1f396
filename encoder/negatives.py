"""Which of a batch's texts count against a query."""

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from encoder.pairs import Pair

_ABSENT = -1


def known_answers(made: Sequence[Pair]) -> Tensor:
    """Which of the batch's documents and negatives must not count against a query.

    Those of the same text as its own document or itself, the document of the same query, and the
    places of the negatives that a pair has fewer of than another: bool, (n, n + n k).
    """
    widest = max(len(pair.negatives) for pair in made)
    numbers: dict[str, int] = {}
    number = partial(_numbered, numbers)
    queries = torch.tensor([number(pair.query) for pair in made])
    documents = torch.tensor([number(pair.positive) for pair in made])
    columns = documents.tolist()
    for pair in made:
        filled = [number(text) for text in pair.negatives]
        columns += filled + [_ABSENT] * (widest - len(filled))
    column = torch.tensor(columns)
    same = (column == documents[:, None]) | (column == queries[:, None]) | (column == _ABSENT)
    same[:, : len(made)] |= queries[:, None] == queries[None, :]
    return same


def places(made: Sequence[Pair], widest: int) -> Tensor:
    """Where each pair's negatives stand among all: (n, k); filled up with the first of all."""
    rows: list[list[int]] = []
    start = 0
    for pair in made:
        count = len(pair.negatives)
        rows.append([*range(start, start + count)] + [0] * (widest - count))
        start += count
    return torch.tensor(rows)


def _numbered(numbers: dict[str, int], text: str) -> int:
    return numbers.setdefault(text, len(numbers))
