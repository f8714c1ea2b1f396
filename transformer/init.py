"""Weights to begin training from nothing with."""

import torch
from torch import nn

from transformer.block import Block

DEVIATION = 0.02  # Devlin et al. 2018 and nearly everyone since
_ONTO_THE_RESIDUAL_PATH = ("attention.out.weight", "feed_forward.down.weight")


@torch.no_grad()
def initialise(
    model: nn.Module, rng: torch.Generator, *, embedding_deviation: float = DEVIATION
) -> None:
    """Draw every parameter anew: matrices normal, gains one, biases zero.

    What is added to the residual path is drawn smaller, by the root of the number of additions, so
    that its variance does not grow with depth (Radford et al. 2019, §2.3).

    Args:
        model: to be trained from nothing
        rng: draws
        embedding_deviation: of the vectors of words; larger ones outweigh what the blocks of a
            pre-norm model add to them, so that what it gives for a word stays about that word
    """
    words = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    additions = 2 * sum(isinstance(module, Block) for module in model.modules())
    for name, parameter in model.named_parameters():
        if parameter.ndim > 1:
            inside = not name.endswith(_ONTO_THE_RESIDUAL_PATH)
            deviation = DEVIATION if inside else DEVIATION / additions**0.5
            if id(parameter) in words:
                deviation = embedding_deviation
            parameter.copy_(deviation * torch.randn(parameter.shape, generator=rng))
        else:
            parameter.fill_(0.0 if name.endswith("bias") else 1.0)


@torch.no_grad()
def quieten(model: nn.Module, share: float) -> None:
    """Let what the blocks of a pre-norm model add weigh a share of what it did beside its words.

    Masked words teach a model to foretell what stands elsewhere, and what it adds to a word for
    that can drown the word. The words' vectors grow here instead of the blocks' shrinking, for
    each step changes every weight alike: blocks that are small beside their steps would drown the
    words anew within some dozen of them.

    Raises:
        ValueError: share is not over 0 and at most 1.
    """
    if not 0 < share <= 1:
        raise ValueError(f"share ({share}) must be over 0 and at most 1")
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            module.weight.div_(share)
