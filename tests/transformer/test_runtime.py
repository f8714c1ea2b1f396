"""What the machine offers, and randomness that repeats."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from transformer import runtime


@pytest.fixture
def threads() -> Iterator[int]:
    before = torch.get_num_threads()
    yield before
    torch.set_num_threads(before)


def test_the_fast_format_is_measured_once() -> None:
    assert runtime.fast_dtype() in (torch.bfloat16, torch.float32)
    assert len({runtime.fast_dtype() for _ in range(3)}) == 1


@pytest.mark.usefixtures("threads")
def test_threads_are_set_as_asked() -> None:
    assert runtime.set_threads(1) == 1
    assert torch.get_num_threads() == 1


@pytest.mark.usefixtures("threads")
def test_all_cores_by_default() -> None:
    taken = runtime.set_threads(None)
    assert 1 <= taken <= (os.cpu_count() or 1)
    assert torch.get_num_threads() == taken


@pytest.mark.usefixtures("threads")
def test_processes_beside_each_other_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = runtime.set_threads(None)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    assert runtime.set_threads(None) == max(1, alone // 2)
    assert runtime.set_threads(3) == 3


def test_a_seed_repeats_and_another_differs() -> None:
    draws = [torch.rand(4, generator=runtime.seeded(seed)).tolist() for seed in (7, 7, 8)]
    assert draws[0] == draws[1]
    assert draws[0] != draws[2]


def test_a_seed_leaves_the_global_state_alone() -> None:
    before = torch.get_rng_state()
    torch.rand(4, generator=runtime.seeded(7))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, and glibc's own allocator")
def test_freed_memory_goes_back_to_the_system() -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])

    # Small pieces, of which the last one stays: the C library keeps what lies below it.
    pieces = [bytearray(4000) for _ in range(20_000)]
    kept = pieces.pop()
    full = resident()
    del pieces
    runtime.give_back_memory()

    assert full - resident() > 10_000_000 // 4096, len(kept)
