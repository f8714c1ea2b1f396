"""A race: ours and its peers on the same work, as one table of rates and ratios."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from benchmarks.rounds import Timed, alternate, present, rate, times_as_fast
from benchmarks.table import Cell, Row

OURS = "attest"


@dataclass(frozen=True, slots=True)
class Race:
    """Who runs, for how much work, and how much faster than each peer we mean to be."""

    unit: str  # of the rate: texts_per_s
    work: float  # pieces that one run does
    ours: Timed
    peers: Mapping[str, Callable[[], Timed]]  # made here: one that cannot be made is a row
    targets: Mapping[str, float] = field(default_factory=dict)  # peer to times as fast


def run(race: Race, rounds: int) -> list[Row]:
    """Ours first, then the peers in order; a missing one says why."""
    peers, absent = present(race.peers)
    seconds = alternate({OURS: race.ours, **peers}, rounds)
    rows: list[Row] = []
    for name in (OURS, *race.peers):
        if name in absent:
            rows.append({"name": name, "missing": absent[name]})
            continue
        row: dict[str, Cell] = {"name": name, race.unit: rate(race.work, seconds[name])}
        if name != OURS:
            row["attest_times_as_fast"] = times_as_fast(seconds[OURS], seconds[name])
            row["target"] = race.targets.get(name)
        rows.append(row)
    return rows
