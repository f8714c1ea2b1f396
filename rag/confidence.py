"""Whether the documents answer a question: a probability from its evidence, never from a rank.

A fused score says only which hit is the best; its top is high for any question. A small logistic
model reads `rag.features`. Its weights ship with the product; what a library adds to them, in
`rag.declining`, moves and stretches its log-odds, so that little data cannot spoil the order.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from index.analysis import content_words
from rag.evidence import Evidence, share
from rag.features import Features, features, passage_text, unheard
from rag.records import SearchResult
from rag.unrelated import above_unrelated

_NEAR_ENOUGH = 0.45  # of 0.7 x the best similarity + 0.3 x the best passage's share of the words
_WORDS_ENOUGH = 0.25  # of the words, where there is no similarity
_UNKNOWN = 0.25  # of the question's words may stand nowhere in the library, where words decide
_FARTHEST = 30.0  # log-odds, beyond which a probability is as good as 0 or 1


@dataclass(frozen=True, slots=True)
class Weights:
    """A logistic model of features, any of which may be missing."""

    bias: float
    of: Mapping[str, float]  # of a feature, by its name
    lacking: Mapping[str, float] = field(default_factory=dict)  # instead, where it is None

    def log_odds(self, features: Features) -> float:
        """Of the answer being supported; above 0 it is likelier than not."""
        odds = self.bias
        for name, weight in self.of.items():
            value: float | None = getattr(features, name)
            odds += self.lacking.get(name, 0.0) if value is None else weight * value
        return odds


# From `python -m benchmarks.declining fit`, on sets that may be used and had taught nothing before.
# They are English; Korean questions are parted by the weights better than English ones. The other
# features had no weight there, or took away on questions that people wrote (the lead of the best
# passage: a library holds more on a subject than one question's answer).
# Without a judge, rounded: 0 declined one in twenty answerable questions. The weight of declining
# is of 90 questions that the grounded generator was kept from learning: 1.5 by itself, a fifth less
# for what the evidence says already.
MEANING = Weights(
    bias=-6.5,
    of={"near": 9.37, "words": 3.75, "numbers": -0.04, "names": -0.42, "decline": -1.2},
)
# With a judge. A generator's opinion beside it only declined more of what could be answered. Of
# those questions too few ask for an amount that nothing states to fit a weight for it. Where one is
# asked for, 2 % of right sentences lack its kind and most others do (`rag.quantities`); the judge
# knows a part of that.
JUDGED = Weights(
    bias=-4.53,
    of={
        "near": 7.59,
        "words": 2.03,
        "numbers": -3.78,
        "names": -2.78,
        "amount": -2.0,
        "answers": 0.59,
    },
)


def log_odds(features: Features) -> float:
    """Of the answer being supported, by the weights for what is known."""
    return (MEANING if features.answers is None else JUDGED).log_odds(features)


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a library makes of the log-odds: stretched, and moved so that 0 is its threshold."""

    threshold: float  # log-odds, from which on a question is answered
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.threshold) and math.isfinite(self.scale) and self.scale > 0):
            raise ValueError(
                f"threshold ({self.threshold}) and scale ({self.scale}) must be finite, and the "
                "scale above 0: run `attest calibrate` again"
            )

    def probability(self, log_odds: float) -> float:
        moved = self.scale * (log_odds - self.threshold)
        return 1 / (1 + math.exp(-min(max(moved, -_FARTHEST), _FARTHEST)))

    def values(self) -> dict[str, float]:
        """As it is stored."""
        return {"threshold": self.threshold, "scale": self.scale}

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> "Calibration":
        """From `values`, which may hold more."""
        return cls(float(stored["threshold"]), float(stored["scale"]))


@dataclass(frozen=True, slots=True)
class Judgement:
    answerable: bool
    probability: float | None  # that an answer is supported; None until the library is calibrated


def judge(
    question: str,
    evidence: Sequence[Evidence],
    found: SearchResult,
    *,
    unrelated: float,
    calibration: Calibration | None = None,
    decline_probability: float | None = None,
) -> Judgement:
    """Whether to answer a question from its evidence.

    Where the encoder does not speak its language, words decide, and there is no probability.

    Args:
        question: as it was looked for
        evidence: sentences of the hits
        found: the hits
        unrelated: the encoder's cosine of what does not belong together
        calibration: of this library and these models; None: as the product comes
        decline_probability: a grounded generator's, of declining against quoting
    """
    if not evidence:
        return Judgement(False, None)
    if all(e.similarity is None for e in evidence):
        return Judgement(_by_words(found), None)
    known = features(
        question,
        evidence,
        found,
        unrelated=unrelated,
        decline_probability=decline_probability,
    )
    odds = log_odds(known)
    if calibration is None:
        return Judgement(odds >= 0, None)
    return Judgement(odds >= calibration.threshold, calibration.probability(odds))


def is_relevant(evidence: Sequence[Evidence], found: SearchResult, unrelated: float) -> bool:
    """Whether a passage comes near enough to the question to be shown or summed up.

    Args:
        evidence: sentences of the hits
        found: the hits
        unrelated: the encoder's cosine of what does not belong together
    """
    if not evidence:
        return False
    similarities = [e.similarity for e in evidence if e.similarity is not None]
    if not similarities:
        return _by_words(found)
    cosines = [hit.dense for hit in found.hits if hit.dense is not None]
    similarities += [above_unrelated(cosine, unrelated) for cosine in cosines]
    return 0.7 * max(similarities) + 0.3 * _overlap(found) >= _NEAR_ENOUGH


def _by_words(found: SearchResult) -> bool:
    return _overlap(found) >= _WORDS_ENOUGH and unheard(found.words) <= _UNKNOWN


def _overlap(found: SearchResult) -> float:
    texts = (passage_text(hit) for hit in found.hits)
    return max((share(set(content_words(text)), found.words) for text in texts), default=0.0)
