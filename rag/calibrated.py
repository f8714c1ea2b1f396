"""What a calibration found: its figures, and the curve of what it would cost to answer more."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rag.confidence import Calibration

_POINTS = 60  # of a curve, at most


class Point(NamedTuple):
    """Were so many answered, so many of those would be wrong."""

    answered: float  # share of all questions
    wrong: float  # share of the answered ones


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What was fitted, and how it does on the library's own questions."""

    collection: str
    encoder: str  # fingerprint
    generator: str  # fingerprint; "" where none took part
    calibration: Calibration
    documents: int
    questions: int  # whose source the library holds
    left_out: int  # key-phrase questions whose source was left out
    swapped: int  # questions with a number or a name that is not theirs
    held_answered_pct: float
    left_out_declined_pct: float
    swapped_declined_pct: float | None  # None: no question has a number or a name
    auroc: float  # of held against left out
    thumbs: int  # judged questions; they moved the threshold where they are enough
    moved_by_thumbs: bool
    curve: tuple[Point, ...]  # from the surest questions on
    chosen: Point  # on it, where the threshold is

    def figures(self) -> dict[str, Any]:
        """As they are stored, and as programs read them: numbers, and no word of a question."""
        return {
            **self.calibration.values(),
            "documents": self.documents,
            "questions": self.questions,
            "left_out": self.left_out,
            "swapped": self.swapped,
            "held_answered_pct": self.held_answered_pct,
            "left_out_declined_pct": self.left_out_declined_pct,
            "swapped_declined_pct": self.swapped_declined_pct,
            "auroc": round(self.auroc, 3),
            "curve": [_percent(point) for point in self.curve],
            "chosen": _percent(self.chosen),
        }


def risk_curve(
    held: Sequence[float], left_out: Sequence[float], threshold: float
) -> tuple[tuple[Point, ...], Point]:
    """Risk by coverage (El-Yaniv and Wiener 2010), and where a threshold stands on it.

    A question whose source was left out is wrong where it is answered.

    Args:
        held: log-odds of questions whose source is there
        left_out: likewise of those whose source is not
        threshold: from which on a question is answered
    """
    odds = np.concatenate([np.asarray(held, float), np.asarray(left_out, float)])
    wrong = np.concatenate([np.zeros(len(held)), np.ones(len(left_out))])
    surest = np.argsort(-odds, kind="stable")
    odds, wrong = odds[surest], wrong[surest]
    n, missed = len(odds), np.cumsum(wrong)
    # Questions that are equally sure are answered together.
    ends = [i for i in range(n) if i == n - 1 or odds[i] != odds[i + 1]]
    step = max(1, -(-len(ends) // _POINTS))
    kept = sorted({*ends[step - 1 :: step], *ends[-1:]})
    curve = tuple(Point((i + 1) / n, float(missed[i]) / (i + 1)) for i in kept)
    answered = int((odds >= threshold).sum())
    risk = float(missed[answered - 1]) / answered if answered else 0.0
    return curve, Point(answered / n, risk)


def _percent(point: Point) -> dict[str, float]:
    return {
        "answered_pct": round(100 * point.answered, 1),
        "wrong_pct": round(100 * point.wrong, 1),
    }
