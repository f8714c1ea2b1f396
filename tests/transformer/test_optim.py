"""AdamW over float32 copies: torch's own steps, on whatever the model computes in."""

from typing import Any

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from tests.builders import normal, randomised
from transformer.errors import TrainingError
from transformer.optim import MasterAdamW
from transformer.runtime import seeded


def _model() -> nn.Sequential:
    layers = nn.Embedding(9, 6), nn.Linear(6, 5), nn.LayerNorm(5), nn.Linear(5, 3)
    return randomised(nn.Sequential(*layers), seeded(0))


def _backward(model: nn.Module, step: int) -> None:
    tokens = torch.arange(8)[step:]
    scores: torch.Tensor = model(tokens)
    loss = scores.float().square().sum() * (1 + step)
    loss.backward()  # type: ignore[no-untyped-call]


def _ours(model: nn.Module) -> MasterAdamW:
    return MasterAdamW(model, learning_rate=0.1, betas=(0.9, 0.98), weight_decay=0.1)


def _theirs(model: nn.Module) -> torch.optim.AdamW:
    matrices = [p for p in model.parameters() if p.ndim > 1]
    vectors = [p for p in model.parameters() if p.ndim == 1]
    groups: list[dict[str, Any]] = [{"params": matrices}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=0.1, betas=(0.9, 0.98), weight_decay=0.1)


@pytest.mark.parametrize("clip", [0.5, 1e9])
def test_its_steps_are_those_of_torch(clip: float) -> None:
    ours, theirs = _model(), _model()
    optimizer, oracle = _ours(ours), _theirs(theirs)
    for step, rate in enumerate((0.1, 0.05, 0.01)):
        _backward(ours, step)
        optimizer.collect()
        norm = optimizer.step(rate, clip=clip)
        _backward(theirs, step)
        assert norm == pytest.approx(
            float(nn.utils.clip_grad_norm_(theirs.parameters(), clip)), rel=1e-5
        )
        for group in oracle.param_groups:
            group["lr"] = rate
        oracle.step()
        oracle.zero_grad()
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert_close(mine, other, atol=1e-5, rtol=1e-5)


def test_what_is_collected_adds_up_and_a_share_of_it_counts() -> None:
    one, two = _model(), _model()
    once, twice = _ours(one), _ours(two)
    _backward(one, 1)
    once.collect()
    for _ in range(2):
        _backward(two, 1)
        twice.collect()
    norms = once.step(0.1, clip=1.0), twice.step(0.1, clip=1.0, share=0.5)
    assert norms[0] == pytest.approx(norms[1], rel=1e-6)
    for mine, other in zip(one.parameters(), two.parameters(), strict=True):
        assert_close(mine, other)


def test_a_parameter_without_gradient_keeps_none_of_the_step_before() -> None:
    model = _model()
    optimizer = _ours(model)
    _backward(model, 0)
    optimizer.collect()
    optimizer.step(0.0, clip=1.0)
    model[3](normal(2, 5)).sum().backward()
    optimizer.collect()
    found = sum(float(gradient.square().sum()) for gradient in optimizer.gradients)
    of_weight, of_bias = 3 * float(normal(2, 5).sum(0).square().sum()), 3 * 2.0**2
    assert found == pytest.approx(of_weight + of_bias, rel=1e-5)


def test_copies_are_float32_whatever_the_model_computes_in() -> None:
    model = _model()
    optimizer = _ours(model)
    exact = {name: master.clone() for name, master in optimizer.masters.items()}
    model.bfloat16()
    _backward(model, 0)
    optimizer.collect()
    optimizer.step(1e-6, clip=1.0)
    assert {master.dtype for master in optimizer.masters.values()} == {torch.float32}
    moved = optimizer.masters["1.weight"] - exact["1.weight"]
    assert 0 < moved.abs().max() < 1e-5
    weight = model.get_parameter("1.weight")
    assert weight.dtype == torch.bfloat16
    assert torch.equal(weight, optimizer.masters["1.weight"].bfloat16())


def test_a_gradient_that_is_no_number_moves_nothing() -> None:
    model = _model()
    optimizer = _ours(model)
    before = optimizer.masters["1.weight"].clone()
    _backward(model, 0)
    model.get_parameter("1.weight").grad = torch.full((5, 6), float("inf"))
    optimizer.collect()
    assert optimizer.step(0.1, clip=1.0) == float("inf")
    assert torch.equal(optimizer.masters["1.weight"], before)


def test_restored_it_takes_the_same_step() -> None:
    models = [_model(), _model()]
    first, second = (_ours(model) for model in models)
    for step in range(2):
        _backward(models[0], step)
        first.collect()
        first.step(0.1, clip=1.0)
    second.restore({n: t.clone() for n, t in first.tensors().items()}, steps=2)
    for model, optimizer in zip(models, (first, second), strict=True):
        _backward(model, 2)
        optimizer.collect()
        optimizer.step(0.1, clip=1.0)
    for name, master in first.masters.items():
        assert torch.equal(second.masters[name], master)


def test_a_state_that_lacks_something_changes_nothing() -> None:
    optimizer = _ours(_model())
    before = optimizer.masters["1.weight"].clone()
    saved = {name: torch.zeros_like(tensor) for name, tensor in optimizer.tensors().items()}
    del saved["master/3.weight"]
    with pytest.raises(TrainingError, match=r"master/3\.weight: .* \(3, 5\), .* lacks it"):
        optimizer.restore(saved, steps=0)
    assert torch.equal(optimizer.masters["1.weight"], before)


def test_what_cannot_be_trained_is_refused() -> None:
    model = _model().requires_grad_(False)
    with pytest.raises(ValueError, match="nothing to train"):
        _ours(model)
    with pytest.raises(ValueError, match="no gradient was collected"):
        _ours(_model()).step(0.1, clip=1.0)
