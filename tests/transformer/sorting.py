"""A task small enough to be trained in a moment: which of three kinds a point is of.

Run as a module it trains in a process of its own: FOLDER, then key=value of the settings, and
`kill=N` to die by SIGKILL behind step N. Of several processes, all but the first die in their batch
`die=N`, and have `more=N` points.
"""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.runtime import seeded
from transformer.training import Moment, Pass, Trained, TrainingConfig, train

SETTINGS = {"steps": 24, "learning_rate": 0.02, "accumulate": 2, "evaluate_every": 5}


class Sorting:
    """Points around three centres; the model has dropout, so that its randomness shows."""

    def __init__(self, *, points: int = 90, batch: int = 8, width: int = 16) -> None:
        torch.manual_seed(3)
        layers = nn.Linear(6, width), nn.GELU(), nn.Dropout(0.2), nn.Linear(width, 3)
        self.model: nn.Module = nn.Sequential(*layers)
        self.batch = batch
        rng = seeded(0)
        self.kinds = torch.randint(3, (points,), generator=rng)
        centres = 2 * torch.randn(3, 6, generator=rng)
        self.points = centres[self.kinds] + torch.randn(points, 6, generator=rng)
        self.evaluations = 0

    def epoch(self, rng: torch.Generator) -> Sequence[Tensor]:
        return torch.split(torch.randperm(len(self.points), generator=rng), self.batch)

    def backward(self, batch: Tensor, rng: torch.Generator) -> Pass:
        dtype = next(self.model.parameters()).dtype
        noise = 0.1 * torch.randn(len(batch), 6, generator=rng)
        scores = self.model((self.points[batch] + noise).to(dtype))
        loss = F.cross_entropy(scores.float(), self.kinds[batch])
        loss.backward()  # type: ignore[no-untyped-call]
        return Pass(float(loss.detach()), 6 * len(batch))

    def evaluate(self) -> Mapping[str, float]:
        self.evaluations += 1
        dtype = next(self.model.parameters()).dtype
        scores = self.model(self.points.to(dtype)).float()
        found = (scores.argmax(-1) == self.kinds).float().mean()
        return {"accuracy": float(found), "loss": float(F.cross_entropy(scores, self.kinds))}


def config(**settings: object) -> TrainingConfig:
    return TrainingConfig(**{**SETTINGS, **settings})  # type: ignore[arg-type]


class _Killer:
    def __init__(self, step: int) -> None:
        self.step = step

    def __call__(self, moment: Moment) -> None:
        if moment.step == self.step:
            os.kill(os.getpid(), signal.SIGKILL)


class _Dying(Sorting):
    def __init__(self, last: int, **given: int) -> None:
        super().__init__(**given)
        self.left = last

    def backward(self, batch: Tensor, rng: torch.Generator) -> Pass:
        self.left -= 1
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().backward(batch, rng)


def main(folder: Path, *given: str) -> Trained:
    torch.set_num_threads(1)
    settings = {name: float(value) for name, _, value in (each.partition("=") for each in given)}
    kill, die, more = (int(settings.pop(name, 0)) for name in ("kill", "die", "more"))
    batch = int(settings.pop("batch", 8))
    whole = {n: int(v) if v == int(v) and n != "minutes" else v for n, v in settings.items()}
    first = os.environ.get("RANK", "0") == "0"
    task = Sorting(batch=batch) if first else _Dying(die, points=90 + more, batch=batch)
    return train(task, config(**whole), folder, watch=_Killer(kill))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
