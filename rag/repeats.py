"""Passages that say the same: versions of a letter, a form that was filled in twice."""

import re
from typing import NamedTuple

_WORD = re.compile(r"\w+")
_ALIKE = 0.85  # of the words of both


class Gist(NamedTuple):
    """What two passages are compared by."""

    words: frozenset[str]
    facts: frozenset[str]  # those with a digit: another number is another statement


def gist_of(text: str) -> Gist:
    words = frozenset(_WORD.findall(text.casefold()))
    return Gist(words, frozenset(word for word in words if any(c.isdigit() for c in word)))


def repeats(one: Gist, other: Gist) -> bool:
    """Whether a passage has nothing that the other does not have as well.

    That is so where they share 85 % of their words (Jaccard) and every number and code.
    """
    if one.facts != other.facts:
        return False
    shared = len(one.words & other.words)
    return shared >= _ALIKE * len(one.words | other.words)
