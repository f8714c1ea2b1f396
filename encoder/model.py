"""The encoder, bottom-up: tokens, positions, blocks (Devlin et al. 2018; Vaswani et al. 2017)."""

from torch import Tensor, nn
from torch.nn import functional as F

from encoder.config import EncoderConfig
from transformer import masks
from transformer.attention import Attention
from transformer.block import Block
from transformer.errors import LengthError
from transformer.feedforward import Activation, FeedForward, GatedFeedForward
from transformer.norm import LayerNorm
from transformer.position import LearnedPositions, Rotary, SinusoidalPositions


class Encoder(nn.Module):
    """Bidirectional transformer: token ids in, one contextual vector for each out."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.positions, self.rotary = _positions(config)
        self.token_types = (
            nn.Embedding(config.n_token_types, config.d_model) if config.n_token_types else None
        )
        self.embedding_norm = None if config.pre_norm else _norm(config)
        self.blocks = nn.ModuleList(_block(config) for _ in range(config.n_layers))
        self.norm = _norm(config) if config.pre_norm else None

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Contextual vectors of a right-padded batch.

        Args:
            tokens: ids, (b, s)
            mask: bool, (b, s), False at padding; None where no row is padded

        Returns:
            (b, s, d); rows at padding are to be ignored

        Raises:
            LengthError: s is over the config's max_tokens.
        """
        length, limit = tokens.shape[1], self.config.max_tokens
        if length > limit:
            raise LengthError(
                f"{length} tokens are over the encoder's {limit} positions; shorten the text",
                tokens=length,
                limit=limit,
            )
        x = self.embedding(tokens)
        if self.positions is not None:
            x = x + self.positions(0, length)
        if self.token_types is not None:
            x = x + self.token_types.weight[0]
        if self.embedding_norm is not None:
            x = self.embedding_norm(x)
        attendable = None if mask is None else masks.padding(mask)
        rotation = None if self.rotary is None else self.rotary(0, length)
        for block in self.blocks:
            x = block(x, mask=attendable, rotation=rotation)
        return x if self.norm is None else self.norm(x)  # type: ignore[no-any-return]


def _positions(
    config: EncoderConfig,
) -> tuple[LearnedPositions | SinusoidalPositions | None, Rotary | None]:
    match config.positions:
        case "learned":
            rows = config.max_tokens + config.position_offset
            return LearnedPositions(rows, config.d_model, offset=config.position_offset), None
        case "sinusoidal":
            return SinusoidalPositions(config.max_tokens, config.d_model), None
        case "rotary":
            rotary = Rotary(config.head_width, config.max_tokens, base=config.rotary_base)
            return None, rotary


def _block(config: EncoderConfig) -> Block:
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
            config.d_model, config.d_ff, activation=_activation(config), bias=config.bias
        ),
        attention_norm=_norm(config),
        feed_forward_norm=_norm(config),
        pre_norm=config.pre_norm,
    )


def _norm(config: EncoderConfig) -> LayerNorm:
    return LayerNorm(config.d_model, eps=config.norm_eps, bias=config.bias)


def _activation(config: EncoderConfig) -> Activation:
    match config.activation:
        case "gelu":
            return F.gelu
        case "gelu_tanh":
            return nn.GELU(approximate="tanh")
        case "relu":
            return F.relu
        case "silu":
            return F.silu
