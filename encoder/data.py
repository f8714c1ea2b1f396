"""Documents to rows of one length, so that hardly any of the arithmetic goes into padding.

Several short texts share a row, numbered by segment, and the model keeps them apart.
"""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.packing import best_fit
from transformer.tokenizer import Tokenizer

_AT_ONCE = 1000  # texts: the tokenizer's own notes take fifty times what the ids do


@dataclass(frozen=True, slots=True)
class Packed:
    """Rows of texts; what `Encoder` takes as tokens and segments."""

    tokens: Tensor  # (n, s), padding on the right
    segments: Tensor  # (n, s): 1, 2, … for the texts of a row, 0 at padding
    places: Tensor  # (m, 2): the row of each text that was given, and its segment there


def encode(tokenizer: Tokenizer, texts: Sequence[str], length: int) -> "list[array[int]]":
    """Ids of texts, what the model expects around each included; what holds no word is left out.

    What is longer than `length` is split into several, each with the same around it.

    Raises:
        ValueError: `length` leaves no room between what stands around a text.
    """
    around = len(tokenizer.encode_for_model([""])[0])
    if length <= around:
        raise ValueError(f"length ({length}) must be over the {around} tokens around every text")
    wordless = frozenset(tokenizer.special_tokens().values())  # unknown words stand for none
    return [
        array("i", part)  # a tenth of a list
        for start in range(0, len(texts), _AT_ONCE)
        for row in tokenizer.encode_for_model(texts[start : start + _AT_ONCE])
        for part in split(row, length)
        if not wordless.issuperset(part)
    ]


def split(row: Sequence[int], length: int) -> Iterator[list[int]]:
    """A text of [CLS] … [SEP] as texts of at most `length` tokens; nothing between is lost."""
    first, inside, last = row[0], row[1:-1], row[-1]
    step = length - 2
    for start in range(0, max(1, len(inside)), step):
        yield [first, *inside[start : start + step], last]


def pack(rows: Sequence[Sequence[int]], length: int, *, pad_id: int) -> Packed:
    """Fill rows of `length` tokens with whole texts: longest first, each where it fits best.

    Raises:
        ValueError: a text is longer than `length`.
    """
    longest = max(map(len, rows), default=0)
    if longest > length:
        raise ValueError(f"a text of {longest} tokens does not fit a row of {length}; split it")
    bins, places = best_fit([len(row) for row in rows], length)
    tokens = torch.full((len(bins), length), pad_id)
    segments = torch.zeros(len(bins), length, dtype=torch.long)
    for row, bin_ in enumerate(bins):
        ids = [token for i in bin_ for token in rows[i]]
        numbers = [number for number, i in enumerate(bin_, start=1) for _ in rows[i]]
        tokens[row, : len(ids)] = torch.tensor(ids, dtype=torch.long)
        segments[row, : len(ids)] = torch.tensor(numbers, dtype=torch.long)
    return Packed(tokens, segments, torch.tensor(places, dtype=torch.long).view(-1, 2))
