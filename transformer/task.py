"""A stage of training as the loop sees it: what is learned, and for how long and how hard."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import torch
from torch import nn

Precision = Literal["auto", "float32", "bfloat16"]

_OVER_ZERO = (
    "steps",
    "minutes",
    "learning_rate",
    "clip",
    "accumulate",
    "evaluate_every",
    "patience",
)


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """How long and how hard. With both budgets, the run ends at whichever is spent first."""

    steps: int | None = None  # optimiser steps
    minutes: float | None = None  # of wall clock, evaluation included
    learning_rate: float = 1e-3  # at its peak
    warmup: float = 0.06  # share of the budget in which the rate rises; then it falls to zero
    weight_decay: float = 0.01  # of matrices
    betas: tuple[float, float] = (0.9, 0.98)
    clip: float = 1.0  # norm of the gradient at most
    accumulate: int = 1  # batches a step, shared out among the processes
    precision: Precision = "auto"  # of the arithmetic; weights are kept in float32 throughout
    seed: int = 0
    evaluate_every: int | None = None  # steps; at the end in any case
    patience: int | None = None  # evaluations without a better one before the run ends early
    checkpoint_minutes: float = 5.0  # between checkpoints at least

    def __post_init__(self) -> None:
        if self.steps is None and self.minutes is None:
            raise ValueError("a run needs a budget: give steps, minutes or both")
        for name in _OVER_ZERO:
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ValueError(f"{name} ({value}) must be a number over 0")
        for name in ("weight_decay", "checkpoint_minutes"):
            if not (value := getattr(self, name)) >= 0:
                raise ValueError(f"{name} ({value}) must be at least 0")
        for name, share in (("warmup", self.warmup), *(("betas", beta) for beta in self.betas)):
            if not 0 <= share < 1:
                raise ValueError(f"{name} ({share}) must be at least 0 and below 1")
        if not 0 <= self.seed < 2**63:
            raise ValueError(f"seed ({self.seed}) must be at least 0 and below 2**63")


@dataclass(frozen=True, slots=True)
class Pass:
    """What going backward through one batch told."""

    loss: float
    tokens: int  # that the model read, padding not counted


class Task(Protocol):
    """What is learned. The loop owns the model's number format and device while it runs.

    Tensors that the task makes itself belong on `runtime.device()`, where the model is then.
    """

    @property
    def model(self) -> nn.Module: ...

    def epoch(self, rng: torch.Generator) -> Sequence[Any]:
        """The batches of one pass over the data, in an order drawn from `rng`: light things, such
        as indices, for the sequence is made again when a run is resumed."""
        ...

    def backward(self, batch: Any, rng: torch.Generator) -> Pass:
        """Add one batch's gradient to the parameters' grad.

        `rng` is a different one for each batch; so is torch's own, which dropout draws from.
        """
        ...

    def evaluate(self) -> Mapping[str, float]:
        """Held-out metrics; the first decides which weights are best, and higher is better."""
        ...
