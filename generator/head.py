"""The output layer of a quantised generator: a large vocabulary, read once for every token."""

from torch import Tensor, nn

from transformer.quantize import FEW_ROWS, Int4Linear

_LIKELY = 256  # tokens whose logits are computed exactly


class ShortlistHead(nn.Module):
    """Logits of all tokens from a matrix of 4 bits, and of the likeliest anew from the whole one.

    Half the time of a matrix of 8 bits, and what comes first is what the whole matrix says.

    Args:
        weight: (v, d), of a shape that fits 4 bits
    """

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.rough = Int4Linear(weight)

    @property
    def dense(self) -> Tensor:
        """The whole matrix, in the processor's fast format."""
        return self.rough.dense

    def forward(self, x: Tensor) -> Tensor:
        """x (b, s, d) to (b, s, v), float32."""
        logits: Tensor = self.rough(x).float()
        if x.shape[0] * x.shape[1] > FEW_ROWS:  # then the product was with the whole matrix
            return logits
        likely = logits.topk(min(_LIKELY, logits.shape[-1])).indices  # (b, s, n)
        exact = self.dense[likely].float() @ x.float()[..., None]  # (b, s, n, 1)
        return logits.scatter(-1, likely, exact.squeeze(-1))
