"""From one vector a token to one vector a text (Reimers & Gurevych 2019, §3).

Texts stand one in a row, right-padded with a mask (b, s); or several in a row with segments (b, s):
0 at padding, 1, 2, … for the texts of the row. Either way each text's tokens are pooled alone.
"""

import torch
from torch import Tensor, nn

from encoder.config import EmbeddingConfig, Pooling
from encoder.model import Encoder


class AttentionPooler(nn.Module):
    """The one query that a model asks its tokens with (Yang et al. 2016, §2.2, without the layer).

    It starts at zero, where every token weighs the same: a model begins from its mean.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.zeros(d_model))

    def forward(self, hidden: Tensor) -> Tensor:
        """How loud each token is, before the softmax over its text: (b, s, d) to (b, s) fp32."""
        query: Tensor = self.query.float()
        return hidden.float() @ query


def fit(model: Encoder, embedding: EmbeddingConfig) -> None:
    """Give the model the pooler that its pooling learns with, and no other."""
    have = pooler(model)
    if embedding.pooling != "attention":
        if have is not None:
            del model.pooler
    elif have is None:
        weight = model.embedding.weight
        model.pooler = AttentionPooler(model.config.d_model).to(weight.device, weight.dtype)


def pooler(model: Encoder) -> AttentionPooler | None:
    """The model's own, if it has one."""
    found = getattr(model, "pooler", None)
    assert found is None or isinstance(found, AttentionPooler)
    return found


def pool(
    model: Encoder,
    hidden: Tensor,
    how: Pooling,
    *,
    mask: Tensor | None = None,
    segments: Tensor | None = None,
) -> Tensor:
    """One vector a text, fp32 and of no particular length.

    Args:
        model: for the pooler of "attention"
        hidden: the model's output, (b, s, d)
        how: they are put together
        mask: bool, (b, s), False at padding; None where no row is padded
        segments: (b, s), instead of a mask, where rows hold several texts

    Returns:
        (b, d); with segments (n, d), in the order of rows and of the texts in them
    """
    match how:
        case "mean":
            return mean(hidden, mask) if segments is None else segment_mean(hidden, segments)
        case "cls":
            return cls(hidden) if segments is None else segment_cls(hidden, segments)
        case "max":
            return maximum(hidden, mask) if segments is None else segment_max(hidden, segments)
        case "attention":
            own = pooler(model)
            if own is None:
                raise ValueError("attention pooling needs a pooler: see pooling.fit")
            scores = own(hidden)
            if segments is None:
                return attention(hidden, scores, mask)
            return segment_attention(hidden, scores, segments)


def parts(model: Encoder, hidden: Tensor, how: Pooling) -> Tensor:
    """What each token of one text adds to its pooled vector: (s, d) to (s, d) fp32, a sum's terms.

    Of "max", each column is the largest token's own.
    """
    wide = hidden.float()
    match how:
        case "mean":
            return wide / len(wide)
        case "cls":
            return wide * (torch.arange(len(wide)) == 0)[:, None]
        case "max":
            return torch.zeros_like(wide).scatter(0, at := wide.argmax(0, True), wide.gather(0, at))
        case "attention":
            own = pooler(model)
            if own is None:
                raise ValueError("attention pooling needs a pooler: see pooling.fit")
            weights: Tensor = own(hidden).softmax(0)
            return wide * weights[:, None]


def mean(hidden: Tensor, mask: Tensor | None) -> Tensor:
    """The mean over tokens: hidden (b, s, d), mask (b, s) False at padding, to (b, d) fp32."""
    if mask is None:
        return hidden.float().mean(dim=1)
    weights = mask.unsqueeze(-1).float()
    return (hidden.float() * weights).sum(dim=1) / weights.sum(dim=1)


def cls(hidden: Tensor) -> Tensor:
    """The first token's vector: hidden (b, s, d) to (b, d) fp32."""
    return hidden[:, 0].float()


def maximum(hidden: Tensor, mask: Tensor | None) -> Tensor:
    """The largest value of each column over the tokens: (b, d) fp32."""
    wide = hidden.float()
    if mask is not None:
        wide = wide.masked_fill(~mask.unsqueeze(-1), float("-inf"))
    return wide.amax(dim=1)


def attention(hidden: Tensor, scores: Tensor, mask: Tensor | None) -> Tensor:
    """The mean weighted by softmax(scores) over the tokens: scores (b, s), to (b, d) fp32."""
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return (hidden.float() * scores.float().softmax(dim=1).unsqueeze(-1)).sum(dim=1)


def segment_mean(hidden: Tensor, segments: Tensor) -> Tensor:
    """`mean` of each segment: (n, d) fp32."""
    return segment_attention(hidden, torch.zeros_like(segments, dtype=torch.float32), segments)


def segment_cls(hidden: Tensor, segments: Tensor) -> Tensor:
    """`cls` of each segment: (n, d) fp32."""
    before = torch.cat([torch.zeros_like(segments[:, :1]), segments[:, :-1]], dim=1)
    return hidden[(segments > 0) & (segments != before)].float()


def segment_max(hidden: Tensor, segments: Tensor) -> Tensor:
    """`maximum` of each segment: (n, d) fp32."""
    text, n = _texts(segments)
    wide = hidden[segments > 0].float()  # (t, d)
    empty = wide.new_full((n, wide.shape[1]), float("-inf"))
    return empty.scatter_reduce(0, text.unsqueeze(-1).expand_as(wide), wide, "amax")


def segment_attention(hidden: Tensor, scores: Tensor, segments: Tensor) -> Tensor:
    """`attention` within each segment: (n, d) fp32."""
    text, n = _texts(segments)
    chosen = segments > 0
    wide, loud = hidden[chosen].float(), scores[chosen].float()  # (t, d), (t,)
    top = loud.new_full((n,), float("-inf")).scatter_reduce(0, text, loud.detach(), "amax")
    weights = (loud - top[text]).exp()
    total = weights.new_zeros(n).index_add(0, text, weights)
    weighted = wide * (weights / total[text]).unsqueeze(-1)
    return wide.new_zeros(n, wide.shape[1]).index_add(0, text, weighted)


def _texts(segments: Tensor) -> tuple[Tensor, int]:
    """Which text each token that is no padding belongs to, (t,), and how many texts there are."""
    counts = segments.amax(dim=1)  # (b,)
    before = counts.cumsum(0) - counts
    return (segments + before.unsqueeze(1) - 1)[segments > 0], int(counts.sum())
