"""What the blocks should compute, written as the papers write it: loops, double precision, slow."""

import math

import torch
from torch import Tensor


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Vaswani et al. 2017, §3.2.1, one query of one head at a time: (b, h, s, e), fp64.

    Query head i reads key/value head i // (h / g). A query that may attend nowhere gives zeros.
    """
    q, k, v = q.detach(), k.detach(), v.detach()
    b, h, s, e = q.shape
    g, t = k.shape[1], k.shape[2]
    allowed = torch.ones(b, h, s, t, dtype=torch.bool)
    if mask is not None:
        allowed = mask.expand(b, h, s, t)
    out = torch.zeros(b, h, s, e, dtype=torch.float64)
    for row, head, query in torch.cartesian_prod(
        torch.arange(b), torch.arange(h), torch.arange(s)
    ).tolist():
        keys, values = k[row, head * g // h].double(), v[row, head * g // h].double()
        exponentials = [
            math.exp(float(q[row, head, query].double() @ keys[j]) / math.sqrt(e))
            if allowed[row, head, query, j]
            else 0.0
            for j in range(t)
        ]
        total = sum(exponentials)
        for j, exponential in enumerate(exponentials):
            if exponential:
                out[row, head, query] += exponential / total * values[j]
    return out


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor | None, eps: float) -> Tensor:
    """Ba et al. 2016: over the last axis, with the biased variance, fp64."""
    wide = x.double()
    centred = wide - wide.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    normed = centred / (variance + eps).sqrt() * weight.double()
    return normed if bias is None else normed + bias.double()


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Zhang & Sennrich 2019: over the last axis, fp64."""
    wide = x.double()
    return wide / (wide.square().mean(-1, keepdim=True) + eps).sqrt() * weight.double()


def sinusoid(position: int, column: int, d_model: int) -> float:
    """Vaswani et al. 2017, §3.5: sine at even columns, cosine at odd ones."""
    angle = position / 10000 ** ((column - column % 2) / d_model)
    return math.cos(angle) if column % 2 else math.sin(angle)


def cosines(left: Tensor, right: Tensor) -> Tensor:
    """The cosine of each row of one matrix with the same row of another, fp64."""
    return torch.cosine_similarity(left.double(), right.double(), dim=-1)
