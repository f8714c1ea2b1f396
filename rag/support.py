"""Whether the passages bear out a sentence, and which of their own sentences to quote for it."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from index.analysis import content_words
from rag.records import Hit
from rag.statements import gives_orders, quotable

ENOUGH = 0.6  # share of a sentence's content words that must stand in the passage
ALMOST_ALL = 0.9  # of them, in one sentence that states the same

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NAME = re.compile(r"(?<=[\w,;:)] )[A-Z][\w-]*\w|\b[A-Z]{2,}[\w-]*")


def borne_out(sentence: str, passage: str, *, enough: float = ENOUGH) -> bool:
    """Every number, every name and 60 % of the content words of the sentence are in the passage."""
    if not _numbers(sentence) <= _numbers(passage):
        return False
    held = set(content_words(passage))
    if not all(set(content_words(name)) <= held for name in _NAME.findall(sentence)):
        return False
    words = set(content_words(sentence))
    return bool(words) and len(words & held) >= enough * len(words)


def _numbers(text: str) -> set[str]:
    return {number.replace(",", "") for number in _NUMBER.findall(text)}


def stating(sentence: str, hits: Sequence[Hit]) -> tuple[Hit, int, int] | None:
    """A single sentence of a hit that says almost the same, and its span in the document's text."""
    for hit in hits:
        for start, end in quotable(hit):
            if borne_out(sentence, hit.chunk.text[start:end], enough=ALMOST_ALL):
                return hit, hit.chunk.start + start, hit.chunk.start + end
    return None


def supporting(sentence: str, hits: Sequence[Hit]) -> tuple[Hit, int, int] | None:
    """The hit that bears the sentence out, with the span of what in it comes closest.

    The span is a sentence of the hit or two that follow each other. Where one of them bears the
    sentence out by itself, the closest of these is taken.

    Returns:
        hit, start and end within the document's text; None where no hit bears it out
    """
    if gives_orders(sentence):
        return None
    words = set(content_words(sentence))
    for hit in hits:
        text = hit.chunk.text
        if borne_out(sentence, text) and (spans := list(_spans(hit))):
            start, end = max(
                spans,
                key=lambda span: (
                    borne_out(sentence, text[span[0] : span[1]]),
                    _closeness(words, text[span[0] : span[1]]),
                ),
            )
            return hit, hit.chunk.start + start, hit.chunk.start + end
    return None


def _spans(hit: Hit) -> Iterator[tuple[int, int]]:
    """Each sentence of the hit, and each two in a row."""
    own = quotable(hit)
    yield from own
    yield from ((one[0], two[1]) for one, two in pairwise(own))


def _closeness(words: set[str], text: str) -> float:
    own = set(content_words(text))
    return len(words & own) / max(1, len(words | own))
