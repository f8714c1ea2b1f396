"""The encoder, bottom-up: tokens, positions, blocks (Devlin et al. 2018; Vaswani et al. 2017)."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from encoder.config import EncoderConfig
from transformer import masks
from transformer.attention import Attention
from transformer.block import Block
from transformer.errors import LengthError
from transformer.feedforward import Activation, FeedForward, GatedFeedForward
from transformer.norm import LayerNorm
from transformer.position import LearnedPositions, Rotary, Rotation, SinusoidalPositions


class Encoder(nn.Module):
    """Bidirectional transformer: token ids in, one contextual vector for each out."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.dropout = 0.0  # share of the summed embeddings that is left out while training
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.positions, self.rotary = _positions(config)
        self.token_types = (
            nn.Embedding(config.n_token_types, config.d_model) if config.n_token_types else None
        )
        self.embedding_norm = None if config.pre_norm else norm(config)
        self.blocks = nn.ModuleList(block(config) for _ in range(config.n_layers))
        self.norm = norm(config) if config.pre_norm else None

    def forward(
        self, tokens: Tensor, mask: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """Contextual vectors of a right-padded batch, or of one whose rows hold several texts.

        Args:
            tokens: ids, (b, s)
            mask: bool, (b, s), False at padding; None where no row is padded
            segments: instead of a mask: which of its row's texts a token belongs to, (b, s), 0 at
                padding. Each text comes out as if it stood alone in its row

        Returns:
            (b, s, d); rows at padding are to be ignored

        Raises:
            LengthError: s is over the config's max_tokens.
        """
        assert mask is None or segments is None
        x = self.embed(tokens, segments)
        attendable = None if mask is None else masks.padding(mask)
        if segments is not None:
            attendable = masks.segments(segments)
        rotation = self.rotation(tokens.shape[1])
        for layer in self.blocks:
            x = layer(x, mask=attendable, rotation=rotation)
        return x if self.norm is None else self.norm(x)

    def embed(self, tokens: Tensor, segments: Tensor | None = None) -> Tensor:
        """What the first block reads: (b, s, d) of tokens and, as in `forward`, segments (b, s)."""
        length, limit = tokens.shape[1], self.config.max_tokens
        if length > limit:
            raise LengthError(
                f"{length} tokens are over the encoder's {limit} positions; shorten the text",
                tokens=length,
                limit=limit,
            )
        x = self.embedding(tokens)
        if isinstance(self.positions, SinusoidalPositions):
            x = x * self.config.d_model**0.5  # waves of 1 would drown them (Vaswani, §3.4)
        if self.positions is not None:
            table = self.positions(0, length)
            x = x + (table if segments is None else F.embedding(places(segments), table))
        if self.token_types is not None:
            x = x + self.token_types.weight[0]
        if self.embedding_norm is not None:
            x = self.embedding_norm(x)
        if self.training and self.dropout:
            x = F.dropout(x, self.dropout)
        return x  # type: ignore[no-any-return]

    def rotation(self, length: int) -> Rotation | None:
        """Of the first positions. Only distances count, so that segments need no other."""
        return None if self.rotary is None else self.rotary(0, length)


def set_dropout(model: Encoder, share: float) -> None:
    """Leave out this share of the embeddings and of what every block adds, while it is trained."""
    for module in model.modules():
        if isinstance(module, Encoder | Block):
            module.dropout = share


def places(segments: Tensor) -> Tensor:
    """Where in its segment each token stands, counted from 0: (b, s)."""
    order = torch.arange(segments.shape[1], device=segments.device).expand_as(segments)
    first = torch.ones_like(segments, dtype=torch.bool)
    first[:, 1:] = segments[:, 1:] != segments[:, :-1]
    return order - order.masked_fill(~first, 0).cummax(dim=1).values


def _positions(
    config: EncoderConfig,
) -> tuple[LearnedPositions | SinusoidalPositions | None, Rotary | None]:
    match config.positions:
        case "learned":
            rows = config.max_tokens + config.position_offset
            return LearnedPositions(rows, config.d_model, offset=config.position_offset), None
        case "sinusoidal":
            return SinusoidalPositions(config.max_tokens, config.d_model), None
        case "none":
            return None, None
        case "rotary":
            rotary = Rotary(config.head_width, config.max_tokens, base=config.rotary_base)
            return None, rotary


def block(config: EncoderConfig) -> Block:
    feed_forward = GatedFeedForward if config.gated else FeedForward
    return Block(
        attention=Attention(
            config.d_model,
            config.n_heads,
            n_kv_heads=config.n_heads,
            head_width=config.head_width,
            bias=config.bias,
            out_bias=config.bias,
        ),
        feed_forward=feed_forward(
            config.d_model, config.d_ff, activation=activation(config), bias=config.bias
        ),
        attention_norm=norm(config),
        feed_forward_norm=norm(config),
        pre_norm=config.pre_norm,
    )


def norm(config: EncoderConfig) -> LayerNorm:
    return LayerNorm(config.d_model, eps=config.norm_eps, bias=config.bias)


def activation(config: EncoderConfig) -> Activation:
    match config.activation:
        case "gelu":
            return F.gelu
        case "gelu_tanh":
            return nn.GELU(approximate="tanh")
        case "relu":
            return F.relu
        case "silu":
            return F.silu
