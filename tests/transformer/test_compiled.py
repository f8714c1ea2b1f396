"""The compiled kernels against torch, on every instruction set that this processor has."""

import threading
from collections.abc import Iterator

import pytest
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from tests.builders import normal
from transformer import compiled, runtime
from transformer.quantize import Int4Linear

LIBRARY = compiled.library()
needs_kernels = pytest.mark.skipif(LIBRARY is None, reason="the install built no kernels")


def _levels() -> list[int]:
    return [] if LIBRARY is None else list(range(LIBRARY.attest_level(-1) + 1))


@pytest.fixture(params=_levels())
def level(request: pytest.FixtureRequest) -> Iterator[int]:
    assert LIBRARY is not None
    yield LIBRARY.attest_level(request.param)
    LIBRARY.attest_level(-1)


def _packed(out: int, width: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Packed, and the matrix that it stands for."""
    q = torch.randint(16, (out, width), generator=runtime.seeded(1))
    scale, low = (normal(out, width // 32, seed=i).half().float() for i in (2, 3))
    weight = q * scale.repeat_interleave(32, 1) + low.repeat_interleave(32, 1)
    return compiled.pack(q, scale, low), weight


def test_unpacking_gives_the_matrix_back() -> None:
    packed, weight = _packed(48, 96)
    assert packed.shape == (3, 3, 320)
    assert_close(compiled.unpack(packed), weight, atol=0, rtol=0)


def test_scales_keep_what_float16_keeps() -> None:
    numbers = torch.tensor([0.0, -0.0, 6e-8, -3.1e-5, 1.0, -65504.0, 0.33325195])
    scale = numbers.repeat(16, 1)
    q = torch.ones(16, 7 * 32, dtype=torch.long)
    packed = compiled.pack(q, scale, torch.zeros(16, 7))
    assert (compiled.unpack(packed)[0, ::32] == numbers.half().float()).all()
    if LIBRARY is not None:
        product = compiled.multiply(torch.eye(7).repeat_interleave(32, 1)[:, : 7 * 32] / 32, packed)
        assert_close(product[:, 0], numbers.half().float())


@needs_kernels
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 8])
def test_products_are_those_of_the_matrix(level: int, rows: int) -> None:
    packed, weight = _packed(80, 160)
    x = normal(rows, 160, seed=4).bfloat16().float()  # one level rounds them so
    assert_close(compiled.multiply(x, packed), F.linear(x, weight), atol=2e-4, rtol=1e-4)


@needs_kernels
def test_a_row_has_the_same_numbers_in_any_company(level: int) -> None:
    packed, _ = _packed(80, 160)
    x = normal(11, 160, seed=5)
    alone = torch.cat([compiled.multiply(row[None], packed) for row in x])
    for rows in range(1, 12):
        assert torch.equal(compiled.multiply(x[:rows], packed), alone[:rows])


@needs_kernels
def test_threads_change_no_number_and_may_come_from_several_callers() -> None:
    packed, _ = _packed(1600, 160)
    x = normal(3, 160, seed=6)
    expected = compiled.multiply(x, packed)
    before = torch.get_num_threads()
    wrong: list[int] = []

    def ask(number: int) -> None:
        same = (torch.equal(compiled.multiply(x, packed), expected) for _ in range(50))
        wrong.extend(number for equal in same if not equal)

    try:
        torch.set_num_threads(3)
        askers = [threading.Thread(target=ask, args=(i,)) for i in range(3)]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join()
    finally:
        torch.set_num_threads(before)
    assert not wrong


@needs_kernels
def test_the_layer_without_kernels_is_the_same_but_for_rounding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    weight, x = normal(48, 96, seed=1), normal(5, 96, seed=2)
    ours = Int4Linear(weight)
    with monkeypatch.context() as absent:
        absent.setattr(compiled, "library", lambda: None)
        theirs = Int4Linear(weight)
    assert ours.grid is None
    assert theirs.grid is not None
    assert_close(ours.dequantized(), theirs.dequantized(), atol=0.02, rtol=0)
    assert_close(ours(x), theirs(x), atol=0.15, rtol=0.02)


@needs_kernels
def test_exact_logits_are_products_with_the_whole_matrix(level: int) -> None:
    for dtype in (torch.bfloat16, torch.float32):
        dense, x = normal(50, 96, seed=1).to(dtype), normal(2, 96, seed=2)
        logits, ids = torch.zeros(2, 50), torch.tensor([[3, 49], [0, 7]])
        compiled.exact(dense, x, ids, logits)
        expected = torch.zeros(2, 50).scatter(1, ids, F.linear(x, dense.float()).gather(1, ids))
        assert_close(logits, expected)


@pytest.mark.parametrize(
    ("head_width", "widths", "fit"),
    [(64, (576, 1536), True), (32, (64,), True), (48, (64,), False), (64, (72,), False)],
)
def test_what_the_kernels_take(head_width: int, widths: tuple[int, ...], fit: bool) -> None:
    shape = compiled.Shape(2, 1, head_width, 1e-5, 1e-5, torch.float32)
    assert compiled.fits(shape, widths) is fit
