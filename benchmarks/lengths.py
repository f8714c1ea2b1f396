"""Time and memory of one layer against the length of the text: what grows with its square."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from benchmarks.lines import Line, drawn
from benchmarks.rounds import timed
from benchmarks.table import Row, Table
from transformer import runtime
from transformer.attention import attend, attention_weights

_SHORTEST, _ROUNDS = 64, 5
_HEADS, _HEAD_WIDTH = 4, 64
_NAMES = ("fused attention", "plain attention", "LSTM")
_NOTES = (
    "one text, 256 wide, float32, forward: softmax(q k / √d) v of 4 heads, or an LSTM layer",
    "time: the least of 5 rounds; memory: what the process's peak rose by",
)


def measure(*, most: int = 4096) -> Table:
    """A row for each contender and length, from 64 on, each twice the one before."""
    rows = [row for name in _NAMES for row in _rows(name, most)]
    return Table("lengths", "One layer against the length of the text", tuple(rows), _NOTES)


def draw(table: Table) -> Mapping[str, str]:
    """SVGs: `time`, and `memory` where it could be measured."""
    drawings = {}
    for name, column, unit in (("time", "ms", "milliseconds"), ("memory", "MB", "megabytes")):
        lines = [line for each in _NAMES if (line := _line(table, each, column)).points]
        if lines:
            drawings[name] = drawn(lines, across="tokens", up=unit, logarithmic=True)
    return drawings


def _line(table: Table, name: str, column: str) -> Line:
    points = []
    for row in table.rows:
        tokens, value = row["tokens"], row.get(column)
        if row["name"] == name and isinstance(tokens, int) and isinstance(value, float):
            points += [(float(tokens), value)] * (value > 0)  # nothing has no place on this axis
    return Line(name, tuple(points))


def _rows(name: str, most: int) -> Iterator[Row]:
    tokens = _SHORTEST
    while tokens <= most:
        work = _work(name, tokens)
        with torch.inference_mode():
            work()
            memory = _peak(work)
            seconds = min(timed(work)() for _ in range(_ROUNDS))
        yield {"name": name, "tokens": tokens, "ms": 1000 * seconds, "MB": memory}
        tokens *= 2


def _work(name: str, tokens: int) -> Callable[[], Tensor]:
    rng = runtime.seeded(0)
    shape = (1, _HEADS, tokens, _HEAD_WIDTH)
    q, k, v = (torch.randn(shape, generator=rng) for _ in range(3))
    if name == "LSTM":
        width = _HEADS * _HEAD_WIDTH
        lstm = nn.LSTM(width, width, batch_first=True)
        x = torch.randn(1, tokens, width, generator=rng)
        return lambda: lstm(x)[0]
    if name == "fused attention":
        return lambda: attend(q, k, v, None)
    return lambda: attention_weights(q, k) @ v


def _peak(work: Callable[[], object]) -> float | None:
    """Megabytes by which the process grew at most; None where the system does not tell."""
    reset, status = Path("/proc/self/clear_refs"), Path("/proc/self/status")
    runtime.give_back_memory()
    try:
        reset.write_text("5", encoding="utf-8")  # the peak begins anew
        before = _megabytes(status, "VmRSS")
        work()
        return max(0.0, _megabytes(status, "VmHWM") - before)
    except OSError:
        return None


def _megabytes(status: Path, name: str) -> float:
    lines = status.read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024
