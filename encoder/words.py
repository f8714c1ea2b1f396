"""Guessing words: the head of masked language modelling, and its loss."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from encoder.config import EncoderConfig
from encoder.model import activation, norm

_SCORES_AT_ONCE = 1 << 20  # float32 copies of so many stay within the processor's caches


class WordHead(nn.Module):
    """Vectors to what is compared with every word's embedding (Devlin et al. 2018, appendix A.2).

    The matrix of the words is the encoder's own (Press & Wolf 2017), so that it is handed in.
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.d_model, config.d_model, bias=config.bias)
        self.activation = activation(config)
        self.norm = norm(config)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))

    @torch.no_grad()
    def level(self, embedding: Tensor) -> None:
        """Begin with scores of a variance of one at most, however large the words' vectors are."""
        length = embedding.square().sum(dim=1).mean().sqrt()
        self.norm.weight.fill_(min(1.0, 1 / float(length)))

    def forward(self, hidden: Tensor) -> Tensor:
        """(m, d) to (m, d)."""
        return self.norm(self.activation(self.dense(hidden)))  # type: ignore[no-any-return]

    def scores(self, hidden: Tensor, embedding: Tensor) -> Tensor:
        """Of every word, before the softmax: (m, d) and (v, d) to (m, v)."""
        return F.linear(self(hidden), embedding, self.bias)

    def loss(self, hidden: Tensor, embedding: Tensor, labels: Tensor) -> Tensor:
        """The mean cross-entropy of m guesses, in float32: (m, d), (v, d) and (m,) to a scalar."""
        return word_loss(self(hidden), embedding, self.bias, labels)


def word_loss(features: Tensor, embedding: Tensor, bias: Tensor, labels: Tensor) -> Tensor:
    """cross_entropy(features @ embedding.T + bias, labels), computed in float32.

    The gradient of the scores takes the scores' own place, a few rows at a time: at 16,000 words
    and 2,500 guesses the float32 copies of a plain graph would be 600 MB to write and read.

    Args:
        features: (m, d)
        embedding: (v, d)
        bias: (v,)
        labels: (m,)
    """
    loss: Tensor = _WordLoss.apply(features, embedding, bias, labels)  # type: ignore[no-untyped-call]
    return loss


class _WordLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, features: Tensor, embedding: Tensor, bias: Tensor, labels: Tensor
    ) -> Tensor:
        scores = features @ embedding.T  # (m, v)
        rows = max(1, _SCORES_AT_ONCE // scores.shape[1])
        parts = zip(torch.split(scores, rows), torch.split(labels, rows), strict=True)
        losses = torch.cat([_turn_into_gradient(*part, bias.float()) for part in parts])
        ctx.save_for_backward(scores, features, embedding)
        return losses.mean()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        by_score, features, embedding = ctx.saved_tensors
        share = grads[0] / len(features)
        # As a product: a sum over rows would read them through a float32 copy of them all.
        by_bias = torch.ones_like(by_score[:, 0]) @ by_score
        return by_score @ embedding * share, by_score.T @ features * share, by_bias * share, None


def _turn_into_gradient(scores: Tensor, labels: Tensor, bias: Tensor) -> Tensor:
    """Overwrite scores (m, v) by softmax(scores + bias) - one-hot; the cross-entropies (m,)."""
    wide = scores + bias
    chance = wide.softmax(-1)
    places = labels[:, None]
    # The most likely word's chance is never 0, unlike the right one's: its logarithm is safe.
    normaliser = wide.amax(-1, keepdim=True) - chance.amax(-1, keepdim=True).log()
    losses = normaliser - wide.gather(1, places)
    chance.scatter_add_(1, places, torch.full_like(losses, -1.0))
    scores.copy_(chance)
    return losses.squeeze(1)
