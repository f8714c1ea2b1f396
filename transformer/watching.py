"""What attention does inside a model: the weights of every block, beside the model's own pass.

The blocks do what they always do; the weights are computed a second time, out of the same
projections, because the fused kernel that mixes the values never forms them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from torch import Tensor, nn

from transformer import masks
from transformer.attention import attention_weights
from transformer.block import Block
from transformer.cache import Cache
from transformer.position import Rotation


@dataclass(frozen=True, slots=True, eq=False)
class Watched:
    """One block of a pass."""

    weights: Tensor  # (b, h, s, t) fp32: what each position takes of each; rows sum to one
    x: Tensor  # (b, s, d): what the block gives to the next


def watch(
    blocks: Iterable[nn.Module],
    x: Tensor,
    *,
    mask: Tensor | None = None,
    causal: bool = False,
    rotation: Rotation | None = None,
    cache: Cache | None = None,
) -> Iterator[Watched]:
    """Send x (b, s, d) through a model's blocks; the keywords are those of `Block.forward`."""
    s, start = x.shape[1], 0 if cache is None else cache.length
    seen = masks.causal(s, s) if causal else mask
    for layer, block in enumerate(blocks):
        assert isinstance(block, Block), "a model is made of blocks"
        read = block.attention_norm(x) if block.pre_norm else x
        q, k, _ = block.attention.project(read, rotation)
        x = block(x, mask=mask, causal=causal, rotation=rotation, cache=cache, layer=layer)
        if cache is not None:
            k = cache.keys[layer, :, :, : start + s]
        # As the kernel does, which keeps sums and softmax in fp32 whatever it is given.
        yield Watched(attention_weights(q.float(), k.float(), seen), x)
