"""Which texts share a row, so that hardly any of the arithmetic goes into padding."""

from bisect import bisect_left, insort
from collections.abc import Sequence


def best_fit(lengths: Sequence[int], room: int) -> tuple[list[list[int]], list[tuple[int, int]]]:
    """Fill rows of `room` with whole texts: longest first, each where it fits best.

    Returns:
        the texts of each row, and for each text its row and its number in it, from 1
    """
    bins: list[list[int]] = []
    places = [(0, 0)] * len(lengths)
    open_: list[tuple[int, int]] = []  # (room left, row), sorted
    for i in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        at = bisect_left(open_, (lengths[i], -1))
        if at == len(open_):
            left, row = room, len(bins)
            bins.append([])
        else:
            left, row = open_.pop(at)
        bins[row].append(i)
        places[i] = (row, len(bins[row]))
        if left > lengths[i]:
            insort(open_, (left - lengths[i], row))
    return bins, places
