"""Pooling, written out, and the same whether a text stands alone or shares its row."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from encoder import EmbeddingConfig, Encoder, EncoderConfig, pooling
from encoder.config import Pooling
from encoder.data import pack
from tests.builders import normal, randomised
from transformer import masks
from transformer.runtime import seeded

SMALL = EncoderConfig(
    vocab_size=97, d_model=12, n_layers=2, n_heads=3, d_ff=20, max_tokens=24, positions="learned"
)
HOW: list[Pooling] = ["mean", "cls", "max", "attention"]


def _model(how: Pooling) -> Encoder:
    model = Encoder(SMALL)
    pooling.fit(model, EmbeddingConfig(max_tokens=24, pooling=how))
    return randomised(model, seeded(0)).eval()


def _mask() -> Tensor:
    return masks.lengths(torch.tensor([5, 1, 3]), 5)


def test_mean_is_over_tokens_only() -> None:
    hidden = normal(3, 5, 4)
    expected = torch.stack([hidden[0].mean(0), hidden[1, 0], hidden[2, :3].mean(0)])
    assert_close(pooling.mean(hidden, _mask()), expected)


def test_mean_without_padding_is_over_all() -> None:
    hidden = normal(2, 5, 4)
    assert_close(pooling.mean(hidden, None), hidden.mean(dim=1))


def test_cls_is_the_first_token() -> None:
    hidden = normal(2, 5, 4)
    assert_close(pooling.cls(hidden), hidden[:, 0])


def test_maximum_is_over_tokens_only() -> None:
    hidden = normal(3, 5, 4) - 3  # so that a zero at padding would win
    expected = torch.stack([hidden[0].amax(0), hidden[1, 0], hidden[2, :3].amax(0)])
    assert_close(pooling.maximum(hidden, _mask()), expected)
    assert_close(pooling.maximum(hidden, None), hidden.amax(dim=1))


def test_attention_weighs_tokens_by_their_scores() -> None:
    hidden, scores = normal(3, 5, 4), 3 * normal(3, 5, seed=1)
    pooled = pooling.attention(hidden, scores, _mask())
    for row, length in enumerate([5, 1, 3]):
        weights = scores[row, :length].exp() / scores[row, :length].exp().sum()
        assert_close(pooled[row], weights @ hidden[row, :length])


def test_attention_begins_as_the_mean() -> None:
    model = Encoder(SMALL)
    pooling.fit(model, EmbeddingConfig(max_tokens=24, pooling="attention"))
    hidden = normal(3, 5, 12)
    pooled = pooling.pool(model, hidden, "attention", mask=_mask())
    assert_close(pooled, pooling.mean(hidden, _mask()))


def test_a_model_has_the_pooler_that_its_pooling_needs() -> None:
    model = _model("attention")
    names = {name for name, _ in model.named_parameters()}
    assert "pooler.query" in names
    before = pooling.pooler(model)
    pooling.fit(model, EmbeddingConfig(max_tokens=24, pooling="attention"))
    assert pooling.pooler(model) is before  # what it learned stays
    pooling.fit(model, EmbeddingConfig(max_tokens=24))
    assert {name for name, _ in model.named_parameters()} == names - {"pooler.query"}
    with pytest.raises(ValueError, match=r"attention pooling needs a pooler: see pooling\.fit"):
        pooling.pool(model, normal(1, 2, 12), "attention")


@pytest.mark.parametrize("how", HOW)
def test_a_text_in_a_shared_row_is_the_text_alone(how: Pooling) -> None:
    model = _model(how)
    lengths = [7, 2, 9, 1, 24, 5, 5]
    rows = [torch.randint(5, 97, (n,), generator=seeded(n + 1)).tolist() for n in lengths]
    packed = pack(rows, 24, pad_id=0)
    assert len(packed.tokens) < len(rows)
    hidden = model(packed.tokens, segments=packed.segments)
    pooled = pooling.pool(model, hidden, how, segments=packed.segments)
    assert pooled.dtype == torch.float32
    order = sorted(range(len(rows)), key=lambda i: packed.places[i].tolist())
    alone = [pooling.pool(model, model(torch.tensor([rows[i]])), how)[0] for i in order]
    assert_close(pooled, torch.stack(alone), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("how", HOW)
def test_gradients_in_a_shared_row_are_those_alone(how: Pooling) -> None:
    model = _model(how)
    weight = normal(3, 12, seed=3)
    texts = [normal(1, n, 12, seed=n).requires_grad_() for n in (2, 3, 4)]
    alone = torch.cat([pooling.pool(model, text, how) for text in texts])
    expected = torch.autograd.grad((alone * weight).sum(), texts)

    padding = torch.zeros(1, 1, 12)
    rows = torch.cat(
        [torch.cat([*texts[:2], padding], 1), torch.cat([texts[2], *[padding] * 2], 1)]
    )
    segments = torch.tensor([[1, 1, 2, 2, 2, 0], [1, 1, 1, 1, 0, 0]])
    together = pooling.pool(model, rows, how, segments=segments)
    got = torch.autograd.grad((together * weight).sum(), texts)
    for mine, reference in zip(got, expected, strict=True):
        assert_close(mine, reference, atol=1e-6, rtol=1e-5)


def test_pooling_is_done_in_float32() -> None:
    hidden = torch.ones(1, 4, 2, dtype=torch.bfloat16)
    hidden[:, 0] = 1 + 2**-7  # so that the mean lies between two numbers of bfloat16
    for mask in (None, torch.ones(1, 4, dtype=torch.bool)):
        pooled = pooling.mean(hidden, mask)
        assert_close(pooled, torch.full((1, 2), 1 + 2**-9), atol=1e-6, rtol=0)
    assert pooling.cls(hidden).dtype == pooling.maximum(hidden, None).dtype == torch.float32
