"""An addition beside a layer of any precision, and an adapter made of such."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from tests.builders import normal, randomised
from transformer import CheckpointError, compiled, low_rank
from transformer.lora import Adapter
from transformer.low_rank import LowRankLinear
from transformer.quantize import QuantizedLinear, quantized
from transformer.runtime import seeded

_BASES = ["plain", 8, 4]


def _base(kind: str | int) -> nn.Linear | QuantizedLinear:
    linear = randomised(nn.Linear(96, 48), seeded(0)).requires_grad_(False)
    return linear if kind == "plain" else quantized(linear.weight, linear.bias, bits=int(kind))


@pytest.mark.parametrize("kind", _BASES)
@pytest.mark.parametrize("shape", [(1,), (8,), (2, 3), (9,), (2, 20)])
def test_the_addition_is_the_product_of_the_two(kind: str | int, shape: tuple[int, ...]) -> None:
    base, a, b = _base(kind), normal(3, 96, seed=1), normal(48, 3, seed=2)
    x = normal(*shape, 96, seed=3)
    y = LowRankLinear(base, a, b)(x)
    assert y.shape == (*shape, 48)
    assert y.dtype == x.dtype
    added = F.linear(F.linear(x, a), b)
    wide = kind == "plain" or x[..., 0].numel() <= 8
    atol = 2e-4 if wide else 2**-7 * added.abs().max().item()  # many rows may be bfloat16
    assert_close(y - base(x), added, atol=atol, rtol=1e-2)
    if kind != "plain":
        assert LowRankLinear(base, a, b)(x.bfloat16()).dtype == torch.bfloat16


def _adapter(**changes: tuple[int, ...]) -> Adapter:
    shapes = {"0.a": (2, 96), "0.b": (48, 2)} | changes
    tensors = {name: normal(*shape, seed=len(name)) for name, shape in shapes.items()}
    return Adapter("feed", 1.5, tensors, {}, {})


@pytest.mark.parametrize("kind", _BASES)
def test_an_adapter_goes_beside_its_layers_with_its_scale(kind: str | int) -> None:
    model, adapter, x = nn.Sequential(_base(kind), nn.ReLU()), _adapter(), normal(4, 96)
    before = model[0](x)
    low_rank.attach(model, adapter)
    added = F.linear(F.linear(x, adapter.tensors["0.a"]), 1.5 * adapter.tensors["0.b"])
    assert_close(model[0](x) - before, added, atol=2e-4, rtol=1e-3)
    assert all(".base." in name for name in model.state_dict())


@pytest.mark.parametrize("kind", _BASES)
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"0.a": (2, 95)}, r"tensors of 0 have shapes \(\(2, 95\), \(48, 2\)\)"),
        ({"1.a": (2, 96), "1.b": (48, 2)}, "changes 1, and the model has no such layer"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_attached(
    kind: str | int, changes: dict[str, tuple[int, ...]], message: str
) -> None:
    model = nn.Sequential(_base(kind), nn.ReLU())
    with pytest.raises(CheckpointError, match=message):
        low_rank.attach(model, _adapter(**changes))
    assert not any(isinstance(module, LowRankLinear) for module in model.modules())


def test_the_kernels_get_pairs_and_an_even_rank() -> None:
    a, b = normal(3, 96, seed=1).bfloat16(), normal(48, 3, seed=2).bfloat16()
    packed = compiled.pack_addition(a.float(), b.float())
    assert packed.a.shape == (4, 3, 16, 2)
    assert packed.b.shape == (3, 2, 16, 2)
    assert packed.a[1, 2, 5].tolist() == [a[1, 64 + 5].item(), a[1, 64 + 21].item()]
    assert packed.b[2, 0, 7].tolist() == b[32 + 7, :2].tolist()
    assert packed.b[2, 1, 7].tolist() == [b[32 + 7, 2].item(), 0.0]
    assert not packed.a[3].any()
