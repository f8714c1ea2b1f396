"""What an encoder makes of each word of a text, layer by layer, and what its words attend to."""

import re
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from encoder.checkpoint import EncoderCheckpoint
from transformer.watching import watch

Language = Literal["en", "ko"]
Span = tuple[int, int]  # start and end in a text, in code points

NOWHERE: Span = (0, 0)  # of a token that the model puts around the text


@dataclass(frozen=True, slots=True)
class Inside:
    """One text on its way through the model."""

    places: tuple[Span, ...]  # of each token in the text
    layers: Tensor  # (1 + layers, s, d): bare embeddings, then each block's sum; the last: output
    attention: Tensor  # (layers, h, s, s): how much each token takes of each other

    def pieces(self, span: Span) -> list[int]:
        """The tokens that a stretch of the text lies in."""
        start, end = span
        return [i for i, (begins, ends) in enumerate(self.places) if begins < end and ends > start]

    def word(self, span: Span) -> Tensor:
        """The mean vector of a word's pieces: (1 + layers, d)."""
        return self.layers[:, self.pieces(span)].mean(dim=1)

    def weight(self, reader: Span, read: Span) -> Tensor:
        """How much one word takes of another, all its pieces together: (layers, h)."""
        rows = self.attention[:, :, self.pieces(reader)].mean(dim=2)
        return rows[:, :, self.pieces(read)].sum(dim=-1)


@torch.inference_mode()
def look(loaded: EncoderCheckpoint, text: str) -> Inside:
    """Send one text through the model as `Encoder.forward` does, and keep what lies between.

    Raises:
        LengthError: the text is longer than the model can read.
    """
    model = loaded.model
    ids, places = loaded.tokenizer.encode_with_offsets([text])
    before, behind = loaded.tokenizer.around
    tokens = torch.tensor([[*before, *ids[0], *behind]])
    x, layers, weights = model.embed(tokens), [model.embedding(tokens)[0]], []
    for seen in watch(model.blocks, x, rotation=model.rotation(tokens.shape[1])):
        weights.append(seen.weights[0])
        layers.append(seen.x[0])
    if model.norm is not None:
        layers[-1] = model.norm(seen.x)[0]
    around = [NOWHERE] * len(before), [NOWHERE] * len(behind)
    return Inside((*around[0], *places[0], *around[1]), torch.stack(layers), torch.stack(weights))


def find(text: str, word: str) -> Span:
    """Where a word stands, whole and whatever its case; it must stand there once."""
    found = [match.span() for match in re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.I)]
    if len(found) != 1:
        raise ValueError(f"{word!r} stands {len(found)} times in {text!r}, and must once")
    return found[0]


def cosines(left: Tensor, right: Tensor) -> Tensor:
    """Of each layer's two vectors, in float64: (layers, d) twice to (layers,)."""
    return torch.nn.functional.cosine_similarity(left.double(), right.double(), dim=-1)


def layer_name(layer: int) -> str:
    return f"layer {layer}" if layer else "static"
