"""What an encoder is built from and how it is meant to be used."""

from dataclasses import dataclass, field, fields
from typing import Any, Literal

from transformer.configuring import require_choice

Positions = Literal["learned", "sinusoidal", "rotary", "none"]
Activation = Literal["gelu", "gelu_tanh", "relu", "silu"]
Pooling = Literal["mean", "cls", "max", "attention"]

_LATER = {"later": True}  # of a field that came when models were already stored: see `settings`


@dataclass(frozen=True, slots=True)
class EncoderConfig:
    """Defaults are BERT's; the modern shape is pre-norm, rotary, gated, without biases."""

    vocab_size: int
    d_model: int
    n_layers: int
    n_heads: int
    d_ff: int
    max_tokens: int  # of one input, special tokens included: places in the position table
    positions: Positions = "learned"
    position_offset: int = 0  # rows of the learned table before the first token (XLM-R: 2)
    rotary_base: float = 10_000.0
    n_token_types: int = 0  # segment embeddings, of which only the first is used; 0: none
    pre_norm: bool = False
    gated: bool = False
    activation: Activation = "gelu"
    bias: bool = True
    norm_eps: float = 1e-12
    pad_id: int = 0

    def __post_init__(self) -> None:
        for name in ("vocab_size", "d_model", "n_layers", "n_heads", "d_ff", "max_tokens"):
            if (size := getattr(self, name)) < 1:
                raise ValueError(f"{name} ({size}) must be at least 1")
        require_choice("positions", self.positions, Positions)
        require_choice("activation", self.activation, Activation)
        if self.d_model % self.n_heads:
            raise ValueError(f"n_heads ({self.n_heads}) must divide d_model ({self.d_model})")

    @property
    def head_width(self) -> int:
        return self.d_model // self.n_heads


@dataclass(frozen=True, slots=True)
class EmbeddingConfig:
    """How texts become vectors: part of the model's fingerprint, for it moves every vector."""

    max_tokens: int  # of the longest text that the model may embed, special tokens included
    pooling: Pooling = "mean"
    query_prefix: str = ""
    document_prefix: str = ""
    # Of a vector: the first ones alone are kept (Kusupati et al. 2022); None: all of the model's.
    dimensions: int | None = field(default=None, metadata=_LATER)

    def __post_init__(self) -> None:
        for name in ("max_tokens", "dimensions"):
            if (size := getattr(self, name)) is not None and size < 1:
                raise ValueError(f"{name} ({size}) must be at least 1")
        require_choice("pooling", self.pooling, Pooling)


def settings(config: EncoderConfig | EmbeddingConfig) -> dict[str, Any]:
    """What a checkpoint stores of a config, and what is hashed into its fingerprint.

    A field that came later is left out at its default: models that were stored before it keep the
    fingerprint under which their vectors lie in libraries.
    """
    return {
        each.name: value
        for each in fields(config)
        if (value := getattr(config, each.name)) != each.default or not each.metadata.get("later")
    }
