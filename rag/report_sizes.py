"""Shares of a whole that add up to it."""

from collections.abc import Sequence


def shares(sizes: Sequence[int]) -> list[float]:
    """Percentages with one decimal place that add up to 100 (the largest remainders go up).

    All are 0 where there is nothing.
    """
    whole = sum(sizes)
    if not whole:
        return [0.0] * len(sizes)
    tenths = [1000 * size // whole for size in sizes]
    remainders = sorted(range(len(sizes)), key=lambda i: (-(1000 * sizes[i] % whole), i))
    for i in remainders[: 1000 - sum(tenths)]:
        tenths[i] += 1
    return [tenth / 10 for tenth in tenths]
