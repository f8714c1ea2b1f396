"""What turns contextual vectors into a label, a number, a tag a token, or a span; and the losses.

A head computes in float32 whatever its weights are kept in: a bfloat16 score has two to three
digits, too few to rank spans or to order sentences by.
"""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from encoder import pooling

HeadPooling = Literal["mean", "cls"]
IGNORED = -100  # a target that counts nowhere


class WideLinear(nn.Linear):
    """A linear layer that computes and answers in float32."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - the name that torch gives it
        bias = None if self.bias is None else self.bias.float()
        return F.linear(input.float(), self.weight.float(), bias)


class SequenceHead(nn.Module):
    """One vector a row, then a hidden layer and its outputs (Liu et al. 2019, as published).

    Args:
        d_model: width of the encoder
        outputs: classes, or 1 for a number
        pooling: the mean over tokens, or the first one
    """

    def __init__(self, d_model: int, outputs: int, *, pooling: HeadPooling) -> None:
        super().__init__()
        self.pooling = pooling
        self.hidden = WideLinear(d_model, d_model)
        self.out = WideLinear(d_model, outputs)

    def forward(self, hidden: Tensor, mask: Tensor | None) -> Tensor:
        """hidden (b, s, d), mask (b, s) or None, to (b, outputs)."""
        pooled = _pooled(hidden, mask, self.pooling)
        return self.out(torch.tanh(self.hidden(pooled)))  # type: ignore[no-any-return]


class ComparedHead(nn.Module):
    """Two texts read apart, u and v, seen as |u - v| and u * v (Conneau et al. 2017, §3.1).

    Both parts are symmetric, and so is what comes out.
    """

    def __init__(self, d_model: int, outputs: int, *, pooling: HeadPooling) -> None:
        super().__init__()
        self.pooling = pooling
        self.hidden = WideLinear(2 * d_model, d_model)
        self.out = WideLinear(d_model, outputs)

    def forward(self, hidden: Tensor, mask: Tensor | None) -> Tensor:
        """hidden (2b, s, d), the first texts above the second ones, to (b, outputs)."""
        pooled = _pooled(hidden, mask, self.pooling)
        # Of unit length, times sqrt(d): each number is about 1, whatever the encoder's scale is.
        scaled = F.normalize(pooled, dim=-1) * pooled.shape[-1] ** 0.5
        u, v = scaled.chunk(2)
        return self.out(torch.tanh(self.hidden(torch.cat([(u - v).abs(), u * v], -1))))  # type: ignore[no-any-return]


class TokenHead(nn.Module):
    """Outputs for each token: tags, or the two ends of a span."""

    def __init__(self, d_model: int, outputs: int) -> None:
        super().__init__()
        self.out = WideLinear(d_model, outputs)

    def forward(self, hidden: Tensor, mask: Tensor | None) -> Tensor:
        """(b, s, d) to (b, s, outputs); places at padding are to be ignored."""
        return self.out(hidden)  # type: ignore[no-any-return]


def class_loss(logits: Tensor, classes: Tensor) -> Tensor:
    """Cross entropy, logits (b, n) and classes (b,)."""
    return F.cross_entropy(logits.float(), classes)


def number_loss(values: Tensor, targets: Tensor) -> Tensor:
    """Mean squared error, values (b, 1) and targets (b,)."""
    return F.mse_loss(values.float().squeeze(-1), targets)


def tag_loss(logits: Tensor, tags: Tensor) -> Tensor:
    """Cross entropy over tokens, logits (b, s, n) and tags (b, s); IGNORED counts nowhere."""
    return F.cross_entropy(logits.float().flatten(0, 1), tags.flatten(), ignore_index=IGNORED)


def span_loss(logits: Tensor, starts: Tensor, ends: Tensor, allowed: Tensor) -> Tensor:
    """Mean cross entropy of the first and the last token of a span (Devlin et al. 2018, §4.2).

    Args:
        logits: (b, s, 2), of being the first and of being the last token
        starts: (b,)
        ends: (b,), the last token itself
        allowed: (b, s), where a span may begin and end
    """
    scores = logits.float().masked_fill(~allowed.unsqueeze(-1), float("-inf"))
    begin = F.cross_entropy(scores[..., 0], starts)
    return (begin + F.cross_entropy(scores[..., 1], ends)) / 2


def best_spans(
    logits: Tensor, allowed: Tensor, *, longest: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The best span of each row, apart from place 0, which stands for "no answer".

    Args:
        logits: (b, s, 2)
        allowed: (b, s)
        longest: tokens of a span at most

    Returns:
        firsts, lasts, their summed scores and the summed scores of place 0, each (b,)
    """
    scores = logits.float()
    nothing = scores[:, 0].sum(-1)
    inside = allowed.clone()
    inside[:, 0] = False
    scores = scores.masked_fill(~inside.unsqueeze(-1), float("-inf"))
    width = scores.shape[1]
    ordered = torch.ones(width, width, dtype=torch.bool).triu().tril(longest - 1)
    sums = scores[:, :, None, 0] + scores[:, None, :, 1]  # (b, s, s)
    flat = sums.masked_fill(~ordered, float("-inf")).flatten(1)
    best, place = flat.max(-1)
    return place // width, place % width, best, nothing


def _pooled(hidden: Tensor, mask: Tensor | None, kind: HeadPooling) -> Tensor:
    match kind:
        case "mean":
            return pooling.mean(hidden, mask)
        case "cls":
            return pooling.cls(hidden)
