"""Which key positions a query may attend to. Bool, True = may attend; pure functions."""

import torch
from torch import Tensor


def causal(s: int, t: int) -> Tensor:
    """The last s of t positions, each seeing itself and everything before it: (s, t)."""
    if s > t:
        raise ValueError(f"s ({s}) queries cannot be the last of t ({t}) positions")
    return torch.ones(s, t, dtype=torch.bool).tril(t - s)


def padding(mask: Tensor) -> Tensor:
    """Every query sees the keys that are tokens: (b, t), True for a token, to (b, 1, 1, t)."""
    return mask[:, None, None, :]


def segments(numbers: Tensor) -> Tensor:
    """Every query sees the keys of its own segment: (b, s) numbers of segments to (b, 1, s, s).

    Padding is a segment of its own, number 0, so that no query is left without a key.
    """
    return (numbers[:, :, None] == numbers[:, None, :])[:, None]


def lengths(counts: Tensor, width: int) -> Tensor:
    """Right-padded rows of counts[i] tokens each, as a token mask (b, width)."""
    return torch.arange(width) < counts[:, None]
