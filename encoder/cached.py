"""Batches larger than memory: the gradient of a loss over vectors, a slice of texts at a time.

GradCache (Gao et al. 2021, "Scaling Deep Contrastive Learning Batch Size under Memory Limited
Setup", §3): every vector is made without a graph, the loss is taken over all of them, and each
slice is made again with its graph to pass the gradient of its vectors on.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import Tensor

T = TypeVar("T")


def backward(
    slices: Sequence[T],
    embed: Callable[[T], Tensor],
    loss: Callable[[Tensor], Tensor],
    rng: torch.Generator,
) -> float:
    """Add the gradient of loss(all vectors) to the parameters' grad.

    Args:
        slices: of the batch; one alone is embedded once
        embed: a slice to its vectors, (n, d) float32
        loss: of the vectors of all slices, in their order
        rng: seeds torch's own randomness for each slice, so that both times the same is dropped

    Returns:
        the loss
    """
    seeds: list[int] = torch.randint(2**62, (len(slices),), generator=rng).tolist()
    if len(slices) == 1:
        torch.manual_seed(seeds[0])
        whole = loss(embed(slices[0]))
        whole.backward()  # type: ignore[no-untyped-call]
        return float(whole.detach())
    with torch.no_grad():
        parts = [_seeded(embed, part, seed) for part, seed in zip(slices, seeds, strict=True)]
    vectors = torch.cat(parts).requires_grad_()
    whole = loss(vectors)
    (gradient,) = torch.autograd.grad(whole, vectors)
    shares = torch.split(gradient, [len(part) for part in parts])
    for part, seed, share in zip(slices, seeds, shares, strict=True):
        _seeded(embed, part, seed).backward(share)  # type: ignore[no-untyped-call]
    return float(whole.detach())


def _seeded(embed: Callable[[T], Tensor], part: T, seed: int) -> Tensor:
    torch.manual_seed(seed)
    return embed(part)
