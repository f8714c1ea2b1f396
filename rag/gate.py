"""Whether what a library learned is put to use: only where it is better with confidence.

That a question's cosines follow their teacher on other questions proves nothing: a wrong teacher
is followed as well. Three kinds of evidence do not come from the teacher. In this order, the first
that there is enough of decides, and by none of the others may the fused list, which is what people
are shown, be worse with confidence:

    judged       what people opened and praised for questions that were not learned from
    likelihood   how likely the generator, which did not teach, finds those questions behind what
                 they find now and behind what they found before
    known items  questions made of documents that nothing was learned from, in another manner than
                 those that were learned from; right is where they are from

Then two checks of soundness: text of the project's own must be told apart as before (`rag.drift`),
and the library must be text at all, since shuffled words can be found by their letters and teach
nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from rag.drift import LIKENESS, LOST, Drift
from rag.metrics import Difference, paired

if TYPE_CHECKING:
    from encoder import Embedder

Kind = Literal["judged", "likelihood", "known items"]

LEAST = 30  # questions, below which no evidence decides
COHERENT = 0.65  # share of pairs; shuffled words have a half
_HARM = 1.0  # points that the fused list may lose on average, within chance

_FEWEST = 12  # words of a passage whose halves are compared


@dataclass(frozen=True, slots=True)
class Evidence:
    """What questions that were not learned from say, in points of nDCG@10 (0 to 100)."""

    kind: Kind
    questions: int
    dense_before: float
    dense: Difference
    fused_before: float
    fused: Difference

    @property
    def better(self) -> bool:
        """By meaning with confidence, and no worse beside the words."""
        return self.dense.better and self.fused.mean >= -_HARM and self.fused.high >= 0

    @property
    def worse(self) -> bool:
        return self.dense.high < 0 or self.fused.high < 0


@dataclass(frozen=True, slots=True)
class Verdict:
    accepted: bool
    reason: str  # one sentence with the numbers that decided


def weighed(
    kind: Kind,
    before: tuple[NDArray[np.float64], NDArray[np.float64]],
    after: tuple[NDArray[np.float64], NDArray[np.float64]],
    rng: np.random.Generator,
) -> Evidence:
    """Evidence out of each question's nDCG (0 to 1), dense and fused."""
    scaled = [(100 * old, 100 * new) for old, new in zip(before, after, strict=True)]
    (dense, dense_after), (fused, fused_after) = scaled
    return Evidence(
        kind,
        len(dense),
        float(dense.mean()),
        paired(dense, dense_after, rng=rng),
        float(fused.mean()),
        paired(fused, fused_after, rng=rng),
    )


def decide(evidence: Sequence[Evidence], moved: Drift, coherence: float) -> Verdict:
    """The verdict of the evidence, in the order in which it counts."""
    if coherence < COHERENT:
        return Verdict(
            False,
            f"the library does not read like text: the halves of one passage are nearer to each "
            f"other than to those of another in {coherence:.0%} of the pairs, chance is 50%, "
            f"{COHERENT:.0%} is asked; add documents of running text",
        )
    if not moved.bearable:
        return Verdict(
            False,
            f"the encoder forgot what it knew: how alike questions of the project's own are "
            f"correlates {moved.likeness:.2f} with how alike they were ({LIKENESS:g} is asked), "
            f"and {moved.pairs_after:.0%} of the Korean ones find their English (before: "
            f"{moved.pairs_before:.0%}, {LOST:.0%} may be lost)",
        )
    enough = [each for each in evidence if each.questions >= LEAST]
    if not enough:
        most = max((each.questions for each in evidence), default=0)
        return Verdict(
            False,
            f"{most} questions are held out, {LEAST} are needed to tell a gain from chance: ask "
            "more questions, or add more documents",
        )
    first, *others = enough
    worse = [first] if first.worse else [each for each in others if each.fused.high < 0]
    if worse:
        return Verdict(False, f"worse with confidence: {_numbers(worse[0])}")
    if not first.better:
        return Verdict(False, f"not better with confidence: {_numbers(first)}")
    return Verdict(True, f"better with confidence: {_numbers(first)}")


def coherence(embedder: "Embedder", texts: Sequence[str]) -> float:
    """How often the halves of one passage are nearer to each other than halves of two, 0 to 1."""
    halves = [_halves(text) for text in texts if len(text.split()) >= _FEWEST]
    if len(halves) < 2:
        return 0.5
    first = embedder.embed_documents([half for half, _ in halves])
    second = embedder.embed_documents([half for _, half in halves])
    cosines = first @ second.T  # (n, n)
    own = np.diag(cosines)[:, None]
    apart = ~np.eye(len(halves), dtype=bool)
    return float((own > cosines)[apart].mean())


def _halves(text: str) -> tuple[str, str]:
    words = text.split()
    middle = len(words) // 2
    return " ".join(words[:middle]), " ".join(words[middle:])


def _numbers(each: Evidence) -> str:
    return (
        f"on {each.questions} questions held out ({each.kind}), by meaning "
        f"{_change(each.dense)} from {each.dense_before:.1f}, fused {_change(each.fused)} from "
        f"{each.fused_before:.1f} points of nDCG@10"
    )


def _change(difference: Difference) -> str:
    return f"{difference.mean:+.1f} [{difference.low:+.1f}, {difference.high:+.1f}]"
