"""The residual block, normalised before its two parts or after them (Xiong et al. 2020)."""

from torch import Tensor, nn

from transformer.attention import Attention
from transformer.cache import Cache
from transformer.position import Rotation


class Block(nn.Module):
    """Attention, then feed-forward, each beside a residual path.

    Args:
        attention: over x
        feed_forward: maps (b, s, d) to (b, s, d)
        attention_norm: on the way into attention (pre), or after its sum (post)
        feed_forward_norm: likewise for the feed-forward
        pre_norm: which of the two
    """

    def __init__(
        self,
        *,
        attention: Attention,
        feed_forward: nn.Module,
        attention_norm: nn.Module,
        feed_forward_norm: nn.Module,
        pre_norm: bool,
    ) -> None:
        super().__init__()
        self.attention = attention
        self.feed_forward = feed_forward
        self.attention_norm = attention_norm
        self.feed_forward_norm = feed_forward_norm
        self.pre_norm = pre_norm

    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None = None,
        causal: bool = False,
        rotation: Rotation | None = None,
        cache: Cache | None = None,
        layer: int = 0,
    ) -> Tensor:
        """x (b, s, d) to (b, s, d); the keywords are those of `Attention.forward`."""

        def attention(y: Tensor) -> Tensor:
            return self.attention(  # type: ignore[no-any-return]
                y, mask=mask, causal=causal, rotation=rotation, cache=cache, layer=layer
            )

        if self.pre_norm:
            x = x + attention(self.attention_norm(x))
            return x + self.feed_forward(self.feed_forward_norm(x))  # type: ignore[no-any-return]
        x = self.attention_norm(x + attention(x))
        return self.feed_forward_norm(x + self.feed_forward(x))  # type: ignore[no-any-return]
