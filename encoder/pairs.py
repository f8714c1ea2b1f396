"""Texts that belong together, made out of plain text: what contrast learns from.

Everything random is drawn from `rng`, so that a run that is taken up again sees the same pairs.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Literal, TypeVar

import torch

from transformer.corpus_files import Document

Kind = Literal["crops", "titles", "contexts", "same", "given", "graded"]

_SENTENCE_END = re.compile(r"(?<=[.!?。])[\"'”’)]*\s+")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pair:
    """A question and its answer, or any two texts of which one is to find the other."""

    query: str
    positive: str
    negatives: tuple[str, ...] = ()  # near, and wrong


@dataclass(frozen=True, slots=True)
class Graded:
    """Two texts and how alike people found them, on any scale."""

    left: str
    right: str
    grade: float


@dataclass(frozen=True, slots=True)
class Sources:
    """What pairs are made of. Scores and questions of a test set have no place here."""

    documents: Sequence[Document] = ()
    sentences: Sequence[str] = ()
    pairs: Sequence[Pair] = ()
    graded: Sequence[Graded] = ()


@dataclass(frozen=True, slots=True)
class Shares:
    """How many batches are of each kind, relative to one another."""

    crops: float = 0.0  # two places of one document that do not overlap
    titles: float = 0.0  # a document's title and its text
    contexts: float = 0.0  # a sentence, and the rest of its document
    same: float = 0.0  # a sentence and itself, under two dropouts and deletions
    given: float = 0.0  # pairs from a file
    graded: float = 0.0  # graded pairs from a file

    def __post_init__(self) -> None:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        if any(value < 0 for value in values.values()) or not any(values.values()):
            raise ValueError(f"shares must be at least 0, and one of them over it: {values}")


@dataclass(frozen=True, slots=True)
class Making:
    """How a text becomes a pair; words are what stands between spaces."""

    shortest: int = 6  # words of a crop
    longest: int = 60
    crop_deletion: float = 0.1  # share of the words of a crop (Izacard et al. 2022, §3.2)
    same_deletion: float = 0.0  # share of the words of a sentence beside itself
    keep: float = 0.1  # share of contexts that keep their sentence (Lee et al. 2019, §9.2)

    def __post_init__(self) -> None:
        if not 1 <= self.shortest <= self.longest:
            raise ValueError(
                f"shortest ({self.shortest}) must be at least 1 and at most longest "
                f"({self.longest})"
            )
        for name in ("crop_deletion", "same_deletion", "keep"):
            if not 0 <= (share := getattr(self, name)) < 1:
                raise ValueError(f"{name} ({share}) must be at least 0 and below 1")


@dataclass(frozen=True, slots=True)
class Material:
    """The sources, sorted by what can be made of them."""

    crops: Sequence[Document] = ()
    titles: Sequence[Document] = ()
    contexts: Sequence[Document] = ()
    same: Sequence[str] = ()
    given: Sequence[Pair] = ()
    graded: Sequence[Graded] = ()
    making: Making = field(default_factory=Making)

    def count(self, kind: Kind) -> int:
        return len(getattr(self, kind))

    def pair(self, kind: Kind, place: int, rng: torch.Generator) -> Pair:
        """The pair that the text at a place gives this time; graded ones without their grade."""
        match kind:
            case "crops":
                return crops(self.crops[place].text, rng, self.making)
            case "titles":
                return Pair(self.titles[place].title, self.titles[place].text)
            case "contexts":
                return context(self.contexts[place].text, rng, keep=self.making.keep)
            case "same":
                text, share = self.same[place], self.making.same_deletion
                return Pair(deleted(text, share, rng), deleted(text, share, rng))
            case "given":
                return self.given[place]
            case "graded":
                return Pair(self.graded[place].left, self.graded[place].right)


def sort(sources: Sources, making: Making) -> Material:
    """Every text where it fits: crops need room for two, contexts two sentences."""
    documents = sources.documents
    return Material(
        crops=[d for d in documents if len(d.text.split()) >= 2 * making.shortest],
        titles=[d for d in documents if d.title.strip() and d.text.strip()],
        contexts=[d for d in documents if len(sentences(d.text)) > 1],
        same=[text for text in dict.fromkeys(sources.sentences) if text.strip()],
        given=sources.pairs,
        graded=sources.graded,
        making=making,
    )


def crops(text: str, rng: torch.Generator, making: Making) -> Pair:
    """Two places of a text that do not overlap, some words of both left out."""
    words = text.split()
    longest = min(making.longest, len(words) // 2)
    one, two = (_below(longest - making.shortest + 1, rng) + making.shortest for _ in range(2))
    free = len(words) - one - two
    first, second = sorted(_below(free + 1, rng) for _ in range(2))
    left = words[first : first + one]
    right = words[second + one : second + one + two]
    share = making.crop_deletion
    return Pair(deleted(" ".join(left), share, rng), deleted(" ".join(right), share, rng))


def context(text: str, rng: torch.Generator, *, keep: float) -> Pair:
    """A sentence and what stands around it (inverse cloze, Lee et al. 2019, §4)."""
    parts = sentences(text)
    place = _below(len(parts), rng)
    kept = float(torch.rand((), generator=rng)) < keep
    around = parts if kept else parts[:place] + parts[place + 1 :]
    return Pair(parts[place], " ".join(around))


def deleted(text: str, share: float, rng: torch.Generator) -> str:
    """The text without a random share of its words, but never without all of them."""
    words = text.split()
    if not share or len(words) < 2:
        return text
    stays = (torch.rand(len(words), generator=rng) >= share).tolist()
    if not any(stays):
        stays[_below(len(words), rng)] = True
    return " ".join(word for word, stay in zip(words, stays, strict=True) if stay)


def sentences(text: str) -> list[str]:
    """Cut behind full stops, question and exclamation marks: near enough for pairs."""
    return [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]


def epoch(
    counts: Mapping[Kind, int], shares: Mapping[Kind, float], size: int, rng: torch.Generator
) -> list[tuple[Kind, tuple[int, ...]]]:
    """Batches of one kind each, in which every text stands once at most.

    There are as many as one pass over everything takes; a kind with a large share and little text
    comes round several times.

    Args:
        counts: how many texts there are of each kind
        shares: of the batches, relative to one another; a kind without is left out
        size: pairs in a batch
    """
    kinds = [kind for kind in counts if shares[kind] > 0]
    if not kinds:
        return []
    weights = torch.tensor([shares[kind] for kind in kinds], dtype=torch.float64)
    total = sum(max(1, counts[kind] // size) for kind in kinds)
    drawn = torch.multinomial(weights, total, replacement=True, generator=rng).tolist()
    streams = {kind: _stream(counts[kind], size, rng) for kind in kinds}
    return [(kinds[i], next(streams[kinds[i]])) for i in drawn]


def _stream(n: int, size: int, rng: torch.Generator) -> Iterator[tuple[int, ...]]:
    """Whole batches of one order after another; what is left over of an order waits for another."""
    size = min(size, n)
    while True:
        order = torch.randperm(n, generator=rng).tolist()
        for start in range(0, n - size + 1, size):
            yield tuple(order[start : start + size])


def split(items: Sequence[T], share: float, rng: torch.Generator) -> tuple[list[T], list[T]]:
    """Most of them, and a random share to hold out."""
    held = set(torch.randperm(len(items), generator=rng)[: int(share * len(items))].tolist())
    kept = [item for i, item in enumerate(items) if i not in held]
    return kept, [items[i] for i in sorted(held)]


def _below(n: int, rng: torch.Generator) -> int:
    return int(torch.randint(n, (), generator=rng))
