"""Products come in few sizes, give what they give in any size, and do not fill the memory."""

import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tests.builders import normal, randomised
from transformer.packed import PackedLinear
from transformer.runtime import give_back_memory, seeded
from transformer.steps import in_steps


@pytest.mark.parametrize("shape", [(0, 8), (1, 8), (2, 3, 8), (5, 16, 8), (1, 65, 8), (1030, 8)])
def test_rows_come_out_as_if_nothing_was_added(shape: tuple[int, ...]) -> None:
    linear = randomised(nn.Linear(8, 4), seeded(0))
    x = normal(*shape)
    torch.testing.assert_close(in_steps(x, linear), linear(x))


def test_all_lengths_up_to_a_thousand_are_few_sizes() -> None:
    sizes = set()

    def product(rows: Tensor) -> Tensor:
        sizes.add(len(rows))
        return rows

    for n in range(1, 1025):
        in_steps(torch.zeros(n, 1), product)
        assert n <= max(sizes) < n + 32
    assert len(sizes) <= 34


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.skipif(not hasattr(torch.ops.mkldnn, "_linear_pointwise"), reason="without oneDNN")
def test_texts_of_every_length_do_not_fill_the_memory() -> None:
    """In sizes of their own, each compiled and kept, they take half a gigabyte."""

    def resident() -> float:
        pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
        return pages * 4096 / 1e6

    packed = PackedLinear(nn.Linear(384, 1536).bfloat16())
    with torch.inference_mode():
        packed(torch.zeros(8, 384, dtype=torch.bfloat16))
        give_back_memory()
        before = resident()
        for n in range(1, 400):
            packed(torch.zeros(n, 384, dtype=torch.bfloat16))
        give_back_memory()

    assert resident() - before < 150
