"""From one vector a token to one vector a text (Reimers & Gurevych 2019, §3)."""

from torch import Tensor


def mean(hidden: Tensor, mask: Tensor | None) -> Tensor:
    """The mean over tokens: hidden (b, s, d), mask (b, s) False at padding, to (b, d) fp32."""
    if mask is None:
        return hidden.float().mean(dim=1)
    weights = mask.unsqueeze(-1).float()
    return (hidden.float() * weights).sum(dim=1) / weights.sum(dim=1)


def cls(hidden: Tensor) -> Tensor:
    """The first token's vector: hidden (b, s, d) to (b, d) fp32."""
    return hidden[:, 0].float()
