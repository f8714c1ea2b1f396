"""How much each head looks at each source while an answer is written: the cheap attribution.

One pass instead of one for each source that is left out. A linear fit of these masses to what
leaving out finds makes them agree with it (Cohen-Wang et al. 2025, "Learning to Attribute with
Attention").
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from generator.blocks import PassageCaches
from transformer import masks
from transformer.cache import Cache
from transformer.watching import watch


@torch.inference_mode()
def attention_masses(
    caches: PassageCaches, question: str, sources: Sequence[str], answer: Sequence[int]
) -> NDArray[np.float32]:
    """Share of each head's attention that falls on each source, mean over the answer's tokens.

    Args:
        caches: of the model that is asked
        question: as `PassageCaches.question` writes it
        sources: as they stand in the prompt
        answer: tokens, at least one

    Returns:
        (n sources, n_layers * h), 0..1

    Raises:
        LengthError: all of it is more than the model has places.
    """
    asked = caches.question(question)
    tokens = torch.tensor([[*asked, *answer[:-1]]])
    cache = caches.assemble(sources, tokens.shape[1])
    weights = _weights(caches, tokens, cache, first=len(asked) - 1)  # (n_layers, h, t)
    stops = np.cumsum([len(caches.passage(text)[0]) for text in sources]) + len(caches.frame.head)
    shares, start = [], len(caches.frame.head)
    for stop in stops.tolist():
        shares.append(weights[..., start:stop].sum(-1).flatten())
        start = stop
    return torch.stack(shares).numpy()


def _weights(
    caches: PassageCaches, tokens: torch.Tensor, cache: Cache, *, first: int
) -> torch.Tensor:
    """Attention of the positions from `first` on, their mean: (n_layers, h, t)."""
    model, start, s = caches.model, cache.length, tokens.shape[1]
    passed = watch(
        model.blocks,
        model.embed(tokens, start),
        mask=masks.causal(s, start + s),
        rotation=model.rotation(start, s),
        cache=cache,
    )
    return torch.stack([seen.weights[0, :, first:].mean(1) for seen in passed])
