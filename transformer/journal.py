"""What a run tells while it goes: metrics.jsonl, and TensorBoard where that is installed."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformer.checkpoint import write_whole
from transformer.errors import TrainingError

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

LINES, BOARD = "metrics.jsonl", "tensorboard"


@dataclass(frozen=True, slots=True)
class Moment:
    """One line of metrics.jsonl: a step, and what was measured behind it."""

    step: int
    loss: float
    learning_rate: float
    gradient_norm: float
    tokens: int  # of this step, in all processes
    minutes: float  # of the run so far
    progress: float  # share of the budget that is spent
    metrics: Mapping[str, float]  # held out; empty where nothing was evaluated
    flops: float = 0.0  # operations of this step in the linear layers


class Journal:
    """The lines of one run. What a killed process wrote behind its last checkpoint is dropped.

    Args:
        folder: of the run
        step: where the run goes on from
    """

    def __init__(self, folder: Path, step: int) -> None:
        self._file = folder / LINES
        folder.mkdir(parents=True, exist_ok=True)
        kept = [line for line in read(self._file) if line["step"] <= step]
        self._rewrite(kept)
        self._board = _board(folder / BOARD, step + 1)

    def write(self, moment: Moment) -> None:
        """Add a line.

        Raises:
            TrainingError: the disk is full, or the file may not be written.
        """
        try:
            with self._file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(asdict(moment)) + "\n")
            self._show(moment)
        except OSError as error:
            raise unwritable(self._file, error) from error

    def _show(self, moment: Moment) -> None:
        if self._board is None:
            return
        values = {
            "loss": moment.loss,
            "learning_rate": moment.learning_rate,
            "gradient_norm": moment.gradient_norm,
            **{f"held_out/{name}": value for name, value in moment.metrics.items()},
        }
        for name, value in values.items():
            self._board.add_scalar(name, value, moment.step)

    def close(self) -> None:
        if self._board is not None:
            with suppress(OSError):  # the lines are what counts, and they are written
                self._board.close()

    def _rewrite(self, kept: list[dict[str, Any]]) -> None:
        text = "".join(json.dumps(line) + "\n" for line in kept)
        try:
            write_whole(self._file, text.encode())
        except OSError as error:
            raise unwritable(self._file, error) from error


def read(file: Path) -> list[dict[str, Any]]:
    """The whole lines of a metrics.jsonl; of one that a kill cut nothing is taken."""
    if not file.is_file():
        return []
    found = []
    for line in file.read_text(encoding="utf-8").splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict) and isinstance(value.get("step"), int):
            found.append(value)
    return found


def unwritable(file: Path, error: OSError) -> TrainingError:
    """A full disk, or a folder that may not be written, said with its remedy."""
    return TrainingError(
        f"{file} cannot be written ({error}); the run stands at its last checkpoint: make room, "
        "and start it again to go on from there"
    )


def _board(folder: Path, step: int) -> "SummaryWriter | None":
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder), purge_step=step)
