"""What a trained token costs in the linear layers."""

from torch import nn

from transformer import lora
from transformer.runtime import seeded
from transformer.work import matrix_flops


def _model() -> nn.Sequential:
    return nn.Sequential(nn.Embedding(7, 4), nn.Linear(4, 10), nn.LayerNorm(10), nn.Linear(10, 3))


def test_a_trained_weight_costs_six_and_an_embedding_nothing() -> None:
    assert matrix_flops(_model()) == 6 * (40 + 30)


def test_nothing_goes_back_below_the_first_trained_weight() -> None:
    model = _model()
    model.requires_grad_(False)
    model[3].weight.requires_grad_(True)
    assert matrix_flops(model) == 2 * 40 + 4 * 30  # its input wants no gradient
    model[1].bias.requires_grad_(True)
    assert matrix_flops(model) == 2 * 40 + 6 * 30


def test_frozen_layers_hand_gradients_on_to_the_adapters_below() -> None:
    model = _model()
    lora.attach(model, lora.LoraConfig(rank=2, targets=("1", "3")), rng=seeded(0))
    assert matrix_flops(model) == 2 * 40 + 4 * 30  # nothing below wants the first one's
