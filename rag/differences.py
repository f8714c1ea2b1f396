"""What differs between two versions of a text, sentence by sentence."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from rag.sentences import sentences

_MOST = 20  # differences that are told
_SENTENCES = 4000  # of a text: more would take minutes to compare

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Difference:
    """What one text has where the other has something else; either may be empty.

    `before` stands verbatim at `before_start` of the first text, `after` of the second.
    """

    before: str
    after: str
    before_start: int
    after_start: int


def differences(one: str, other: str) -> tuple[tuple[Difference, ...], int]:
    """What changes from one text to another, in reading order, and how many changes are left out.

    Spaces and line ends are no difference.
    """
    left, right = sentences(one)[:_SENTENCES], sentences(other)[:_SENTENCES]
    plain = [" ".join(one[a:b].split()) for a, b in left]
    theirs = [" ".join(other[a:b].split()) for a, b in right]
    matcher = SequenceMatcher(None, plain, theirs, autojunk=False)
    found = [
        each
        for kind, a, b, c, d in matcher.get_opcodes()
        if kind != "equal"
        for each in _paired(one, other, left[a:b], right[c:d])
    ]
    return tuple(found[:_MOST]), max(0, len(found) - _MOST)


def _paired(one: str, other: str, left: list[Span], right: list[Span]) -> Iterator[Difference]:
    """The sentences of a change side by side, as many as there are on the longer side."""
    for i in range(max(len(left), len(right))):
        a, b = left[i] if i < len(left) else (0, 0)
        c, d = right[i] if i < len(right) else (0, 0)
        yield Difference(one[a:b], other[c:d], a, c)
