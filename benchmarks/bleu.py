"""BLEU of a corpus (Papineni et al. 2002), on words and marks, whatever their case.

One reference, up to four words, no smoothing: what sacrebleu gives for the same words with
`tokenize="none"`.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence

_ORDERS = 4


def words(text: str) -> list[str]:
    """Runs of letters and digits, and every other mark by itself."""
    return re.findall(r"\w+|[^\w\s]", text.lower())


def bleu(said: Sequence[str], meant: Sequence[str]) -> float:
    """From 0 to 100, of all sentences together, as many said as meant."""
    right, counted = [0] * _ORDERS, [0] * _ORDERS
    length = wanted = 0
    for ours, theirs in zip(map(words, said), map(words, meant), strict=True):
        length, wanted = length + len(ours), wanted + len(theirs)
        for n in range(1, _ORDERS + 1):
            mine, reference = _runs(ours, n), _runs(theirs, n)
            right[n - 1] += (mine & reference).total()
            counted[n - 1] += mine.total()
    if not all(right):
        return 0.0
    precision = sum(math.log(r / c) for r, c in zip(right, counted, strict=True)) / _ORDERS
    return 100 * math.exp(precision + min(0.0, 1 - wanted / length))


def _runs(row: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(row[i : i + n]) for i in range(len(row) - n + 1))
