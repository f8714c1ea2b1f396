"""Attention against the formula, against torch's own module, and against itself."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from tests import oracles
from tests.builders import normal, randomised
from transformer import Attention, masks
from transformer.attention import attend, attention_weights
from transformer.position import Rotary, rotate
from transformer.runtime import seeded


def _qkv(h: int, g: int, *, s: int, t: int, e: int = 12) -> tuple[Tensor, Tensor, Tensor]:
    return (
        normal(2, h, s, e, seed=1),
        normal(2, g, t, e, seed=2),
        normal(2, g, t, e, seed=3),
    )


def _some_mask(s: int, t: int) -> Tensor:
    """Different for each row of the batch, and never empty for a query."""
    mask = torch.rand(2, 1, s, t, generator=seeded(4)) < 0.5
    mask[..., 0] = True
    return mask


def _attention(
    *, n_heads: int = 6, n_kv_heads: int = 2, bias: bool = True, head_width: int = 6
) -> Attention:
    attention = Attention(
        36,
        n_heads,
        n_kv_heads=n_kv_heads,
        head_width=head_width,
        bias=bias,
        out_bias=bias,
    )
    return randomised(attention, seeded(0)).eval()


@pytest.mark.parametrize(("h", "g"), [(3, 3), (6, 2), (4, 1)])
@pytest.mark.parametrize(("s", "t"), [(5, 5), (3, 7), (1, 6), (1, 1)])
@pytest.mark.parametrize("masked", [False, True])
def test_attend_is_the_formula(h: int, g: int, s: int, t: int, masked: bool) -> None:
    q, k, v = _qkv(h, g, s=s, t=t)
    mask = _some_mask(s, t) if masked else None
    expected = oracles.attention(q, k, v, mask)
    assert_close(attend(q, k, v, mask).double(), expected, atol=1e-6, rtol=1e-5)


def test_attend_in_bfloat16_stays_near_the_formula() -> None:
    q, k, v = (x.bfloat16() for x in _qkv(6, 2, s=5, t=5))
    mask = _some_mask(5, 5)
    actual = attend(q, k, v, mask)
    assert actual.dtype == torch.bfloat16
    assert_close(actual.double(), oracles.attention(q, k, v, mask), atol=2e-2, rtol=2e-2)


@pytest.mark.parametrize("s", [1, 5])
def test_grouped_heads_are_repeated_heads(s: int) -> None:
    q, k, v = _qkv(6, 2, s=s, t=5)
    keys, values = k.repeat_interleave(3, dim=1), v.repeat_interleave(3, dim=1)
    assert_close(attend(q, k, v, None), attend(q, keys, values, None))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("h", "g"), [(3, 3), (6, 2)])
@pytest.mark.parametrize("s", [1, 5])
def test_a_query_that_may_attend_nowhere_yields_zeros(
    dtype: torch.dtype, h: int, g: int, s: int
) -> None:
    q, k, v = (x.to(dtype) for x in _qkv(h, g, s=s, t=5))
    mask = torch.ones(2, 1, s, 5, dtype=torch.bool)
    mask[1, :, 0] = False
    mixed = attend(q, k, v, mask)
    assert torch.isfinite(mixed).all()
    assert (mixed[1, :, 0] == 0).all()
    assert (mixed[0, :, 0] != 0).any()


def test_gradients_stay_finite_where_a_query_may_attend_nowhere() -> None:
    q, k, v = (x.requires_grad_() for x in _qkv(6, 2, s=5, t=5))
    mask = _some_mask(5, 5)
    mask[1, :, 2] = False
    gradients = torch.autograd.grad(attend(q, k, v, mask).square().sum(), [q, k, v])
    assert all(torch.isfinite(gradient).all() for gradient in gradients)
    assert (gradients[0][1, :, 2] == 0).all()


def test_causal_is_the_causal_mask() -> None:
    q, k, v = _qkv(6, 2, s=5, t=5)
    causal = attend(q, k, v, None, causal=True)
    assert_close(causal, attend(q, k, v, masks.causal(5, 5)))
    assert_close(
        causal.double(), oracles.attention(q, k, v, masks.causal(5, 5)), atol=1e-6, rtol=1e-5
    )


def test_causal_output_does_not_know_what_follows() -> None:
    attention = _attention()
    x = normal(2, 7, 36)
    changed = torch.cat([x[:, :4], normal(2, 3, 36, seed=9)], dim=1)
    before, after = attention(x, causal=True), attention(changed, causal=True)
    assert_close(before[:, :4], after[:, :4])
    assert not torch.allclose(before[:, 4:], after[:, 4:])


def test_one_query_is_the_last_of_many() -> None:
    q, k, v = _qkv(6, 2, s=5, t=5)
    many = attend(q, k, v, masks.causal(5, 5))
    assert_close(attend(q[:, :, -1:], k, v, None), many[:, :, -1:])


def test_weights_sum_to_one_and_make_the_output() -> None:
    q, k, v = _qkv(6, 2, s=5, t=5)
    mask = _some_mask(5, 5)
    weights = attention_weights(q, k, mask)
    assert weights.shape == (2, 6, 5, 5)
    assert_close(weights.sum(-1), torch.ones(2, 6, 5))
    assert (weights.masked_select(~mask.expand_as(weights)) == 0).all()
    assert_close(weights @ v.repeat_interleave(3, dim=1), attend(q, k, v, mask))
    assert_close(attention_weights(q, k).sum(-1), torch.ones(2, 6, 5))


def test_weights_of_a_query_that_may_attend_nowhere_are_zero() -> None:
    q, k, _ = _qkv(6, 2, s=5, t=5)
    mask = torch.ones(5, 5, dtype=torch.bool)
    mask[2] = False
    weights = attention_weights(q, k, mask)
    assert (weights[:, :, 2] == 0).all()
    assert_close(weights[:, :, 3].sum(-1), torch.ones(2, 6))


def test_attention_is_torch_multi_head_attention_with_equal_weights() -> None:
    ours = _attention(n_kv_heads=6)
    theirs = nn.MultiheadAttention(36, 6, batch_first=True).eval()
    assert theirs.in_proj_weight is not None
    with torch.no_grad():
        theirs.in_proj_weight.copy_(ours.qkv.weight)
        theirs.in_proj_bias.copy_(ours.qkv.bias)
        theirs.out_proj.weight.copy_(ours.out.weight)
        theirs.out_proj.bias.copy_(ours.out.bias)
    x = normal(2, 7, 36)
    tokens = masks.lengths(torch.tensor([7, 4]), 7)
    with torch.no_grad():
        expected, _ = theirs(x, x, x, key_padding_mask=~tokens, need_weights=False)
        actual = ours(x, mask=masks.padding(tokens))
    assert_close(actual, expected, atol=1e-5, rtol=1e-5)


def test_heads_may_be_wider_than_their_share_of_the_model() -> None:
    attention = _attention(n_heads=4, n_kv_heads=2, head_width=14, bias=False)
    x = normal(2, 5, 36)
    assert [name for name, _ in attention.named_parameters()] == ["qkv.weight", "out.weight"]
    q, k, v = attention.project(x)
    assert (q.shape, k.shape, v.shape) == ((2, 4, 5, 14), (2, 2, 5, 14), (2, 2, 5, 14))
    mixed = oracles.attention(q, k, v).float().transpose(1, 2).flatten(2)
    assert_close(attention(x), mixed @ attention.out.weight.T, atol=1e-5, rtol=1e-5)


def test_query_and_key_norms_come_before_rotation() -> None:
    attention = _attention()
    attention.q_norm = randomised(nn.LayerNorm(6), seeded(1))
    attention.k_norm = randomised(nn.LayerNorm(6), seeded(2))
    rotation = Rotary(6, 5)(0, 5)
    x = normal(2, 5, 36)
    rows = x @ attention.qkv.weight.T + attention.qkv.bias
    heads = rows.view(2, 5, 10, 6).transpose(1, 2)  # (b, h + 2g, s, e)
    q = rotate(attention.q_norm(heads[:, :6]), rotation)
    k = rotate(attention.k_norm(heads[:, 6:8]), rotation)
    mixed = oracles.attention(q, k, heads[:, 8:]).float().transpose(1, 2).flatten(2)
    assert_close(attention(x, rotation=rotation), attention.out(mixed), atol=1e-5, rtol=1e-5)


def test_key_heads_must_divide_query_heads() -> None:
    with pytest.raises(ValueError, match=r"n_kv_heads \(4\) must divide n_heads \(6\)"):
        _attention(n_heads=6, n_kv_heads=4)


@pytest.mark.parametrize("kind", ["none", "causal", "segments", "nowhere"])
def test_learning_in_bfloat16_is_the_same_attention(kind: str) -> None:
    """There the fused kernel gives way to plain products."""
    q, k, v = (normal(2, 4, 6, 8, seed=i).bfloat16() for i in range(3))
    mask = {
        "segments": masks.segments(torch.tensor([[1, 1, 1, 2, 2, 0], [1, 2, 3, 3, 3, 3]])),
        "nowhere": masks.padding(masks.lengths(torch.tensor([6, 0]), 6)),
    }.get(kind)
    asked = q.clone().requires_grad_()
    with torch.no_grad():
        expected = attend(q, k, v, mask, causal=kind == "causal")
    learned = attend(asked, k, v, mask, causal=kind == "causal")
    assert_close(learned, expected, atol=0.02, rtol=0.02)
    learned.float().sum().backward()  # type: ignore[no-untyped-call]
    assert asked.grad is not None

    exact = q.float().requires_grad_()
    in_full = attend(exact, k.float(), v.float(), mask, causal=kind == "causal")
    in_full.sum().backward()  # type: ignore[no-untyped-call]
    assert exact.grad is not None
    assert_close(asked.grad.float(), exact.grad, atol=0.05, rtol=0.05)
