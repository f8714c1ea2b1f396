"""The encoder–decoder, bottom-up: embedded tokens, the encoder, the decoder (Vaswani et al. 2017).

The encoder reads a source once, in both directions. The decoder writes the target from left to
right: it attends to what is written, and asks the source at every token.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from generator.seq2seq_config import Seq2SeqConfig
from transformer import masks
from transformer.attention import Attention
from transformer.block import Block
from transformer.cache import Cache
from transformer.cross_attention import CrossAttention, KeysValues
from transformer.decoder_block import DecoderBlock
from transformer.errors import LengthError
from transformer.feedforward import FeedForward
from transformer.norm import LayerNorm
from transformer.position import LearnedPositions, Rotary, Rotation, SinusoidalPositions


class Embedded(nn.Module):
    """What a first block reads: the vectors of tokens, and where they stand."""

    def __init__(self, config: Seq2SeqConfig, embedding: nn.Embedding) -> None:
        super().__init__()
        self.embedding = embedding
        self.positions, self.rotary = _positions(config)
        self.scale = config.d_model**0.5 if config.positions == "sinusoidal" else 1.0  # §3.4
        self.max_tokens = config.max_tokens
        self.dropout = 0.0  # share that is left out while training

    def forward(self, tokens: Tensor, start: int = 0) -> tuple[Tensor, Rotation | None]:
        """Of ids (b, s) at positions start, start + 1, …: vectors (b, s, d), and their rotation.

        Raises:
            LengthError: there are more positions than the model has.
        """
        stop = start + tokens.shape[1]
        require_places(stop, self.max_tokens)
        x = self.embedding(tokens) * self.scale
        if self.positions is not None:
            x = x + self.positions(start, stop)
        x = F.dropout(x, self.dropout, training=self.training)
        return x, None if self.rotary is None else self.rotary(start, stop)


class SourceEncoder(nn.Module):
    """Reads the source: every token sees all of them."""

    def __init__(self, config: Seq2SeqConfig, embedding: nn.Embedding) -> None:
        super().__init__()
        self.embedded = Embedded(config, embedding)
        self.blocks = nn.ModuleList(_block(config) for _ in range(config.encoder_layers))
        self.norm = _norm(config) if config.pre_norm else None

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Ids (b, t), False in the mask (b, t) at padding, to contextual vectors (b, t, d)."""
        x, rotation = self.embedded(tokens)
        attendable = None if mask is None else masks.padding(mask)
        for block in self.blocks:
            x = block(x, mask=attendable, rotation=rotation)
        return x if self.norm is None else self.norm(x)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Source:
    """A source as the decoder asks it. Computed once, however much is written."""

    keys_values: tuple[KeysValues, ...]  # of each of the decoder's layers
    mask: Tensor | None  # (b, 1, 1, t), False at padding


class Seq2Seq(nn.Module):
    """Source and target ids in, logits of the target token that follows each out.

    Args:
        config: its shape
        encoder: reads the source in place of one that the config describes, such as one that was
            trained before: maps ids (b, t) and a mask (b, t) or None to (b, t, config.d_source)
    """

    def __init__(self, config: Seq2SeqConfig, encoder: nn.Module | None = None) -> None:
        super().__init__()
        if (encoder is None) != (config.d_source is None):
            raise ValueError(
                f"d_source ({config.d_source}) is the width of an encoder that is handed over: "
                "give both or neither"
            )
        self.config = config
        embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.embedded = Embedded(config, embedding)
        self.blocks = nn.ModuleList(_decoder_block(config) for _ in range(config.decoder_layers))
        self.norm = _norm(config) if config.pre_norm else None
        self.encoder = (
            SourceEncoder(config, _of_source(config, embedding)) if encoder is None else encoder
        )

    def forward(self, source: Tensor, source_mask: Tensor | None, target: Tensor) -> Tensor:
        """Teacher forcing: all of the target at once, each token seeing those before it alone.

        Args:
            source: ids, (b, t), padded on the right
            source_mask: bool, (b, t), False at padding; None where no row is padded
            target: ids, (b, s), a begin token first; what follows a row's end is to be ignored

        Returns:
            (b, s, v), float32: of what follows each token

        Raises:
            LengthError: source or target has more tokens than the model has places.
        """
        return self.following(target, self.read(source, source_mask))

    def read(self, source: Tensor, mask: Tensor | None = None) -> Source:
        """The source's keys and values in every layer; ids and mask as in `forward`."""
        if not source.shape[1]:
            raise ValueError("the source holds no token: there is nothing to attend to")
        vectors = self.encoder(source, mask)
        pairs = tuple(block.cross_attention.read(vectors) for block in self.blocks)  # type: ignore[operator, union-attr]
        return Source(pairs, None if mask is None else masks.padding(mask))

    def following(
        self, target: Tensor, source: Source, cache: Cache | None = None, *, last_only: bool = False
    ) -> Tensor:
        """Logits of what follows each token, or only of what follows the last.

        Args:
            target: ids, (b, s), that go on from what the cache holds
            source: of b rows, or of one that all b share
            cache: takes the keys and values of these tokens
            last_only: one row of logits for each of the batch: all that decoding needs

        Returns:
            (b, s, v) or (b, 1, v), float32
        """
        s, start = target.shape[1], 0 if cache is None else cache.length
        x, rotation = self.embedded(target, start)
        mask = masks.causal(s, start + s) if start and s > 1 else None
        for i, (block, pair) in enumerate(zip(self.blocks, source.keys_values, strict=True)):
            x = block(
                x,
                pair,
                source_mask=source.mask,
                mask=mask,
                causal=not start,
                rotation=rotation,
                cache=cache,
                layer=i,
            )
        if cache is not None:
            cache.advance(s)
        x = x[:, -1:] if last_only else x
        x = x if self.norm is None else self.norm(x)
        return F.linear(x, self.embedded.embedding.weight).float()

    def new_cache(self, capacity: int, *, batch: int = 1) -> Cache:
        """An empty cache of the target, for so many positions.

        Raises:
            LengthError: they are more than the model has.
        """
        require_places(capacity, self.config.max_tokens)
        return Cache(
            n_layers=self.config.decoder_layers,
            batch=batch,
            n_kv_heads=self.config.n_heads,
            capacity=capacity,
            head_width=self.config.head_width,
            dtype=self.embedded.embedding.weight.dtype,
        )


def require_places(tokens: int, limit: int) -> None:
    if tokens > limit:
        raise LengthError(
            f"{tokens} tokens are over the model's {limit} positions; shorten the text",
            tokens=tokens,
            limit=limit,
        )


@torch.no_grad()
def begin(model: Seq2Seq, rng: torch.Generator) -> None:
    """Weights to train from nothing with; an encoder that was handed over keeps its own.

    Matrices keep the variance of what goes through them, whatever the width (Glorot & Bengio 2010).
    Vectors of tokens have length one, which the scale of §3.4 makes as large as the waves.
    """
    handed_over = model.config.d_source is not None
    others = {id(p) for p in model.encoder.parameters()} if handed_over else set()
    words = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    for name, parameter in model.named_parameters():
        if id(parameter) in others:
            continue
        if parameter.ndim == 1:
            parameter.fill_(0.0 if name.endswith("bias") else 1.0)
        else:
            drawn = torch.randn(parameter.shape, generator=rng)
            embeds = id(parameter) in words
            deviation = model.config.d_model**-0.5 if embeds else (2 / sum(parameter.shape)) ** 0.5
            parameter.copy_(deviation * drawn)


def set_dropout(model: Seq2Seq, share: float) -> None:
    """Leave out this share of the embeddings and of what every block adds, while it is trained."""
    for module in model.modules():
        if isinstance(module, Embedded | Block):
            module.dropout = share


def _of_source(config: Seq2SeqConfig, embedding: nn.Embedding) -> nn.Embedding:
    """The target's own where both languages share one vocabulary (§3.4)."""
    if config.source_vocab is None:
        return embedding
    return nn.Embedding(config.source_vocab, config.d_model)


def _positions(
    config: Seq2SeqConfig,
) -> tuple[LearnedPositions | SinusoidalPositions | None, Rotary | None]:
    match config.positions:
        case "sinusoidal":
            return SinusoidalPositions(config.max_tokens, config.d_model), None
        case "learned":
            return LearnedPositions(config.max_tokens, config.d_model), None
        case "rotary":
            return None, Rotary(config.head_width, config.max_tokens)


def _block(config: Seq2SeqConfig) -> Block:
    return Block(
        attention=_attention(config),
        feed_forward=_feed_forward(config),
        attention_norm=_norm(config),
        feed_forward_norm=_norm(config),
        pre_norm=config.pre_norm,
    )


def _decoder_block(config: Seq2SeqConfig) -> DecoderBlock:
    return DecoderBlock(
        attention=_attention(config),
        cross_attention=CrossAttention(
            config.d_model,
            config.n_heads,
            head_width=config.head_width,
            d_source=config.d_source or config.d_model,
            bias=True,
        ),
        feed_forward=_feed_forward(config),
        attention_norm=_norm(config),
        cross_norm=_norm(config),
        feed_forward_norm=_norm(config),
        pre_norm=config.pre_norm,
    )


def _attention(config: Seq2SeqConfig) -> Attention:
    return Attention(
        config.d_model,
        config.n_heads,
        n_kv_heads=config.n_heads,
        head_width=config.head_width,
        bias=True,
        out_bias=True,
    )


def _feed_forward(config: Seq2SeqConfig) -> FeedForward:
    activation = F.relu if config.activation == "relu" else F.gelu
    return FeedForward(config.d_model, config.d_ff, activation=activation, bias=True)


def _norm(config: Seq2SeqConfig) -> LayerNorm:
    return LayerNorm(config.d_model, eps=config.norm_eps)
