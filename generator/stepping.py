"""The model's step over a few tokens: compiled where model and machine allow it, else by torch."""

from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from generator.head import ShortlistHead
from generator.model import Generator
from transformer import compiled
from transformer.block import Block
from transformer.cache import Cache
from transformer.errors import LengthError
from transformer.feedforward import GatedFeedForward
from transformer.low_rank import LowRankLinear
from transformer.norm import RMSNorm
from transformer.quantize import FEW_ROWS, Int4Linear

_LIKELY = 256  # tokens whose logits come from the whole matrix, as in ShortlistHead


class Stepper:
    """Takes tokens into caches and gives the logits of what follows.

    Made for an answer, or for a while: what is changed in the model afterwards may not be seen.
    """

    def __init__(self, model: Generator) -> None:
        self.model = model

    @cached_property
    def _step(self) -> compiled.Step | None:
        return _compiled(self.model)

    @property
    def rows(self) -> int:
        """The most tokens of one pass through the compiled kernels; 1 where there is no such pass.

        Each of them gets the numbers that it would get alone.
        """
        return 1 if self._step is None else compiled.ROWS

    @torch.inference_mode()
    def prefill(self, cache: Cache, tokens: Sequence[int]) -> Tensor:
        """Logits of what follows the last of many tokens, (v,).

        Raises:
            LengthError: there is no room.
        """
        if len(tokens) <= FEW_ROWS and self._step is not None and self._takes(cache):
            return self.step([cache] * len(tokens), tokens)[-1]
        return self.model(torch.tensor([tokens]), cache, last_only=True)[0, -1]  # type: ignore[no-any-return]

    @torch.inference_mode()
    def step(self, caches: Sequence[Cache], tokens: Sequence[int]) -> Tensor:
        """Logits of what follows each token, (n, v): as if they were taken one by one.

        Args:
            caches: of each token; those of one cache stand behind one another in it
            tokens: any number

        Raises:
            LengthError: there is no room.
        """
        if self._step is None or not all(map(self._takes, caches)):
            pairs = zip(caches, tokens, strict=True)
            rows = [self.model(torch.tensor([[token]]), cache)[0, -1] for cache, token in pairs]
            return torch.stack(rows)
        parts = [
            self._together(caches[at : at + self.rows], tokens[at : at + self.rows])
            for at in range(0, len(tokens), self.rows)
        ]
        return torch.cat(parts) if len(parts) > 1 else parts[0]

    def _takes(self, cache: Cache) -> bool:
        # A cache of another kind keeps other things than turned keys.
        return type(cache) is Cache and cache.keys.shape[1] == 1

    def _together(self, caches: Sequence[Cache], tokens: Sequence[int]) -> Tensor:
        assert self._step is not None, "asked before"
        places = []
        for cache in caches:
            self._check(cache)
            places.append(compiled.Place(cache.keys, cache.values, cache.length))
            cache.advance(1)
        x = self.model.embedding(torch.tensor(tokens)).float()
        x, logits = self._step(x, places)
        head = self.model.head
        assert isinstance(head, ShortlistHead), "asked before"
        # Rows together would wake torch's threads, which then get in the way of the next step's.
        k = min(_LIKELY, logits.shape[-1])
        likely = torch.stack([row.topk(k, sorted=False).indices for row in logits])
        compiled.exact(head.dense, x, likely, logits)
        return logits

    def _check(self, cache: Cache) -> None:
        room = min(cache.capacity, self.model.config.max_tokens)
        if cache.length >= room:
            raise LengthError(
                f"the cache holds {room} positions and {cache.length + 1} are needed",
                tokens=cache.length + 1,
                limit=room,
            )


def _compiled(model: Generator) -> compiled.Step | None:
    """The kernels' plan of a model; None where they do not know its parts."""
    head, norm, config = model.head, model.norm, model.config
    if compiled.library() is None or model.rotary is None or not isinstance(head, ShortlistHead):
        return None
    layers = [_layer(block) for block in model.blocks]
    plain = [layer for layer in layers if layer is not None]
    shape = compiled.Shape(
        heads=config.n_heads,
        groups=config.n_kv_heads,
        head_width=config.head_width,
        eps=config.norm_eps,
        head_eps=config.norm_eps,
        cache=model.embedding.weight.dtype,
    )
    known = isinstance(norm, RMSNorm) and head.rough.grid is None and len(plain) == len(layers)
    widths = (config.d_model, config.d_ff, config.n_heads * config.head_width)
    if not known or not compiled.fits(shape, widths):
        return None
    rotation = (model.rotary.cosines, model.rotary.sines)
    return compiled.Step(
        plain, _gain(norm), compiled.Matrix(head.rough.packed, None), rotation, shape
    )


def _layer(block: nn.Module) -> compiled.Layer | None:
    """A block as the kernels take it; None if it is of another kind."""
    assert isinstance(block, Block), "a generator is made of blocks"
    attention, feed_forward = block.attention, block.feed_forward
    norms = (block.attention_norm, block.feed_forward_norm, attention.q_norm, attention.k_norm)
    if not isinstance(feed_forward, GatedFeedForward) or feed_forward.activation is not F.silu:
        return None
    linears: list[nn.Module] = [
        attention.qkv,
        attention.out,
        feed_forward.gate_up,
        feed_forward.down,
    ]
    matrices = [matrix for linear in linears if (matrix := _matrix(linear)) is not None]
    if len(matrices) < len(linears) or not all(isinstance(n, RMSNorm | None) for n in norms):
        return None
    first, second, q_norm, k_norm = norms
    return compiled.Layer(
        _gain(first),
        _gain(second),
        None if q_norm is None else _gain(q_norm),
        None if k_norm is None else _gain(k_norm),
        *matrices,
    )


def _matrix(linear: nn.Module) -> compiled.Matrix | None:
    """A layer as the kernels take it, with what stands beside it; None without four bits."""
    beside = linear if isinstance(linear, LowRankLinear) else None
    base = linear if beside is None else beside.base
    if not isinstance(base, Int4Linear) or base.grid is not None:
        return None
    bias = None if base.bias is None else base.bias.detach()
    return compiled.Matrix(base.packed, bias, None if beside is None else beside.packed)


def _gain(norm: nn.Module) -> Tensor:
    return norm.get_parameter("weight").float()
