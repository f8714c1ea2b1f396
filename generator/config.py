"""What a generator is built from."""

from dataclasses import dataclass, fields
from typing import Literal

Positions = Literal["rotary", "learned"]
Norm = Literal["rms", "layer"]
FeedForwardKind = Literal["gated_silu", "gelu_tanh"]


@dataclass(frozen=True, slots=True)
class GeneratorConfig:
    """Defaults are Llama's; GPT-2 has learned positions, LayerNorm, a plain GELU and biases."""

    vocab_size: int
    d_model: int
    n_layers: int
    n_heads: int
    n_kv_heads: int  # a divisor of n_heads; fewer make keys and values, and their cache, smaller
    head_width: int  # d_model / n_heads in most models, not in all (Qwen3)
    d_ff: int
    max_tokens: int  # places that the model was trained for: prompt and answer together
    positions: Positions = "rotary"
    rotary_base: float = 10_000.0
    norm: Norm = "rms"
    norm_eps: float = 1e-5
    feed_forward: FeedForwardKind = "gated_silu"
    qkv_bias: bool = False
    out_bias: bool = False
    ff_bias: bool = False
    qk_norm: bool = False  # normalises each query and key head before it is rotated (Qwen3)
    tied: bool = True  # the head is the embedding's matrix

    def __post_init__(self) -> None:
        counted = (field.name for field in fields(self) if field.type is int)
        for name in counted:
            if (value := getattr(self, name)) < 1:
                raise ValueError(f"{name} ({value}) must be at least 1")
        if self.n_heads % self.n_kv_heads:
            raise ValueError(f"n_kv_heads ({self.n_kv_heads}) must divide n_heads ({self.n_heads})")
        if self.positions == "rotary" and self.head_width % 2:
            raise ValueError(f"head_width ({self.head_width}) must be even for rotary positions")
