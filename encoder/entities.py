"""Stretches of a text that carry a name, and how they map to tags of tokens and back (BIO)."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entity:
    """text[start:end] is of this kind."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class Tagged:
    """A text with what is to be found in it; its entities do not overlap."""

    text: str
    entities: tuple[Entity, ...]

    def __post_init__(self) -> None:
        last = 0
        for each in sorted(self.entities, key=lambda entity: entity.start):
            if not last <= each.start < each.end <= len(self.text):
                raise ValueError(
                    f"{each.kind} at {each.start}:{each.end} overlaps another one or lies outside "
                    f"the text of {len(self.text)} characters"
                )
            last = each.end


def tags_of(
    entities: Sequence[Entity], offsets: Sequence[tuple[int, int]], kinds: Sequence[str]
) -> list[int]:
    """A tag for each token: 0 outside, 1 + 2 * kind at the beginning, 2 + 2 * kind inside.

    A token belongs to an entity where most of its characters do.
    """
    tags = [0] * len(offsets)
    for entity in entities:
        begins = True
        for i, (start, end) in enumerate(offsets):
            shared = min(end, entity.end) - max(start, entity.start)
            if shared > 0 and 2 * shared >= end - start:
                tags[i] = (1 if begins else 2) + 2 * kinds.index(entity.kind)
                begins = False
    return tags


def entities_of(
    tags: Sequence[int], offsets: Sequence[tuple[int, int]], kinds: Sequence[str]
) -> tuple[Entity, ...]:
    """The stretches that tags mark; one that begins by "inside" is taken all the same."""
    found: list[Entity] = []
    going = -1  # the kind that is open
    for tag, (start, end) in zip(tags, offsets, strict=True):
        kind = (tag - 1) // 2 if tag else -1
        if kind >= 0 and start < end:
            if kind == going and tag % 2 == 0:
                found[-1] = Entity(found[-1].start, end, kinds[kind])
            else:
                found.append(Entity(start, end, kinds[kind]))
        if start < end or not tag:
            going = kind
    return tuple(found)


def entity_scores(
    told: Sequence[Sequence[Entity]], true: Sequence[Sequence[Entity]]
) -> dict[str, float]:
    """F1, precision and recall of whole entities, place and kind both right; and the mean F1."""
    kinds = sorted({each.kind for row in (*told, *true) for each in row})
    right, said, wanted = (dict.fromkeys(kinds, 0) for _ in range(3))
    for mine, theirs in zip(told, true, strict=True):
        for each in mine:
            said[each.kind] += 1
            right[each.kind] += each in theirs
        for each in theirs:
            wanted[each.kind] += 1
    total = sum(right.values())
    each_f1 = [_f1(right[kind], said[kind], wanted[kind]) for kind in kinds]
    return {
        "f1": _f1(total, sum(said.values()), sum(wanted.values())),
        "precision": total / max(1, sum(said.values())),
        "recall": total / max(1, sum(wanted.values())),
        "macro_f1": sum(each_f1) / max(1, len(each_f1)),
    }


def _f1(right: int, said: int, wanted: int) -> float:
    return 2 * right / max(1, said + wanted)
