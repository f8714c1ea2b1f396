"""Dot-product attention with grouped heads (Vaswani et al. 2017, §3.2; Ainslie et al. 2023)."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer import masks
from transformer.cache import Cache
from transformer.position import Rotation, rotate

_SHORT = 512  # positions


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, *, causal: bool = False) -> Tensor:
    """softmax(q k^T / sqrt(e)) v, each group of h / g query heads reading one key/value head.

    Args:
        q: (b, h, s, e)
        k: (b, g, t, e), where g divides h
        v: (b, g, t, e)
        mask: bool, broadcastable to (b, h, s, t); a query that may attend nowhere yields zeros
        causal: query i sees keys 0..i; only for s == t, and instead of a mask

    Returns:
        (b, h, s, e)
    """
    b, h, s, e = q.shape
    g = k.shape[1]
    if s == 1 and mask is None:
        # The heads of a group ask the same keys: one query position turns into h / g of them.
        grouped = F.scaled_dot_product_attention(q.view(b, g, h // g, e), k, v)
        return grouped.reshape(b, h, 1, e)
    if _learns_faster_in_products(q, k):
        return _products(q, k, v, masks.causal(s, s) if causal else mask)
    return F.scaled_dot_product_attention(
        q, k, v, attn_mask=mask, is_causal=causal and s > 1, enable_gqa=g != h
    )


def _learns_faster_in_products(q: Tensor, k: Tensor) -> bool:
    """The fused kernel of CPUs goes backward through short bfloat16 rows at a quarter of the speed
    (measured with torch 2.13 at 32 to 512 positions; level at 2,048). In float32 it wins."""
    learning = torch.is_grad_enabled() and q.requires_grad and q.shape[1] == k.shape[1]
    short = q.shape[2] * k.shape[2] <= _SHORT**2
    return learning and short and q.dtype == torch.bfloat16 and q.device.type == "cpu"


def _products(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """`attend`, one matrix product after the other."""
    scores = q * q.shape[-1] ** -0.5 @ k.transpose(-2, -1)  # (b, h, s, t)
    if mask is None:
        return torch.matmul(scores.softmax(-1), v)
    # The lowest number, not infinity: a query that may attend nowhere must not learn from NaN.
    barred = torch.zeros(mask.shape, dtype=q.dtype).masked_fill_(~mask, torch.finfo(q.dtype).min)
    return torch.matmul((scores + barred).softmax(-1), v) * mask.any(-1, keepdim=True)


class Attention(nn.Module):
    """Multi-head self-attention; fewer key/value heads than query heads make it grouped.

    Args:
        d_model: width of the input and output
        n_heads: query heads
        n_kv_heads: key/value heads, a divisor of n_heads
        head_width: width of one head; d_model / n_heads in every common model
        bias: of the query, key and value projections
        out_bias: of the output projection
        q_norm: applied to each query head before rotation (Qwen3); comes with k_norm
        k_norm: applied to each key head before rotation
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        n_kv_heads: int,
        head_width: int,
        bias: bool,
        out_bias: bool,
        q_norm: nn.Module | None = None,
        k_norm: nn.Module | None = None,
    ) -> None:
        super().__init__()
        if n_heads % n_kv_heads:
            raise ValueError(f"n_kv_heads ({n_kv_heads}) must divide n_heads ({n_heads})")
        if (q_norm is None) != (k_norm is None):
            raise ValueError("q_norm and k_norm are given together or not at all")
        self.n_heads, self.n_kv_heads, self.head_width = n_heads, n_kv_heads, head_width
        self.qkv = nn.Linear(d_model, (n_heads + 2 * n_kv_heads) * head_width, bias=bias)
        self.out = nn.Linear(n_heads * head_width, d_model, bias=out_bias)
        self.q_norm = q_norm
        self.k_norm = k_norm

    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None = None,
        causal: bool = False,
        rotation: Rotation | None = None,
        cache: Cache | None = None,
        layer: int = 0,
    ) -> Tensor:
        """Attend from each position of x to x, or to all that the cache holds of this layer and x.

        Args:
            x: (b, s, d)
            mask: bool, broadcastable to (b, h, s, t)
            causal: as in `attend`
            rotation: of the s positions of x, where the model has rotary positions
            cache: takes the new keys and values and gives back all t of them
            layer: which of the cache's layers is this one's

        Returns:
            (b, s, d)
        """
        q, k, v = self.project(x, rotation)
        if cache is not None:
            k, v = cache.append(layer, k, v)  # (b, g, t, e)
        mixed = attend(q, k, v, mask, causal=causal)
        return self.out(mixed.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]

    def project(self, x: Tensor, rotation: Rotation | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Queries (b, h, s, e), keys and values (b, g, s, e) of x (b, s, d), turned if asked."""
        b, s, _ = x.shape
        heads = self.qkv(x).view(b, s, -1, self.head_width).transpose(1, 2)  # (b, h + 2g, s, e)
        turning = self.n_heads + self.n_kv_heads
        qk, v = heads[:, :turning], heads[:, turning:]
        if self.q_norm is not None and self.k_norm is not None:
            parts = self.q_norm(qk[:, : self.n_heads]), self.k_norm(qk[:, self.n_heads :])
            qk = torch.cat(parts, dim=1)
        if rotation is not None:
            qk = rotate(qk, rotation)  # both at once: one pass costs what each of two would
        return qk[:, : self.n_heads], qk[:, self.n_heads :], v


def attention_weights(q: Tensor, k: Tensor, mask: Tensor | None = None) -> Tensor:
    """The weights that `attend` applies, (b, h, s, t): for looking at, and as its oracle.

    Each row sums to one, or to zero where the query may attend nowhere.
    """
    h, g, e = q.shape[1], k.shape[1], q.shape[-1]
    keys = k.repeat_interleave(h // g, dim=1)
    scores: Tensor = q @ keys.transpose(-2, -1) / math.sqrt(e)  # (b, h, s, t)
    if mask is None:
        return scores.softmax(-1)
    scores = scores.masked_fill(~mask, float("-inf"))
    return torch.nan_to_num(scores.softmax(-1))
