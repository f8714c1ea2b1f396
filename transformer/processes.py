"""Training in several processes at once, as `torchrun` starts them.

The gradients that the optimiser has collected are summed by a plain all-reduce. torch's wrapper
would sum them in the model's narrow format, batch by batch, and only for what goes through the
wrapper's own forward; tasks call parts of models, and most steps have several batches.
"""

import atexit
import json
import os
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch import distributed as dist

from transformer import runtime


class Processes:
    """This process among its fellows; alone where nobody started others."""

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank, self.size = rank, size

    @property
    def first(self) -> bool:
        """The one that decides, evaluates and writes."""
        return self.rank == 0

    def add_up(self, tensors: Iterable[Tensor]) -> None:
        """Replace each tensor, in all processes, by its sum over them."""
        if self.size > 1:
            for tensor in tensors:
                dist.all_reduce(tensor)

    def copy_first(self, tensors: Iterable[Tensor]) -> None:
        """Replace each tensor, in all processes, by the first one's."""
        if self.size > 1:
            for tensor in tensors:
                dist.broadcast(tensor, src=0)

    def told(self, value: Any) -> Any:
        """What the first process gives here, in all of them: anything that JSON holds."""
        if self.size == 1:
            return value
        text = json.dumps(value).encode() if self.first else b""
        length = torch.tensor([len(text)], device=runtime.device())
        dist.broadcast(length, src=0)
        content = torch.zeros(int(length), dtype=torch.uint8, device=runtime.device())
        if self.first:
            content.copy_(torch.frombuffer(bytearray(text), dtype=torch.uint8))
        dist.broadcast(content, src=0)
        return json.loads(bytes(content.tolist()))


def joined() -> Processes:
    """Take one's place among the processes that `torchrun` started, if it did."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1 or not dist.is_available():
        return Processes()
    if not dist.is_initialized():
        backend = "nccl" if runtime.device().type == "cuda" else "gloo"
        dist.init_process_group(backend)
        atexit.register(dist.destroy_process_group)
    return Processes(dist.get_rank(), dist.get_world_size())
