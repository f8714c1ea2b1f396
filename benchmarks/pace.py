"""Tokens that a model learns from in a second, by the length of the sentences."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from benchmarks.lines import Line
from benchmarks.rounds import Timed, alternate, rate, timed
from benchmarks.table import Table
from generator.seq2seq_training import Marks, Pair, Translating
from transformer.runtime import seeded

_MARKS = Marks(begin=1, end=2, pad=0)
_NOTES = (
    "of source and target together, forward and backward, a batch of pairs of one length; the "
    "models take turns; median (least–most) of the rounds",
    "one state: torch's LSTM goes from token to token; attention: so does our loop, since each "
    "step asks with the state before it; transformer: the whole target at once",
)


def measure(
    makers: Mapping[str, Callable[[int], nn.Module]],
    *,
    lengths: Sequence[int],
    rows: int = 16,
    vocabulary: int = 1000,
    rounds: int = 5,
) -> tuple[Table, list[Line]]:
    """A row for each model and a column for each length in tokens; the medians as lines."""
    models = {name: make(vocabulary) for name, make in makers.items()}
    cells: dict[str, dict[str, Any]] = {name: {"name": name} for name in models}
    points: dict[str, list[tuple[float, float]]] = {name: [] for name in models}
    for length in lengths:
        works = {name: _work(each, length, rows, vocabulary) for name, each in models.items()}
        for name, seconds in alternate(works, rounds).items():
            found = rate(2 * rows * length, seconds)
            cells[name][f"{length} tokens"] = found
            points[name].append((length, found.median))
    title = f"Training: tokens/s, {rows} pairs a batch"
    table = Table("pace", title, tuple(cells.values()), _NOTES)
    return table, [Line(name, tuple(each)) for name, each in points.items()]


def _work(model: nn.Module, length: int, rows: int, vocabulary: int) -> Timed:
    rng = seeded(0)
    ids = torch.randint(3, vocabulary, (2 * rows, length), generator=rng).tolist()
    pairs = [Pair(tuple(ids[i]), tuple(ids[rows + i][1:])) for i in range(rows)]  # and its end
    task = Translating(model, pairs, [], _MARKS, rows=rows)

    def learn() -> None:
        task.backward(range(rows), rng)
        model.zero_grad()

    return timed(learn)
