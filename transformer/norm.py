"""LayerNorm (Ba et al. 2016) and RMSNorm (Zhang & Sennrich 2019)."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class LayerNorm(nn.Module):
    """(x - mean) / sqrt(variance + eps) * weight + bias, over the last axis."""

    def __init__(self, width: int, *, eps: float, bias: bool = True) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)


class RMSNorm(nn.Module):
    """x / sqrt(mean(x^2) + eps) * weight, over the last axis; the mean is taken in fp32."""

    def __init__(self, width: int, *, eps: float) -> None:
        super().__init__()
        self.eps = torch.tensor(eps, device="cpu")  # real even where parameters are still meta
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        # Few and fused operations: at one row each costs as much as the arithmetic in it.
        wide = x.float()
        length = torch.linalg.vector_norm(wide, dim=-1, keepdim=True)
        scale = torch.addcmul(self.eps, length, length, value=1 / x.shape[-1]).rsqrt()
        return (wide * scale * self.weight).to(x.dtype)
