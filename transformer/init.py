"""Weights to begin training from nothing with."""

import torch
from torch import nn

from transformer.block import Block

_DEVIATION = 0.02  # Devlin et al. 2018 and nearly everyone since
_ONTO_THE_RESIDUAL_PATH = ("attention.out.weight", "feed_forward.down.weight")


@torch.no_grad()
def initialise(model: nn.Module, rng: torch.Generator) -> None:
    """Draw every parameter anew: matrices normal, gains one, biases zero.

    What is added to the residual path is drawn smaller, by the root of the number of additions, so
    that its variance does not grow with depth (Radford et al. 2019, §2.3).
    """
    additions = 2 * sum(isinstance(module, Block) for module in model.modules())
    for name, parameter in model.named_parameters():
        if parameter.ndim > 1:
            inside = not name.endswith(_ONTO_THE_RESIDUAL_PATH)
            deviation = _DEVIATION if inside else _DEVIATION / additions**0.5
            parameter.copy_(deviation * torch.randn(parameter.shape, generator=rng))
        else:
            parameter.fill_(0.0 if name.endswith("bias") else 1.0)
