"""Sentences that say of whom, or what is not so, only together with the one before them."""

import re
from collections.abc import Sequence
from dataclasses import replace

from rag.evidence import Evidence
from rag.statements import Span, quotable

# What begins so says of whom, or what is not so, in the sentence before.
_LEANS = re.compile(
    r"(?:it|its|they|their|them|this|that|these|those|such|he|she|his|her|both|neither|the latter"
    r"|the former|and|but|or|nor|yet|so|however|otherwise|instead|therefore|thus|then|not|except"
    r"|if so|if not|in (?:that|this|such) (?:case|event))\b"
    r"|(?:그러나|하지만|그런데|그리고|그래서|따라서|또한|다만|단|이때|이 경우|이는|그[는가]"
    r"|[이그]것[은이을]|이들[은이])(?=[\s,])",
    re.IGNORECASE,
)


def with_subjects(evidence: Sequence[Evidence]) -> list[Evidence]:
    """The same evidence; what leans on the sentence before it is quoted together with that.

    No two of them overlap: a sentence that is quoted by itself before is not repeated, and one
    that has become a part of better evidence is left out.
    """
    whole: list[Evidence] = []
    for one in evidence:
        if any(_overlap(one, other) for other in whole):
            continue
        before = _before(one) if _LEANS.match(one.text) else None
        if before is not None:
            longer = replace(one, start=one.hit.chunk.start + before[0])
            one = one if any(_overlap(longer, other) for other in whole) else longer
        whole.append(one)
    return whole


def _before(one: Evidence) -> Span | None:
    """The sentence right before, in the hit's text, if an answer can rest on it."""
    start = one.start - one.hit.chunk.start
    text = one.hit.chunk.text
    last = next((span for span in reversed(quotable(one.hit)) if span[1] <= start), None)
    if last is None or text[last[1] : start].strip() or text.count("\n\n", last[1], start):
        return None
    return last


def _overlap(one: Evidence, other: Evidence) -> bool:
    return one.hit is other.hit and one.start < other.end and other.start < one.end
