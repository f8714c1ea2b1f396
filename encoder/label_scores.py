"""How well labels and numbers were told; each between 0 (or -1) and 1, higher is better."""

from collections.abc import Sequence


def accuracy(told: Sequence[str], true: Sequence[str]) -> float:
    """Share that is right."""
    return sum(a == b for a, b in zip(told, true, strict=True)) / len(true)


def macro_f1(told: Sequence[str], true: Sequence[str]) -> float:
    """The mean over labels of each one's F1: a rare label counts as much as a common one."""
    from sklearn.metrics import f1_score

    return float(f1_score(list(true), list(told), average="macro", zero_division=0.0))
