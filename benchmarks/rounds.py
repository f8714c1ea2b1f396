"""Alternated timing: every contender runs once a round, so that a busy machine slows all of them.

A ratio is taken within each round; its spread over the rounds says how far it can be trusted.
"""

import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

Timed = Callable[[], float]  # does the work once and gives the seconds that count

_PAUSE_S = 0.2  # between contenders: worker threads go on spinning for a while after their work


@dataclass(frozen=True, slots=True)
class Spread:
    """What came out over the rounds."""

    min: float
    median: float
    max: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Self:
        ordered = sorted(values)
        return cls(ordered[0], statistics.median(ordered), ordered[-1])


class Missing(Exception):
    """A contender that cannot take part here. The message says why."""


def timed(work: Callable[[], object]) -> Timed:
    """All of the work counts."""

    def run() -> float:
        began = time.perf_counter()
        work()
        return time.perf_counter() - began

    return run


def present(makers: Mapping[str, Callable[[], Timed]]) -> tuple[dict[str, Timed], dict[str, str]]:
    """Those that can be made on this machine, and why the others cannot."""
    made, absent = {}, {}
    for name, make in makers.items():
        try:
            made[name] = make()
        except ImportError as error:
            absent[name] = f"not installed ({error})"
        except Missing as error:
            absent[name] = str(error)
    return made, absent


def alternate(contenders: Mapping[str, Timed], rounds: int) -> dict[str, list[float]]:
    """Seconds of each contender in each round, after a round that does not count."""
    names = list(contenders)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(rounds + 1):
        for name in names if turn % 2 else reversed(names):
            time.sleep(_PAUSE_S)
            taken = contenders[name]()
            if turn:
                seconds[name].append(taken)
    return seconds


def rate(work: float, seconds: Sequence[float]) -> Spread:
    """Pieces of work a second."""
    return Spread.of(work / taken for taken in seconds)


def times_as_fast(ours: Sequence[float], peer: Sequence[float]) -> Spread:
    """How many times as fast as the peer we are, round by round."""
    return Spread.of(theirs / mine for mine, theirs in zip(ours, peer, strict=True))
