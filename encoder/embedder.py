"""Texts to unit vectors: tokenised once, batched by length, encoded in a fast number format."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from encoder import checkpoint, pooling
from encoder.config import EmbeddingConfig
from encoder.model import Encoder
from encoder.rows import by_length, padded
from transformer import runtime
from transformer.errors import LengthError
from transformer.packed import pack
from transformer.tokenizer import Tokenizer

_TOKENS_A_BATCH = 4096  # padding included; activations stay within the processor's caches


class Embedder:
    """An encoder with its tokenizer, prefixes, pooling and limit.

    Args:
        model: the embedder's own from now on: laid out for inference in place, it can no longer
            be trained or saved
        fingerprint: of all that moves a vector
        dtype: to compute in
    """

    def __init__(
        self,
        model: Encoder,
        tokenizer: Tokenizer,
        embedding: EmbeddingConfig,
        *,
        fingerprint: str,
        dtype: torch.dtype,
    ) -> None:
        self.model = model.to(dtype)
        self.parameters = sum(p.numel() for p in model.parameters())
        pack(self.model)
        self.tokenizer = tokenizer
        self.embedding = embedding
        self.fingerprint = fingerprint

    @classmethod
    def load(cls, folder: Path, *, dtype: torch.dtype | None = None) -> "Embedder":
        """Read an encoder's folder.

        Args:
            folder: a checkpoint
            dtype: None takes bfloat16 where that is faster here, else float32

        Raises:
            CheckpointError: something is missing, damaged, or of a kind that is not read.
        """
        dtype = dtype or runtime.fast_dtype()
        loaded = checkpoint.load(Path(folder), dtype=dtype)
        return cls(
            loaded.model,
            loaded.tokenizer,
            loaded.embedding,
            fingerprint=loaded.fingerprint,
            dtype=dtype,
        )

    @property
    def dimensions(self) -> int:
        """d, the width of a vector."""
        return self.embedding.dimensions or self.model.config.d_model

    @property
    def max_tokens(self) -> int:
        """The longest text, in tokens, special ones included."""
        return self.embedding.max_tokens

    def count(self, text: str) -> int:
        """Tokens that a document takes, its prefix and the special ones included."""
        return self.tokenizer.count(self.embedding.document_prefix + text)

    def count_query(self, text: str) -> int:
        """Tokens that a question takes, its prefix and the special ones included."""
        return self.tokenizer.count(self.embedding.query_prefix + text)

    def takes(self, question: str) -> bool:
        """Whether a question is short enough to be encoded."""
        return self.count_query(question) <= self.max_tokens

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of questions, (n, d) in the order given.

        Raises:
            LengthError: a text is longer than `max_tokens`; nothing is cut silently.
        """
        return self._embed([self.embedding.query_prefix + text for text in texts])

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of passages, (n, d) in the order given.

        Raises:
            LengthError: a text is longer than `max_tokens`; nothing is cut silently.
        """
        return self._embed([self.embedding.document_prefix + text for text in texts])

    def _embed(self, texts: list[str]) -> NDArray[np.float32]:
        rows = self.tokenizer.encode_for_model(texts)
        longest = max(map(len, rows), default=0)
        if longest > self.max_tokens:
            raise LengthError(
                f"a text of {longest} tokens is over the encoder's limit of {self.max_tokens}; "
                "shorten it",
                tokens=longest,
                limit=self.max_tokens,
            )
        vectors = np.empty((len(rows), self.dimensions), dtype=np.float32)
        with torch.inference_mode():
            for batch in by_length([len(row) for row in rows], tokens=_TOKENS_A_BATCH):
                vectors[batch] = self._encode([rows[i] for i in batch]).numpy()
        return vectors

    def _encode(self, rows: list[list[int]]) -> Tensor:
        tokens, mask = padded(rows, self.model.config.pad_id)
        pooled = pooling.pool(
            self.model, self.model(tokens, mask), self.embedding.pooling, mask=mask
        )
        return F.normalize(pooled[:, : self.dimensions], dim=-1)
