"""Linear layers for inference in bfloat16, with the matrix laid out once as the processor reads it.

An ordinary linear layer copies its bias into the output and lays its matrix out anew at every
call; here oneDNN does the product, the bias and the activation in one pass.
"""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.feedforward import FeedForward

_Fused = Literal["none", "gelu"]


class PackedLinear(nn.Module):
    """A bfloat16 linear layer that cannot be trained or saved any more.

    Args:
        linear: what it computes
        activation: applied to the result; "gelu" is the exact one
    """

    def __init__(self, linear: nn.Linear, activation: _Fused = "none") -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.matrix = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach())
        self.bias = None if linear.bias is None else linear.bias.detach()
        self.activation = activation
        self.algorithm = "" if activation == "none" else "none"

    def forward(self, x: Tensor) -> Tensor:
        return torch.ops.mkldnn._linear_pointwise(  # type: ignore[no-any-return]
            x, self.matrix, self.bias, self.activation, [], self.algorithm
        )


def pack(module: nn.Module) -> None:
    """Replace every bfloat16 linear layer in `module`, where this machine's torch can."""
    fused = hasattr(torch.ops.mkldnn, "_linear_pointwise")
    if not (fused and torch.backends.mkldnn.is_available()):  # type: ignore[no-untyped-call]
        return
    for child in module.modules():
        if isinstance(child, FeedForward) and child.activation is F.gelu and _fits(child.up):
            child.up = PackedLinear(child.up, "gelu")  # type: ignore[assignment]
            child.activation = nn.Identity()
        for name, linear in list(child.named_children()):
            if isinstance(linear, nn.Linear) and _fits(linear):
                setattr(child, name, PackedLinear(linear))


def _fits(linear: nn.Module) -> bool:
    return isinstance(linear, nn.Linear) and linear.weight.dtype == torch.bfloat16
