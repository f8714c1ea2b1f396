"""The residual block of a decoder that reads a source (Vaswani et al. 2017, §3.1)."""

from torch import Tensor, nn

from transformer.attention import Attention
from transformer.block import Block
from transformer.cache import Cache
from transformer.cross_attention import CrossAttention, KeysValues
from transformer.position import Rotation


class DecoderBlock(Block):
    """Masked self-attention, cross-attention, then feed-forward, each beside a residual path.

    Args:
        attention: over what is written
        cross_attention: over the source
        feed_forward: maps (b, s, d) to (b, s, d)
        attention_norm: on the way into attention (pre), or after its sum (post)
        cross_norm: likewise for cross-attention
        feed_forward_norm: likewise for the feed-forward
        pre_norm: which of the two
    """

    def __init__(
        self,
        *,
        attention: Attention,
        cross_attention: CrossAttention,
        feed_forward: nn.Module,
        attention_norm: nn.Module,
        cross_norm: nn.Module,
        feed_forward_norm: nn.Module,
        pre_norm: bool,
    ) -> None:
        super().__init__(
            attention=attention,
            feed_forward=feed_forward,
            attention_norm=attention_norm,
            feed_forward_norm=feed_forward_norm,
            pre_norm=pre_norm,
        )
        self.cross_attention = cross_attention
        self.cross_norm = cross_norm

    def forward(  # type: ignore[override]  # no decoder block works without a source
        self,
        x: Tensor,
        source: KeysValues,
        *,
        source_mask: Tensor | None = None,
        mask: Tensor | None = None,
        causal: bool = False,
        rotation: Rotation | None = None,
        cache: Cache | None = None,
        layer: int = 0,
    ) -> Tensor:
        """x (b, s, d) to (b, s, d).

        Args:
            x: what is written so far
            source: what `CrossAttention.read` gave
            source_mask: bool, broadcastable to (b, h, s, t), False at padding of the source
            mask, causal, rotation, cache, layer: of self-attention, as `Attention.forward` takes
        """

        def attention(y: Tensor) -> Tensor:
            return self.attention(  # type: ignore[no-any-return]
                y, mask=mask, causal=causal, rotation=rotation, cache=cache, layer=layer
            )

        def cross_attention(y: Tensor) -> Tensor:
            return self.cross_attention(y, source, mask=source_mask)  # type: ignore[no-any-return]

        parts = (
            (attention, self.attention_norm),
            (cross_attention, self.cross_norm),
            (self.feed_forward, self.feed_forward_norm),
        )
        for part, norm in parts:
            if self.pre_norm:
                x = x + self._dropped(part(norm(x)))
            else:
                x = norm(x + self._dropped(part(x)))
        return x
