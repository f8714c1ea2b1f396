"""What a generator's likelihoods say of the sources of claims."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag.records import Certificate

if TYPE_CHECKING:
    from generator.attribute import Read, Reading, Subset
    from generator.blocks import PassageCaches

# Nats a token. On the 24 questions that benchmarks.certificates leaves out of its figures, short
# answers of the model untuned: no other sentence was ever worth 0.2, and 21 of the 24 gold ones
# were; behind the gold one alone no answer fell by 0.2, behind another one alone 93 % did. Quoted
# sentences all fell by more than 1.5, so that short answers decide.
NEEDED = 0.2
KEPT = 0.2

_FEW = 2  # groups of sources, up to which every subset is scored: a reader is waiting


@dataclass(frozen=True, slots=True)
class Changed:
    """A claim and its sources with one fact changed in them."""

    claim: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """A line of an answer, as the model would write it, and what it rests on."""

    text: str
    group: int
    changed: Changed | None  # None where there is no fact to change


@dataclass(frozen=True, slots=True)
class Case:
    """Claims and their sources.

    Attributes:
        question: as asked
        claims: in the order of the certificates
        sources: as they stand in a prompt, in their order
        groups: places of sources that are taken out together
    """

    question: str
    claims: tuple[Claim, ...]
    sources: tuple[str, ...]
    groups: tuple[tuple[int, ...], ...]

    def behind(self, subset: Iterable[int]) -> tuple[str, ...]:
        """The sources of these groups."""
        places = sorted(place for group in subset for place in self.groups[group])
        return tuple(self.sources[place] for place in places)


def examine(
    case: Case, caches: "PassageCaches", *, declined: str, most: int, few: int = _FEW
) -> list[Certificate]:
    """A certificate for each claim, up to the one whose scoring would be too much.

    Args:
        case: what is asked of the model
        caches: of the model, behind the words that it is asked with
        declined: how the model declines; empty where it was not taught to
        most: tokens that may go through the model, were nothing of the sources kept
        few: groups, up to which every subset is scored; of more, the three that matter most

    Raises:
        LengthError: a reading is longer than the model has places.
        ModelError: the model's numbers are broken.
    """
    from generator.attribute import read

    asked = [_readings(case, claim, caches, declined, few) for claim in case.claims]
    asked = asked[: _affordable(case.question, asked, caches, most)]
    found = iter(read(caches, case.question, [reading for some in asked for reading in some]))
    return [
        _certificate(case, claim, [next(found) for _ in some], few)
        for claim, some in zip(case.claims, asked, strict=False)
    ]


def _subsets(case: Case, group: int, few: int) -> "tuple[Subset, ...]":
    from generator.attribute import subsets

    everything = range(len(case.groups))
    if len(everything) <= few:
        return subsets(len(everything))
    without = tuple(i for i in everything if i != group)
    return without, (group,), tuple(everything)


def _readings(
    case: Case, claim: Claim, caches: "PassageCaches", declined: str, few: int
) -> "list[Reading]":
    """A claim behind subsets of the sources, and last behind its changed source alone."""
    from generator.attribute import Reading, up_to_parting

    encode = caches.tokenizer.encode
    answer = tuple(encode(claim.text))
    instead = (tuple(encode(declined)),) if declined else ()
    some = _subsets(case, claim.group, few)
    readings = [Reading(case.behind(subset), answer, instead) for subset in some]
    if claim.changed is not None:
        other = tuple(encode(claim.changed.claim))
        cut = up_to_parting(answer, other)
        readings.append(Reading(claim.changed.sources, cut, (other, *instead)))
    return readings


def _affordable(
    question: str, asked: "Sequence[Sequence[Reading]]", caches: "PassageCaches", most: int
) -> int:
    """How many claims can be scored with so many tokens."""
    around = len(caches.question(question))
    sources = set[str]()
    for n, some in enumerate(asked):
        new = {text for reading in some for text in reading.sources} - sources
        most -= sum(len(caches.passage(text)[0]) for text in new)
        most -= sum(around + len(reading.answer) for reading in some)
        if most < 0:
            return n
        sources |= new
    return len(asked)


def _certificate(case: Case, claim: Claim, found: "Sequence[Read]", few: int) -> Certificate:
    from generator.attribute import Scores

    some = _subsets(case, claim.group, few)
    behind, changed = found[: len(some)], found[len(some) :]
    means = tuple(float(each.scores.mean()) for each in behind)
    table = Scores(some, means, tuple(gap for each in behind for gap in each.gaps))
    return Certificate(
        necessary=table.necessary(claim.group, margin=NEEDED),
        sufficient=table.sufficient(claim.group, margin=KEPT),
        follows=any(gap > 0 for gap in changed[0].gaps) if changed else None,
        drop=table.drop(claim.group),
        alone=table.shortfall(claim.group),
    )
