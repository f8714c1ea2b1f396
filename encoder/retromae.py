"""A sentence vector that must carry its sentence (RetroMAE, Xiao et al. 2022, §3.1–3.2).

One layer rebuilds the text from the vector and from a copy with most of it hidden: what the copy
lacks can only come out of the vector.
"""

from torch import Tensor, nn

from encoder.model import Encoder, block, norm, places
from transformer import masks


class Rebuilder(nn.Module):
    """One block over the hidden copy, with the sentence vector at its first place.

    Args:
        encoder: whose shape the block takes, and whose embeddings it is given
    """

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.block = block(encoder.config)
        self.norm = norm(encoder.config) if encoder.config.pre_norm else None

    def forward(
        self, encoder: Encoder, tokens: Tensor, segments: Tensor, vectors: Tensor
    ) -> Tensor:
        """Vectors that the hidden words are guessed from.

        Args:
            tokens: ids with most of the text hidden, (b, s)
            segments: (b, s), as `Encoder.forward` takes them
            vectors: of the n sentences, in the order of rows and of the texts in them, (n, d)

        Returns:
            (b, s, d)
        """
        x = encoder.embed(tokens, segments)
        first = ((places(segments) == 0) & (segments > 0)).flatten().nonzero()[:, 0]
        x = x.flatten(0, 1).index_copy(0, first, vectors.to(x.dtype)).view_as(x)
        rotation = encoder.rotation(tokens.shape[1])
        x = self.block(x, mask=masks.segments(segments), rotation=rotation)
        return x if self.norm is None else self.norm(x)  # type: ignore[no-any-return]
