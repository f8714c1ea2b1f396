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
from transformer.attention import attention_weights
from transformer.block import Block
from transformer.cache import Cache


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
    mask = masks.causal(s, start + s)
    x = model.embedding(tokens)
    if model.positions is not None:
        x = x + model.positions(start, start + s)
    rotation = None if model.rotary is None else model.rotary(start, start + s)
    found = []
    for i, block in enumerate(model.blocks):
        assert isinstance(block, Block), "a generator is made of them"
        q, _, _ = block.attention.project(block.attention_norm(x), rotation)
        x = block(x, mask=mask, causal=False, rotation=rotation, cache=cache, layer=i)
        keys = cache.keys[i, :, :, : start + s]
        found.append(attention_weights(q[:, :, first:], keys, mask[first:])[0].float().mean(1))
    return torch.stack(found)
