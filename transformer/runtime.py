"""What this machine does well: its number formats, threads, and repeatable randomness."""

import ctypes
import os
import sys
import time
from functools import lru_cache

import torch
from torch import Tensor
from torch.nn import functional as F

# oneDNN compiles a kernel for each shape that it meets, and texts come in every length: it would
# keep a thousand, of a megabyte each, and torch's layer above it as many. A server would grow by
# half a gigabyte in forty answers. Read when the first product is taken.
_KERNELS = "64"
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", _KERNELS)
os.environ.setdefault("LRU_CACHE_CAPACITY", _KERNELS)


@lru_cache(maxsize=1)
def fast_dtype() -> torch.dtype:
    """bfloat16 where the processor multiplies it faster than float32, else float32.

    Measured, not read from flags: processors without the instructions also accept bfloat16, and
    emulate it several times slower.
    """
    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return torch.float32
    half, full = (_operands(dtype) for dtype in (torch.bfloat16, torch.float32))
    # In turns, and the least of each: on a busy machine any single one may be slow.
    rounds = [(_timed(*half), _timed(*full)) for _ in range(11)][1:]
    fastest_half, fastest_full = map(min, zip(*rounds, strict=True))
    return torch.bfloat16 if 1.2 * fastest_half < fastest_full else torch.float32


def _operands(dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    return torch.ones(256, 384, dtype=dtype), torch.ones(1536, 384, dtype=dtype)


def _timed(rows: Tensor, matrix: Tensor) -> float:
    began = time.thread_time()  # of the processor: waiting for one that is taken does not count
    F.linear(rows, matrix)
    return time.thread_time() - began


@lru_cache(maxsize=4)
def matrix_peak(dtype: torch.dtype) -> float:
    """Floating-point operations a second that one large matrix product reaches here at best."""
    side, where = 1536, device()
    left, right = (torch.ones(side, side, dtype=dtype, device=where) for _ in range(2))
    seconds = []
    for _ in range(7):
        began = time.perf_counter()
        (left @ right)[0, 0].item()  # asking for a number waits for a device that works alone
        seconds.append(time.perf_counter() - began)
    return 2 * side**3 / min(seconds)


def device() -> torch.device:
    """Where models are trained: this process's CUDA device, else the processor."""
    if torch.cuda.is_available():
        return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    return torch.device("cpu")


def training_dtype() -> torch.dtype:
    """bfloat16 where models are trained faster in it, else float32."""
    if device().type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float32
    return fast_dtype()


def set_threads(threads: int | None) -> int:
    """Use so many cores in torch, and tell how many.

    None takes all that this process may run on; processes that `torchrun` started beside each other
    share them.
    """
    taken = threads or max(1, _cores() // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))
    torch.set_num_threads(taken)
    return taken


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def give_back_memory() -> None:
    """Hand freed memory back to the system, where the C library keeps it (glibc).

    Reading a checkpoint frees a few hundred megabytes that would otherwise stay with the process,
    an answer some twenty. It takes 2 ms.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def seeded(seed: int) -> torch.Generator:
    """A source of randomness to hand to whatever takes `rng`."""
    return torch.Generator().manual_seed(seed)
