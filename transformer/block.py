"""The residual block, normalised before its two parts or after them (Xiong et al. 2020)."""

from torch import Tensor, nn
from torch.nn import functional as F

from transformer.attention import Attention
from transformer.cache import Cache
from transformer.position import Rotation


class Block(nn.Module):
    """Attention, then feed-forward, each beside a residual path.

    While it is trained, `dropout` is the share of what each of the two adds that is left out.

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
        self.dropout = 0.0

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
            added = self.attention(
                y, mask=mask, causal=causal, rotation=rotation, cache=cache, layer=layer
            )
            return self._dropped(added)

        def feed_forward(y: Tensor) -> Tensor:
            return self._dropped(self.feed_forward(y))

        if self.pre_norm:
            x = x + attention(self.attention_norm(x))
            return x + feed_forward(self.feed_forward_norm(x))
        x = self.attention_norm(x + attention(x))
        return self.feed_forward_norm(x + feed_forward(x))  # type: ignore[no-any-return]

    def _dropped(self, added: Tensor) -> Tensor:
        return F.dropout(added, self.dropout) if self.training and self.dropout else added
