"""Examples to learn labels or numbers from: which cannot teach, and which to hold out."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch

from transformer.errors import TrainingError

Goal = Literal["classes", "regression"]


@dataclass(frozen=True, slots=True)
class Example:
    """A text, or a pair of them, with what is to be learned of it."""

    text: str
    label: str | float  # a number for regression
    second: str | None = None  # of a pair


def check(examples: Sequence[Example], goal: Goal) -> None:
    """Make sure that there is something to learn from.

    Raises:
        TrainingError: with how many examples are at fault, the first of them, and the remedy.
    """
    texts = [f"{each.text} {each.second or ''}" for each in examples]
    if blank := [i for i, text in enumerate(texts) if not text.strip()]:
        raise TrainingError(_faulty(blank, "have no text", "fill them in or leave them out"))
    lone = [i for i, each in enumerate(examples) if each.second is None]
    if lone and len(lone) < len(examples):
        raise TrainingError(_faulty(lone, "lack the second text", "the others are pairs"))
    match goal:
        case "classes":
            _check_classes(examples)
        case "regression":
            _check_numbers(examples)


def labels_of(examples: Sequence[Example]) -> tuple[str, ...]:
    """Every label once, in order."""
    return tuple(sorted({str(each.label) for each in examples}))


def split(
    examples: Sequence[Example], share: float, goal: Goal, rng: torch.Generator
) -> tuple[list[int], list[int]]:
    """Places of examples to learn from and of those to hold out, of every label the same share."""
    groups: dict[str, list[int]] = {}
    for i in torch.randperm(len(examples), generator=rng).tolist():
        groups.setdefault(str(examples[i].label) if goal == "classes" else "", []).append(i)
    kept: list[int] = []
    held: list[int] = []
    for group in groups.values():
        n = min(len(group) - 1, max(1, round(share * len(group))))
        held += group[:n]
        kept += group[n:]
    return kept, held


def unseen(texts: Sequence[object], kept: Sequence[int], held: Sequence[int]) -> list[int]:
    """The places held out whose text is not learned from as well; where none is left, all.

    What stands twice in a table would be judged by what was learned by heart.
    """
    learned = {texts[i] for i in kept}
    return [i for i in held if texts[i] not in learned] or list(held)


def _check_classes(examples: Sequence[Example]) -> None:
    if empty := [i for i, each in enumerate(examples) if not str(each.label).strip()]:
        raise TrainingError(_faulty(empty, "have no label", "fill it in or leave them out"))
    counts = Counter(str(each.label) for each in examples)
    if len(counts) < 2:
        only = next(iter(counts), None)
        said = "there are none" if only is None else f"all {len(examples)} have {only!r}"
        raise TrainingError(
            f"a classifier needs examples of at least 2 labels, {said}: add some of another label"
        )
    if rare := sorted(label for label, n in counts.items() if n < 2):
        raise TrainingError(
            f"{len(rare)} of {len(counts)} labels have 1 example, and at least 2 are needed, to "
            f"learn from and to test on: {', '.join(map(repr, rare[:5]))}. Add examples or leave "
            'these out; for numbers on a scale set task = "regression"'
        )


def _check_numbers(examples: Sequence[Example]) -> None:
    if wrong := [i for i, each in enumerate(examples) if not _is_number(each.label)]:
        label = examples[wrong[0]].label
        raise TrainingError(
            _faulty(wrong, "have no finite number for a label", f"{label!r} is none; mend them")
        )
    if len(examples) < 4:
        raise TrainingError(
            f"{len(examples)} examples are too few for a regression: give 4 or more"
        )
    if len({float(each.label) for each in examples}) < 2:
        raise TrainingError(
            f"all {len(examples)} examples have the number {examples[0].label}: nothing can be "
            "learned from them, add others"
        )


def _is_number(label: str | float) -> bool:
    try:
        return math.isfinite(float(label))
    except ValueError:
        return False


def _faulty(places: Sequence[int], what: str, remedy: str) -> str:
    return f"{len(places)} examples {what}, the first is number {places[0] + 1}: {remedy}"
