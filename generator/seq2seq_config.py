"""What an encoder–decoder is built from."""

from dataclasses import dataclass, fields
from typing import Literal

from transformer.configuring import require_choice

Positions = Literal["sinusoidal", "learned", "rotary"]
Activation = Literal["relu", "gelu"]


@dataclass(frozen=True, slots=True)
class Seq2SeqConfig:
    """Defaults are those of Vaswani et al. 2017; the output matrix is the target's embedding."""

    vocab_size: int  # of the target
    d_model: int
    n_heads: int
    d_ff: int
    encoder_layers: int
    decoder_layers: int
    max_tokens: int  # places of a source, and of a target with its begin token
    source_vocab: int | None = None  # None: one vocabulary, and one embedding, for both (§3.4)
    d_source: int | None = None  # width of an encoder that is handed over; None: one is made
    positions: Positions = "sinusoidal"  # rotary ones turn self-attention alone
    pre_norm: bool = False
    activation: Activation = "relu"
    norm_eps: float = 1e-5

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type in (int, int | None) and value is not None and value < 1:
                raise ValueError(f"{field.name} ({value}) must be at least 1")
        require_choice("positions", self.positions, Positions)
        require_choice("activation", self.activation, Activation)
        if self.d_model % self.n_heads:
            raise ValueError(f"n_heads ({self.n_heads}) must divide d_model ({self.d_model})")

    @property
    def head_width(self) -> int:
        return self.d_model // self.n_heads
