"""Training in several processes at once, on one node or many, as `torchrun` starts them.

The gradients that the optimiser has collected are summed by a plain all-reduce. torch's wrapper
would sum them in the model's narrow format, batch by batch, and only for what goes through the
wrapper's own forward; tasks call parts of models, and most steps have several batches.

Gradients go by NCCL between CUDA devices. All that is said besides goes by Gloo from processor to
processor, where the end of a process closes its connections, so that the others hear of it at once.
"""

import atexit
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch import distributed as dist

from transformer import runtime
from transformer.errors import TrainingError

# The others wait while the first makes a vocabulary or evaluates. One that ended is missed at once;
# this is for a node that vanished without a word.
_PATIENCE = timedelta(minutes=30)


class Processes:
    """This process among its fellows; alone where nobody started others.

    Every method is called by all of them, in the same order.

    Raises:
        TrainingError: from each method: another process ended, or cannot be reached.
    """

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank, self.size = rank, size

    @property
    def first(self) -> bool:
        """The one that decides, evaluates and writes."""
        return self.rank == 0

    def add_up(self, tensors: Iterable[Tensor]) -> None:
        """Replace each tensor, in all processes, by its sum over them."""
        if self.size > 1:
            with self._heard():
                for tensor in tensors:
                    dist.all_reduce(tensor)

    def copy_first(self, tensors: Iterable[Tensor]) -> None:
        """Replace each tensor, in all processes, by the first one's."""
        if self.size > 1:
            with self._heard():
                for tensor in tensors:
                    dist.broadcast(tensor, src=0)

    def told(self, value: Any) -> Any:
        """What the first process gives here, in all of them: anything that JSON holds."""
        if self.size == 1:
            return value
        text = json.dumps(value).encode() if self.first else b""
        with self._heard():
            length = torch.tensor([len(text)])
            dist.broadcast(length, src=0)
            content = torch.zeros(int(length), dtype=torch.uint8)
            if self.first:
                content.copy_(torch.frombuffer(bytearray(text), dtype=torch.uint8))
            dist.broadcast(content, src=0)
        return json.loads(bytes(content.tolist()))

    def require_work(self, batches: int) -> None:
        """Refuse a step of so few batches that one process would have none.

        Raises:
            TrainingError: with both numbers.
        """
        if batches < self.size:
            raise TrainingError(
                f"accumulate ({batches}) batches a step are too few for {self.size} processes: "
                f"set training.accumulate to a multiple of {self.size}, and make batches that much "
                "smaller where a step shall see as much as before"
            )

    def require_same(self, name: str, mine: Any) -> None:
        """Refuse what differs from the first process's: anything that JSON holds.

        Raises:
            TrainingError: with both.
        """
        if (first := self.told(mine)) != mine:
            raise TrainingError(
                f"{name}: {mine} in process {self.rank} of {self.size}, {first} in the first one; "
                "give every node the same command, data and version"
            )

    def require_seen(self, file: Path) -> None:
        """Refuse to work in a folder of one's own: `file` is what the first process just wrote.

        Raises:
            TrainingError: it is not there.
        """
        self.told(None)
        if not (self.first or file.exists()):
            raise TrainingError(
                f"{file} is written by the first process, and process {self.rank} of {self.size} "
                "does not see it: give an output folder that all nodes share"
            )

    @contextmanager
    def _heard(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:  # of which torch's own errors of processes are
            told = str(error).strip().partition("\n")[0].partition(". ")[0]
            raise TrainingError(
                f"process {self.rank} of {self.size} lost the others: one ended, and said why "
                "where it ran, or its node cannot be reached. Start all of them again, and the run "
                f"goes on at its last checkpoint ({told})"
            ) from error


def joined() -> Processes:
    """Take one's place among the processes that `torchrun` started, if it did.

    Raises:
        TrainingError: the others are not found, or there are too few devices.
    """
    told = os.environ.get("WORLD_SIZE", "1")
    if told == "1" or not dist.is_available():
        return Processes()
    if not dist.is_initialized():
        _require_device()
        try:
            dist.init_process_group(_backend(), timeout=_PATIENCE)
        except (ValueError, RuntimeError) as error:
            raise TrainingError(
                f"this is to be one of {told} processes (WORLD_SIZE), and they do not come "
                f"together: start them with torchrun, on every node alike ({error})"
            ) from error
        atexit.register(dist.destroy_process_group)
    return Processes(dist.get_rank(), dist.get_world_size())


def _backend() -> str:
    return "cpu:gloo,cuda:nccl" if _on_cuda() and dist.is_nccl_available() else "gloo"


def _require_device() -> None:
    beside = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    if _on_cuda() and beside > (there := torch.cuda.device_count()):
        raise TrainingError(
            f"torchrun starts {beside} processes on this node, which has {there} CUDA devices: "
            f"each needs one of its own; --nproc-per-node={there} at most"
        )


def _on_cuda() -> bool:
    return runtime.device().type == "cuda"
