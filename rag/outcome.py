"""What came of an adaptation: the record that is stored, shown and drawn."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rag.drift import Drift
from rag.gate import Evidence
from rag.knobs import Knob


@dataclass(frozen=True, slots=True)
class Example:
    """A question that judged, with what it found first by meaning, before and after."""

    question: str
    before: str
    after: str
    change: float  # of its nDCG, in points


@dataclass(frozen=True, slots=True)
class Adaptation:
    """What was tried, what it was judged by, and what came of it."""

    collection: str
    encoder: str
    kind: Literal["query", "both"]  # whether passages learned too
    accepted: bool
    reason: str
    adapter: str | None  # fingerprint of what was learned
    learned: Mapping[str, int]  # questions by where they come from
    evidence: tuple[Evidence, ...]  # in the order in which it counts
    drift: Drift
    coherence: float  # 0 to 1; see `rag.gate`
    weight: Knob | None  # how much meaning counts beside words; None: not tried
    vote: Knob | None  # how much the generator counts beside both; None: not tried
    better: tuple[Example, ...]
    worse: tuple[Example, ...]
    timings_s: Mapping[str, float]
    notes: tuple[str, ...] = ()  # what was asked for and could not be done
