"""The generator, bottom-up: tokens, positions, causal blocks, head (Radford et al. 2019;
Touvron et al. 2023)."""

from torch import Tensor, nn
from torch.nn import functional as F

from generator.config import GeneratorConfig
from transformer import masks
from transformer.attention import Attention
from transformer.block import Block
from transformer.cache import Cache
from transformer.errors import LengthError
from transformer.feedforward import FeedForward, GatedFeedForward
from transformer.norm import LayerNorm, RMSNorm
from transformer.position import LearnedPositions, Rotary, Rotation


class Generator(nn.Module):
    """Causal transformer: token ids in, logits of the token that follows each out."""

    def __init__(self, config: GeneratorConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.positions, self.rotary = _positions(config)
        self.blocks = nn.ModuleList(_block(config) for _ in range(config.n_layers))
        self.norm = _norm(config, config.d_model)
        self.head: nn.Module | None = (
            None if config.tied else nn.Linear(config.d_model, config.vocab_size, bias=False)
        )

    def forward(
        self, tokens: Tensor, cache: Cache | None = None, *, last_only: bool = False
    ) -> Tensor:
        """Logits of what follows each token, or only of what follows the last.

        Args:
            tokens: ids, (b, s), that go on from what the cache holds
            cache: takes the keys and values of these tokens
            last_only: one row of logits for each of the batch: all that decoding needs

        Returns:
            (b, s, v) or (b, 1, v), float32

        Raises:
            LengthError: more tokens than the model or the cache has places.
        """
        x = self.hidden(tokens, cache)
        return self.logits(x[:, -1:] if last_only else x)

    def hidden(self, tokens: Tensor, cache: Cache | None = None) -> Tensor:
        """The normalised vectors that the head reads: (b, s) to (b, s, d)."""
        s = tokens.shape[1]
        start = 0 if cache is None else cache.length
        x, rotation = self.embed(tokens, start), self.rotation(start, s)
        # The kernel's own causal order, or one query that sees everything, needs no mask.
        mask = masks.causal(s, start + s) if start and s > 1 else None
        for i, block in enumerate(self.blocks):
            x = block(x, mask=mask, causal=not start, rotation=rotation, cache=cache, layer=i)
        if cache is not None:
            cache.advance(s)
        return self.norm(x)  # type: ignore[no-any-return]

    def embed(self, tokens: Tensor, start: int = 0) -> Tensor:
        """What the first block reads: tokens (b, s) from position `start` on, to (b, s, d).

        Raises:
            LengthError: as `forward`.
        """
        stop = start + tokens.shape[1]
        self._check(stop)
        x: Tensor = self.embedding(tokens)
        return x if self.positions is None else x + self.positions(start, stop)

    def rotation(self, start: int, s: int) -> Rotation | None:
        """Of s positions from `start` on."""
        return None if self.rotary is None else self.rotary(start, start + s)

    def logits(self, x: Tensor) -> Tensor:
        """The head on vectors (…, d): (…, v), float32."""
        head = self.head
        y: Tensor = F.linear(x, self.embedding.weight) if head is None else head(x)
        return y.float()

    def new_cache(self, capacity: int, *, batch: int = 1) -> Cache:
        """An empty cache for so many positions of this model.

        Raises:
            LengthError: they are more than the model has.
        """
        self._check(capacity)
        return Cache(
            n_layers=self.config.n_layers,
            batch=batch,
            n_kv_heads=self.config.n_kv_heads,
            capacity=capacity,
            head_width=self.config.head_width,
            dtype=self.embedding.weight.dtype,
        )

    def _check(self, tokens: int) -> None:
        if tokens > self.config.max_tokens:
            raise LengthError(
                f"{tokens} tokens are over the generator's limit of {self.config.max_tokens}; "
                "shorten the prompt or ask for a shorter answer",
                tokens=tokens,
                limit=self.config.max_tokens,
            )


def _positions(config: GeneratorConfig) -> tuple[LearnedPositions | None, Rotary | None]:
    match config.positions:
        case "learned":
            return LearnedPositions(config.max_tokens, config.d_model), None
        case "rotary":
            return None, Rotary(config.head_width, config.max_tokens, base=config.rotary_base)


def _block(config: GeneratorConfig) -> Block:
    return Block(
        attention=Attention(
            config.d_model,
            config.n_heads,
            n_kv_heads=config.n_kv_heads,
            head_width=config.head_width,
            bias=config.qkv_bias,
            out_bias=config.out_bias,
            q_norm=_norm(config, config.head_width) if config.qk_norm else None,
            k_norm=_norm(config, config.head_width) if config.qk_norm else None,
        ),
        feed_forward=_feed_forward(config),
        attention_norm=_norm(config, config.d_model),
        feed_forward_norm=_norm(config, config.d_model),
        pre_norm=True,
    )


def _feed_forward(config: GeneratorConfig) -> nn.Module:
    d_model, d_ff, bias = config.d_model, config.d_ff, config.ff_bias
    match config.feed_forward:
        case "gated_silu":
            return GatedFeedForward(d_model, d_ff, activation=F.silu, bias=bias)
        case "gelu_tanh":
            activation = nn.GELU(approximate="tanh")
            return FeedForward(d_model, d_ff, activation=activation, bias=bias)


def _norm(config: GeneratorConfig, width: int) -> nn.Module:
    match config.norm:
        case "rms":
            return RMSNorm(width, eps=config.norm_eps)
        case "layer":
            return LayerNorm(width, eps=config.norm_eps)
