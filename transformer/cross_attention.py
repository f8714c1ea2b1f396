"""Cross-attention: one text asks another (Vaswani et al. 2017, §3.2.3)."""

from torch import Tensor, nn

from transformer.attention import attend, attention_weights

KeysValues = tuple[Tensor, Tensor]  # (b, h, t, e) each


class CrossAttention(nn.Module):
    """Queries of what is written, keys and values of what is read.

    No rotation turns them: places in two different texts have no distance.

    Args:
        d_model: width of what asks, and of the output
        n_heads: of queries, keys and values
        head_width: width of one head
        d_source: width of what is asked
        bias: of all four projections
    """

    def __init__(
        self, d_model: int, n_heads: int, *, head_width: int, d_source: int, bias: bool
    ) -> None:
        super().__init__()
        self.n_heads, self.head_width = n_heads, head_width
        self.q = nn.Linear(d_model, n_heads * head_width, bias=bias)
        self.kv = nn.Linear(d_source, 2 * n_heads * head_width, bias=bias)
        self.out = nn.Linear(n_heads * head_width, d_model, bias=bias)

    def read(self, source: Tensor) -> KeysValues:
        """Keys and values of the source (b, t, d_source): computed once, whatever is written."""
        k, v = self._heads(self.kv(source)).chunk(2, dim=1)
        return k, v

    def forward(self, x: Tensor, source: KeysValues, *, mask: Tensor | None = None) -> Tensor:
        """Attend from each position of x to the source.

        Args:
            x: (b, s, d)
            source: what `read` gave; of one row for all of x's, or of as many as x has
            mask: bool, broadcastable to (b, h, s, t), False at padding of the source

        Returns:
            (b, s, d)
        """
        q = self._heads(self.q(x))
        k, v = (each.expand(len(x), -1, -1, -1) for each in source)
        return self.out(attend(q, k, v, mask).transpose(1, 2).flatten(2))  # type: ignore[no-any-return]

    def weights(self, x: Tensor, source: KeysValues, *, mask: Tensor | None = None) -> Tensor:
        """How much each position of x takes of each of the source's: (b, h, s, t), to look at."""
        return attention_weights(self._heads(self.q(x)), source[0].expand(len(x), -1, -1, -1), mask)

    def _heads(self, x: Tensor) -> Tensor:
        """(b, n, heads * e) to (b, heads, n, e)."""
        b, n, _ = x.shape
        return x.view(b, n, -1, self.head_width).transpose(1, 2)
