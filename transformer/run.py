"""One run of training, step by step: what it has reached, and how it is kept and taken up again."""

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

from transformer import checkpoint, plot, processes, runtime, work
from transformer.errors import CheckpointError, TrainingError
from transformer.journal import LINES, Journal, Moment, unwritable
from transformer.narrow import Narrowed
from transformer.optim import MasterAdamW
from transformer.schedule import schedule
from transformer.task import Precision, Task, TrainingConfig

Watch = Callable[[Moment], None]

STATE = "state.safetensors"
_KEPT = ("step", "epoch", "place", "since_best", "best", "evaluated", "spent", "precision")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Trained:
    """How a run ended. The model has its best weights, in float32."""

    steps: int
    minutes: float
    metrics: Mapping[str, float]  # held out, of the best weights
    early: bool  # ended before its budget, for nothing got better


class Run:
    """Everything that changes while a model is trained."""

    def __init__(self, task: Task, config: TrainingConfig, folder: Path) -> None:
        self.task, self.config, self.folder = task, config, folder
        self.model, self.fellows = task.model, processes.joined()
        self.fellows.require_work(config.accumulate)
        self.model.to(runtime.device())
        self.optimizer = MasterAdamW(
            self.model,
            learning_rate=config.learning_rate,
            betas=config.betas,
            weight_decay=config.weight_decay,
        )
        self.narrowed: Narrowed | None = None  # until it begins
        # Told and kept, for processes that measure which is faster may find differently.
        self.precision: Precision = self.fellows.told(_chosen(config.precision))
        self.flops = work.matrix_flops(self.model)
        self.step = self.resumed = self.epoch = self.place = self.since_best = 0
        self.evaluated: int | None = None  # the step behind which that was done last
        self.batches: Sequence[Any] = ()
        self.best: dict[str, float] = {}
        self.best_weights: dict[str, Tensor] | None = None
        self.journal: Journal | None = None  # of the first process
        self.spent = self.progress = 0.0  # seconds, and share of the budget
        self.began = self.saved = time.monotonic()

    @property
    def early(self) -> bool:
        return self.config.patience is not None and self.since_best >= self.config.patience

    @property
    def ended(self) -> bool:
        return self.progress >= 1 or self.early

    def begin(self) -> None:
        """Go on where the last checkpoint was written; from the beginning where there is none."""
        for name, value in self._settings().items():
            self.fellows.require_same(name, value)
        self.fellows.require_same("numbers to train", sum(map(len, self.optimizer.gradients)))
        file = self.folder / STATE
        resumes = self.fellows.first and file.is_file()
        tensors, place = checkpoint.read_tensors(file) if resumes else ({}, {})
        if missing := resumes and {*_KEPT, "config"} - place.keys():
            raise CheckpointError(f"{file} is no state of a run: it lacks {min(missing)}")
        if place := self.fellows.told(place):
            self._restore(tensors, place)
        dtype = torch.bfloat16 if self.precision == "bfloat16" else torch.float32
        self.narrowed = Narrowed(self.model, runtime.device(), dtype)
        self.fellows.copy_first([*self.optimizer.vectors, *(self.best_weights or {}).values()])
        self.optimizer.publish(self.optimizer.masters)
        self.resumed, self.saved = self.step, time.monotonic()
        self.began = self.saved - self.spent
        self._count()
        if self.ended:
            return
        self._open_epoch()
        if self.fellows.first:
            self.journal = _written(self.folder, lambda: Journal(self.folder, self.step))
        self.fellows.require_seen(self.folder / LINES)

    def _restore(self, tensors: Mapping[str, Tensor], place: Mapping[str, Any]) -> None:
        self._require_same(place["config"])
        masters = self.optimizer.masters
        if self.fellows.first:
            self.optimizer.restore(tensors, steps=place["step"])
        else:  # what it holds then is copied from the first one
            self.optimizer.prepare(place["step"])
        if place["best"]:
            self.best_weights = {
                name: tensors.get(f"best/{name}", master).to(master.device, copy=True)
                for name, master in masters.items()
            }
        for name in _KEPT:
            setattr(self, name, place[name])

    def _require_same(self, before: Mapping[str, Any]) -> None:
        budgets = ("steps", "minutes", "checkpoint_minutes")
        now = self._settings()
        changed = [k for k in now if k not in budgets and now[k] != before.get(k)]
        if changed:
            names = ", ".join(f"{k} ({before.get(k)} → {now[k]})" for k in changed)
            raise TrainingError(
                f"{self.folder} holds a run with other settings: {names}; set them back to go on "
                "with it, or give another folder"
            )

    def _settings(self) -> dict[str, Any]:
        return dict(json.loads(json.dumps(asdict(self.config))))

    def advance(self) -> Moment:
        """One optimiser step, and the evaluation that is due behind it."""
        learning_rate = self.config.learning_rate * schedule(self.progress, self.config.warmup)
        self.model.train()
        loss, tokens = self._backward()
        share = 1 / self.config.accumulate
        norm = self.optimizer.step(learning_rate, clip=self.config.clip, share=share)
        self._require_numbers(loss, norm)
        self.step += 1
        self._clock()
        metrics = self._evaluate() if self._due() else {}
        return Moment(
            step=self.step,
            loss=loss,
            learning_rate=learning_rate,
            gradient_norm=norm,
            tokens=tokens,
            minutes=self.spent / 60,
            progress=self.progress,
            metrics=metrics,
            flops=self.flops * tokens,
        )

    def _due(self) -> bool:
        every = self.config.evaluate_every
        return self.progress >= 1 or (every is not None and self.step % every == 0)

    def tell(self, moment: Moment, watch: Watch) -> None:
        """Note a step, and keep the run when that is due, or when the watcher ends it."""
        if self.journal is not None:
            self.journal.write(moment)
        try:
            if self.fellows.first:
                watch(moment)
        except BaseException:
            self.save()
            raise
        if time.monotonic() - self.saved > 60 * self.config.checkpoint_minutes:
            self.save()

    def _backward(self) -> tuple[float, int]:
        """Collect the gradients of one step's batches: their mean loss, and their tokens.

        Every process counts through all batches, so that neither they nor their order depend on
        how many processes there are, and takes those of its turn.
        """
        loss, tokens = 0.0, 0
        for turn in range(self.config.accumulate):
            batch = self._next_batch()
            if turn % self.fellows.size != self.fellows.rank:
                continue
            rng = runtime.seeded(_mixed(self.config.seed, 1, self.step, turn))
            torch.manual_seed(_mixed(self.config.seed, 2, self.step, turn))  # for dropout
            told = self.task.backward(batch, rng)
            self.optimizer.collect()
            loss, tokens = loss + told.loss, tokens + told.tokens
        sums = torch.tensor([loss, tokens], dtype=torch.float64, device=runtime.device())
        self.fellows.add_up([sums, *self.optimizer.gradients])
        return float(sums[0]) / self.config.accumulate, int(sums[1])

    def _next_batch(self) -> Any:
        if self.place >= len(self.batches):  # also where a resumed epoch has become shorter
            self.epoch, self.place = self.epoch + 1, 0
            self._open_epoch()
        self.place += 1
        return self.batches[self.place - 1]

    def _open_epoch(self) -> None:
        rng = runtime.seeded(_mixed(self.config.seed, 0, self.epoch, 0))
        self.batches = self.task.epoch(rng)
        if not self.batches:
            raise TrainingError("there is nothing to train on: the data makes no batch")
        self.fellows.require_same("batches of an epoch", len(self.batches))

    def _clock(self) -> None:
        """Take the time as the first process has it: what is spent must be the same for all."""
        self.spent = self.fellows.told(time.monotonic() - self.began)
        self._count()

    def _count(self) -> None:
        shares = [0.0]
        if self.config.steps is not None:
            shares.append(self.step / self.config.steps)
        if self.config.minutes is not None:
            shares.append(self.spent / (60 * self.config.minutes))
        self.progress = min(1.0, max(shares))

    def _require_numbers(self, loss: float, norm: float) -> None:
        if math.isfinite(loss) and math.isfinite(norm):
            return
        kept = (self.folder / STATE).is_file()
        stays = f"the last good checkpoint stays in {self.folder}" if kept else "none is kept yet"
        raise TrainingError(
            f"step {self.step + 1}: the loss is {loss:g} and its gradient's norm {norm:g}; "
            f"{stays}. Lower learning_rate ({self.config.learning_rate:g}), or set precision to "
            "float32"
        )

    def _evaluate(self) -> dict[str, float]:
        self.evaluated = self.step
        metrics: dict[str, float] = self.fellows.told(self._measured())
        self._clock()
        if not metrics:
            return {}
        first = next(iter(metrics))
        if first not in self.best or _rank(metrics[first]) > _rank(self.best[first]):
            self.best, self.since_best = metrics, 0
            masters = self.optimizer.masters
            self.best_weights = {name: value.clone() for name, value in masters.items()}
        else:
            self.since_best += 1
        return metrics

    def _measured(self) -> dict[str, float]:
        if not self.fellows.first:
            return {}
        self.model.eval()
        with torch.no_grad():
            return {name: float(value) for name, value in self.task.evaluate().items()}

    def finish(self) -> Trained:
        """Measure what was reached at last, keep it, and draw the curve."""
        late = self.evaluated != self.step  # a budget that was lowered behind the last step
        if late:
            self._evaluate()
        if late or self.step > self.resumed:
            self.save()
            if self.fellows.first:
                _written(self.folder / plot.PAGE, lambda: plot.draw(self.folder))
        return Trained(self.step, self.spent / 60, self.best, self.early)

    def save(self) -> None:
        """Write all that a resumed run needs."""
        self.saved = time.monotonic()
        if not self.fellows.first:
            return
        tensors = self.optimizer.tensors()
        for name, value in (self.best_weights or {}).items():
            tensors[f"best/{name}"] = value
        place = {name: getattr(self, name) for name in _KEPT} | {"config": asdict(self.config)}
        file = self.folder / STATE
        _written(file, lambda: checkpoint.write_tensors(file, tensors, note=place))

    def close(self) -> None:
        """Give the model back: its best weights, in float32, ready to be used."""
        if self.journal is not None:
            self.journal.close()
        self.model.to("cpu")
        if self.narrowed is not None:
            self.narrowed.give_back()
        self.optimizer.publish(self.best_weights or self.optimizer.masters)
        self.model.eval()


def _written(file: Path, write: Callable[[], T]) -> T:
    try:
        return write()
    except OSError as error:
        raise unwritable(file, error) from error


def _rank(metric: float) -> float:
    return -math.inf if math.isnan(metric) else metric


def _chosen(precision: Precision) -> Precision:
    if precision != "auto":
        return precision
    return "bfloat16" if runtime.training_dtype() is torch.bfloat16 else "float32"


def _mixed(*parts: int) -> int:
    """One seed out of several numbers (splitmix64 over them), so that neighbours differ wholly."""
    mixed = 0
    for part in parts:
        mixed = (mixed + part + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
        mixed ^= mixed >> 31
    return mixed >> 1
