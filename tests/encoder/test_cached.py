"""A batch in slices has the gradient of the batch at once."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.testing import assert_close

from encoder import cached, losses
from tests.builders import normal, randomised
from transformer.runtime import seeded


class Dropping(nn.Module):
    """Dropout between two layers, and a count of the texts that went through."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(6, 20), nn.Linear(20, 5)
        self.share, self.seen = share, 0

    def forward(self, x: Tensor) -> Tensor:
        self.seen += len(x)
        dropped = F.dropout(self.up(x).tanh(), self.share)
        return self.down(dropped)  # type: ignore[no-any-return]


def _loss(vectors: Tensor) -> Tensor:
    queries, documents = vectors.chunk(2)
    return losses.info_nce(queries, documents, temperature=0.1)


def _gradients(model: nn.Module) -> list[Tensor]:
    found = [p.grad for p in model.parameters() if p.grad is not None]
    model.zero_grad()
    return found


@pytest.mark.parametrize("sizes", [(16,), (5, 5, 6), (1, 15), (1,) * 16])
def test_slices_have_the_gradient_of_the_whole(sizes: tuple[int, ...]) -> None:
    model, x = randomised(Dropping(0.0), seeded(0)), normal(16, 6)
    whole = _loss(model(x))
    whole.backward()  # type: ignore[no-untyped-call]
    expected = _gradients(model)
    told = cached.backward(list(x.split(sizes)), model, _loss, seeded(1))
    assert told == pytest.approx(whole.item(), abs=1e-6)
    for got, reference in zip(_gradients(model), expected, strict=True):
        assert_close(got, reference, atol=1e-6, rtol=1e-6)


def test_dropout_is_the_same_both_times_and_another_for_each_slice() -> None:
    model, x = randomised(Dropping(0.5), seeded(0)), normal(16, 6)
    slices, made = list(x.split(4)), []

    def embed(part: Tensor) -> Tensor:
        made.append(model(part))
        return made[-1]

    told = cached.backward(slices, embed, _loss, seeded(1))
    got = _gradients(model)
    without, with_graph = made[:4], made[4:]
    for first, second in zip(without, with_graph, strict=True):
        assert_close(first, second, atol=0, rtol=0)
        assert not first.requires_grad
    assert _loss(torch.cat(without)).item() == pytest.approx(told)
    assert cached.backward(slices, model, _loss, seeded(1)) == told
    for first, again in zip(_gradients(model), got, strict=True):
        assert_close(first, again, atol=0, rtol=0)
    assert cached.backward(slices, model, _loss, seeded(2)) != told


def test_slices_of_equal_texts_lose_other_parts() -> None:
    model, made = randomised(Dropping(0.5), seeded(0)), []

    def embed(part: Tensor) -> Tensor:
        made.append(model(part))
        return made[-1]

    cached.backward(list(normal(1, 6).expand(8, 6).split(4)), embed, _loss, seeded(1))
    assert not torch.equal(made[0], made[1])


def test_one_slice_is_embedded_once() -> None:
    model, x = randomised(Dropping(0.5), seeded(0)), normal(16, 6)
    cached.backward([x], model, _loss, seeded(1))
    assert model.seen == 16


def test_gradients_are_added_to_those_that_are_there() -> None:
    model, x = randomised(Dropping(0.0), seeded(0)), normal(16, 6)
    slices = list(x.split(8))
    cached.backward(slices, model, _loss, seeded(1))
    once = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    cached.backward(slices, model, _loss, seeded(1))
    for got, reference in zip(_gradients(model), once, strict=True):
        assert_close(got, 2 * reference)
