"""One text on its way through an encoder: its tokens, who attends to whom, what makes its vector.

Every pooling is a sum over tokens, and a cosine with another vector is then one as well: so each
token's share in it is exact, and no estimate.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from encoder import pooling
from encoder.embedder import Embedder
from transformer.errors import LengthError
from transformer.inspecting import AttentionMap, Token, labels, mapped, name
from transformer.watching import watch


@dataclass(frozen=True, slots=True, eq=False)
class InspectedText:
    """A text as the encoder reads it, its prefix and the special tokens included."""

    ids: tuple[int, ...]  # n
    tokens: tuple[Token, ...]
    parts: NDArray[np.float32]  # (n, d): what each token adds to the vector

    @property
    def norm(self) -> float:
        """Length of the pooled vector, before it is brought to one."""
        return float(np.linalg.norm(self.parts.sum(0)))

    @property
    def vector(self) -> NDArray[np.float32]:
        """The unit vector that texts are compared by, (d,)."""
        pooled: NDArray[np.float32] = self.parts.sum(0)
        return pooled / np.float32(self.norm)

    def shares(self, other: NDArray[np.float32]) -> NDArray[np.float32]:
        """What each token adds to the cosine with another unit vector, (n,): they sum to it."""
        found: NDArray[np.float32] = self.parts @ other / np.float32(self.norm)
        return found


@torch.inference_mode()
def read_text(embedder: Embedder, text: str, *, query: bool) -> InspectedText:
    """Read a text as `embed_queries` does, or as `embed_documents`.

    Raises:
        LengthError: it is longer than the encoder takes.
    """
    prefix = embedder.embedding.query_prefix if query else embedder.embedding.document_prefix
    tokenizer, model = embedder.tokenizer, embedder.model
    own, said = labels(tokenizer, prefix + text)
    before, behind = tokenizer.around
    ids = [*before, *own, *behind]
    if len(ids) > embedder.max_tokens:
        raise LengthError(
            f"a text of {len(ids)} tokens is over the encoder's limit of {embedder.max_tokens}; "
            "shorten it",
            tokens=len(ids),
            limit=embedder.max_tokens,
        )
    first, last = ([name(tokenizer, i) for i in some] for some in (before, behind))
    tokens = tuple(Token(each, at) for at, each in enumerate([*first, *said, *last]))
    hidden = model(torch.tensor([ids]))
    parts = pooling.parts(model, hidden[0], embedder.embedding.pooling)
    return InspectedText(tuple(ids), tokens, parts[:, : embedder.dimensions].numpy())


@torch.inference_mode()
def attention(embedder: Embedder, text: InspectedText, places: Sequence[int]) -> AttentionMap:
    """Who attends to whom among these of a text's tokens; the text is read once more."""
    model = embedder.model
    x = model.embed(torch.tensor([text.ids]))
    passed = watch(model.blocks, x, rotation=model.rotation(len(text.ids)))
    return mapped(passed, text.tokens, places)
