"""The loop that every model here is trained by.

A stage of training is a `Task`: it knows its data and its loss. The loop knows the rest: budget and
learning rate, accumulation and clipping, number formats, checkpoints, metrics, the best weights.

Randomness is a function of the seed and of the place in the run, never of what happened before: so
a run that was killed goes on to the same numbers.
"""

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import torch
from torch import Tensor, nn

from transformer import checkpoint, runtime
from transformer.errors import TrainingError
from transformer.optim import MasterAdamW

Precision = Literal["auto", "float32", "bfloat16"]


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
    accumulate: int = 1  # batches a step
    precision: Precision = "auto"  # of the arithmetic; weights are kept in float32 throughout
    seed: int = 0
    evaluate_every: int | None = None  # steps; None: at the end alone
    patience: int | None = None  # evaluations without a better one before the run ends early
    checkpoint_minutes: float = 5.0  # between checkpoints

    def __post_init__(self) -> None:
        if self.steps is None and self.minutes is None:
            raise ValueError("a run needs a budget: give steps, minutes or both")
        for name in ("steps", "minutes", "learning_rate", "clip", "accumulate", "evaluate_every"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"{name} ({value}) must be over 0")
        if not 0 <= self.warmup < 1:
            raise ValueError(f"warmup ({self.warmup}) must be at least 0 and below 1")


@dataclass(frozen=True, slots=True)
class Pass:
    """What going backward through one batch told."""

    loss: float
    tokens: int  # that the model read, padding not counted


class Task(Protocol):
    """What is learned. The loop owns the model's number format and device while it runs."""

    @property
    def model(self) -> nn.Module: ...

    def epoch(self, rng: torch.Generator) -> Sequence[Any]:
        """The batches of one pass over the data, in an order drawn from `rng`: light things, such
        as indices, for the sequence is made again when a run is resumed."""
        ...

    def backward(self, batch: Any, rng: torch.Generator) -> Pass:
        """Add one batch's gradient to the parameters' grad."""
        ...

    def evaluate(self) -> Mapping[str, float]:
        """Held-out metrics; the first decides which weights are best, and higher is better."""
        ...


@dataclass(frozen=True, slots=True)
class Moment:
    """One line of metrics.jsonl: a step, and what was measured behind it."""

    step: int
    loss: float
    learning_rate: float
    gradient_norm: float
    tokens: int  # of this step
    minutes: float  # of the run so far
    progress: float  # share of the budget that is spent
    metrics: Mapping[str, float]  # held out; empty where nothing was evaluated


@dataclass(frozen=True, slots=True)
class Trained:
    """How a run ended. The model has its best weights, in float32."""

    steps: int
    minutes: float
    metrics: Mapping[str, float]  # held out, of the best weights
    early: bool  # ended before its budget, for nothing got better


Watch = Callable[[Moment], None]

STATE = "state.safetensors"


def train(
    task: Task, config: TrainingConfig, folder: Path, *, watch: Watch = lambda _: None
) -> Trained:
    """Train, or go on with what a killed run left in `folder`.

    Args:
        task: what is learned
        config: of a resumed run it must be the same, budgets aside
        folder: for the state of the run, and metrics.jsonl
        watch: told of every step

    Raises:
        TrainingError: the loss or the gradient is no number (the last checkpoint stays), or
            `folder` holds a run of another kind.
    """
    run = _Run(task, config, folder)
    run.resume()
    while not run.ended:
        watch(run.advance())
    return run.finish()


class _Run:
    def __init__(self, task: Task, config: TrainingConfig, folder: Path) -> None:
        self.task, self.config, self.folder = task, config, folder
        self.model = task.model.to(_dtype(config.precision))
        self.optimizer = MasterAdamW(
            self.model,
            learning_rate=config.learning_rate,
            betas=config.betas,
            weight_decay=config.weight_decay,
        )
        self.step = self.epoch = self.place = self.since_best = 0
        self.batches: Sequence[Any] = ()
        self.best: dict[str, float] = {}
        self.best_weights: dict[str, Tensor] | None = None
        self.spent = 0.0  # seconds, of earlier processes
        self.began = self.saved = time.monotonic()

    @property
    def seconds(self) -> float:
        return self.spent + time.monotonic() - self.began

    @property
    def progress(self) -> float:
        shares = [0.0]
        if self.config.steps is not None:
            shares.append(self.step / self.config.steps)
        if self.config.minutes is not None:
            shares.append(self.seconds / (60 * self.config.minutes))
        return min(1.0, max(shares))

    @property
    def early(self) -> bool:
        return self.config.patience is not None and self.since_best >= self.config.patience

    @property
    def ended(self) -> bool:
        return self.progress >= 1 or self.early

    def advance(self) -> Moment:
        """One optimiser step, and what is due behind it."""
        learning_rate = self.config.learning_rate * schedule(self.progress, self.config.warmup)
        self.model.train()
        passes = [self._backward(micro) for micro in range(self.config.accumulate)]
        loss = sum(each.loss for each in passes) / len(passes)
        norm = self.optimizer.step(learning_rate, clip=self.config.clip)
        self._require_numbers(loss, norm)
        self.step += 1
        every = self.config.evaluate_every
        metrics = self._evaluate() if every and self.step % every == 0 else {}
        tokens = sum(each.tokens for each in passes)
        moment = Moment(
            self.step, loss, learning_rate, norm, tokens, self.seconds / 60, self.progress, metrics
        )
        self._note(moment)
        if time.monotonic() - self.saved > 60 * self.config.checkpoint_minutes:
            self.save()
        return moment

    def _backward(self, micro: int) -> Pass:
        if self.place >= len(self.batches):
            if self.batches:
                self.epoch, self.place = self.epoch + 1, 0
            self._open_epoch()
        batch = self.batches[self.place]
        rng = runtime.seeded(_mixed(self.config.seed, 1, self.step, micro))
        torch.manual_seed(_mixed(self.config.seed, 2, self.step, micro))  # for dropout
        told = self.task.backward(batch, rng)
        self.optimizer.collect(1 / self.config.accumulate)
        self.place += 1
        return told

    def _open_epoch(self) -> None:
        rng = runtime.seeded(_mixed(self.config.seed, 0, self.epoch, 0))
        self.batches = self.task.epoch(rng)
        if not self.batches:
            raise TrainingError("there is nothing to train on: the data makes no batch")

    def _require_numbers(self, loss: float, norm: float) -> None:
        if not (math.isfinite(loss) and math.isfinite(norm)):
            raise TrainingError(
                f"step {self.step + 1}: the loss is {loss:g} and its gradient's norm {norm:g}; "
                f"the last good checkpoint stays in {self.folder}. Lower learning_rate "
                f"({self.config.learning_rate:g}), or set precision to float32"
            )

    def _evaluate(self) -> dict[str, float]:
        self.model.eval()
        with torch.inference_mode():
            metrics = dict(self.task.evaluate())
        if not metrics:
            return metrics
        first = next(iter(metrics))
        if first not in self.best or metrics[first] > self.best[first]:
            self.best, self.since_best = metrics, 0
            masters = self.optimizer.masters
            self.best_weights = {name: value.clone() for name, value in masters.items()}
        else:
            self.since_best += 1
        return metrics

    def finish(self) -> Trained:
        every = self.config.evaluate_every
        if not every or self.step % every:
            self._evaluate()
        self.save()
        self.model.float()
        self.optimizer.publish(self.best_weights or self.optimizer.masters)
        self.model.eval()
        return Trained(self.step, self.seconds / 60, self.best, self.early)

    def save(self) -> None:
        tensors = self.optimizer.tensors()
        for name, value in (self.best_weights or {}).items():
            tensors[f"best/{name}"] = value
        place = {
            "step": self.step,
            "epoch": self.epoch,
            "place": self.place,
            "since_best": self.since_best,
            "best": self.best,
            "seconds": self.seconds,
            "config": asdict(self.config),
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        checkpoint.write_tensors(self.folder / STATE, tensors, note=place)
        self.saved = time.monotonic()

    def resume(self) -> None:
        """Go on where the last checkpoint was written; from the beginning where there is none."""
        file = self.folder / STATE
        if not file.is_file():
            return
        tensors, place = checkpoint.read_tensors(file)
        self._require_same(place["config"])
        self.optimizer.restore(tensors)
        best = {n: tensors[f"best/{n}"] for n in self.optimizer.masters if f"best/{n}" in tensors}
        self.best_weights = best or None
        self.step, self.epoch, self.place = place["step"], place["epoch"], place["place"]
        self.since_best, self.best = place["since_best"], place["best"]
        self.spent = place["seconds"]
        self._open_epoch()

    def _require_same(self, before: Mapping[str, Any]) -> None:
        budgets = ("steps", "minutes", "checkpoint_minutes")
        now = json.loads(json.dumps(asdict(self.config)))
        changed = [k for k in now if k not in budgets and now[k] != before.get(k)]
        if changed:
            names = ", ".join(f"{k} ({before.get(k)} → {now[k]})" for k in changed)
            raise TrainingError(
                f"{self.folder} holds a run with other settings: {names}; set them back to go on "
                "with it, or give another folder"
            )

    def _note(self, moment: Moment) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "metrics.jsonl").open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(asdict(moment)) + "\n")


def schedule(progress: float, warmup: float) -> float:
    """Share of the peak rate when a share of the budget is spent: up in a line, down to zero."""
    if progress < warmup:
        return max(progress, 1e-3) / warmup
    return (1 - progress) / (1 - warmup)


def _dtype(precision: Precision) -> torch.dtype:
    match precision:
        case "auto":
            return runtime.fast_dtype()
        case "float32":
            return torch.float32
        case "bfloat16":
            return torch.bfloat16


def _mixed(*parts: int) -> int:
    """One seed out of several numbers (splitmix64 over them), so that neighbours differ wholly."""
    mixed = 0
    for part in parts:
        mixed = (mixed + part + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
        mixed ^= mixed >> 31
    return mixed >> 1
