"""How near an answer is to those that count as right: exact match and F1 (Rajpurkar et al. 2016).

English is compared by words, without articles; Korean by characters, as KorQuAD does (Lim et al.
2019), for a word there carries its particle.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Literal

By = Literal["words", "characters"]


def exact_match(told: str, right: Sequence[str]) -> float:
    """1 if it is one of the right answers but for case, punctuation, articles and white space.

    No right answer means that none is there: then only an empty one is right.
    """
    if not right:
        return float(not told.strip())
    return float(any(_plain(told).split() == _plain(each).split() for each in right))


def f1(told: str, right: Sequence[str], *, by: By) -> float:
    """The best overlap with a right answer."""
    if not right:
        return float(not told.strip())
    return max(_overlap(_parts(told, by), _parts(each, by)) for each in right)


def _overlap(told: list[str], right: list[str]) -> float:
    if not told or not right:
        return float(told == right)
    return 2 * sum((Counter(told) & Counter(right)).values()) / (len(told) + len(right))


def _parts(text: str, by: By) -> list[str]:
    match by:
        case "words":
            return _plain(text).split()
        case "characters":
            return list("".join(_plain(text).split()))


def _plain(text: str) -> str:
    kept = "".join(c for c in text.lower() if not unicodedata.category(c).startswith("P"))
    return re.sub(r"\b(a|an|the)\b", " ", kept)
