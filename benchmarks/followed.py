"""One phrase on its way through a small translator, every number in between kept.

It does by hand what `Seq2Seq` does, so that each step can be shown; a test holds both together.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from benchmarks.lets_go import BEGIN, Translator
from benchmarks.weights import Map
from generator.seq2seq import SourceEncoder
from transformer import masks
from transformer.attention import attention_weights
from transformer.block import Block
from transformer.decoder_block import DecoderBlock


@dataclass(frozen=True, slots=True)
class Asked:
    """One attention of one head: everything without the batch's axis."""

    q: Tensor  # (s, e)
    k: Tensor  # (t, e)
    v: Tensor  # (t, e)
    weights: Tensor  # (s, t)

    @property
    def scores(self) -> Tensor:
        """Before the softmax and before scaling: (s, t)."""
        return self.q @ self.k.T

    @property
    def mixed(self) -> Tensor:
        """The values by their weights: (s, e)."""
        return self.weights @ self.v


@dataclass(frozen=True, slots=True)
class Read:
    """The encoder's side."""

    words: Tensor  # (t, d), scaled
    waves: Tensor  # (t, d)
    self_attention: Asked
    attended: Tensor  # (t, d), behind the sum and its norm
    vectors: Tensor  # (t, d), what the decoder asks


@dataclass(frozen=True, slots=True)
class Written:
    """The decoder's side, of all tokens that it was given."""

    words: Tensor  # (s, d), scaled
    waves: Tensor  # (s, d)
    masked: Asked
    attended: Tensor  # (s, d), behind masked self-attention
    cross: Asked
    crossed: Tensor  # (s, d), behind cross-attention
    vectors: Tensor  # (s, d), what the output layer reads
    chances: Tensor  # (s, v)


@torch.inference_mode()
def read(translator: Translator, text: str) -> Read:
    """Follow a source."""
    encoder = translator.model.encoder
    assert isinstance(encoder, SourceEncoder)
    (block,) = encoder.blocks
    assert isinstance(block, Block)
    tokens = translator.source(text)
    words = encoder.embedded.embedding(tokens) * encoder.embedded.scale
    x, _ = encoder.embedded(tokens)
    q, k, v = block.attention.project(x)
    asked = _asked(q, k, v, attention_weights(q, k))
    y = block.attention_norm(x + block.attention.out(asked.mixed))
    z = block.feed_forward_norm(y + block.feed_forward(y))
    return Read(words[0], (x - words)[0], asked, y[0], z[0])


@torch.inference_mode()
def write(translator: Translator, source: Read, said: str) -> Written:
    """Follow what stands behind the begin token and the words said so far."""
    model = translator.model
    (block,) = model.blocks
    assert isinstance(block, DecoderBlock)
    tokens = torch.tensor([[translator.marks.begin, *translator.spanish.ids(said)]])
    words = model.embedded.embedding(tokens) * model.embedded.scale
    x, _ = model.embedded(tokens)
    s = tokens.shape[1]
    q, k, v = block.attention.project(x)
    masked = _asked(q, k, v, attention_weights(q, k, masks.causal(s, s)))
    y = block.attention_norm(x + block.attention.out(masked.mixed))
    k, v = block.cross_attention.read(source.vectors[None])
    q = block.cross_attention.q(y)[:, None]  # one head
    cross = _asked(q, k, v, block.cross_attention.weights(y, (k, v)))
    z = block.cross_norm(y + block.cross_attention.out(cross.mixed))
    out = block.feed_forward_norm(z + block.feed_forward(z))
    chances = (out @ model.embedded.embedding.weight.T).softmax(-1)
    return Written(words[0], (x - words)[0], masked, y[0], cross, z[0], out[0], chances[0])


def _asked(q: Tensor, k: Tensor, v: Tensor, weights: Tensor) -> Asked:
    return Asked(q[0, 0], k[0, 0], v[0, 0], weights[0, 0])


def maps(translator: Translator, text: str, said: str) -> list[Map]:
    """The three attentions over one phrase and its translation."""
    source = read(translator, text)
    target = write(translator, source, said)
    heard, spoken = tuple(text.split()), (BEGIN, *said.split())
    return [
        Map("self-attention of the source", heard, heard, _rows(source.self_attention)),
        Map("masked self-attention", spoken, spoken, _rows(target.masked, barred=True)),
        Map("cross-attention", spoken, heard, _rows(target.cross)),
    ]


def _rows(asked: Asked, *, barred: bool = False) -> tuple[tuple[float | None, ...], ...]:
    return tuple(
        tuple(None if barred and place > row else weight for place, weight in enumerate(weights))
        for row, weights in enumerate(asked.weights.tolist())
    )
