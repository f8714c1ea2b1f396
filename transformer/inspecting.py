"""What the attention mechanism did with a text, in records that a page can draw."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from transformer.tokenizer import Tokenizer
from transformer.watching import Watched

_SMALL = "₀₁₂₃₄₅₆₇₈₉"


@dataclass(frozen=True, slots=True)
class Token:
    """A token as a person reads it."""

    text: str  # what it stands for; of what the model puts around a text, its name
    position: int  # counted from 0 in all that the model reads


@dataclass(frozen=True, slots=True, eq=False)
class AttentionMap:
    """What the shown tokens take of each other, in every layer and head."""

    tokens: tuple[Token, ...]  # m
    # (n_layers, h, m, 1 + m) fp16; the first column is what a token takes of all that is not shown
    weights: NDArray[np.float16]

    @property
    def layers(self) -> int:
        return len(self.weights)

    @property
    def heads(self) -> int:
        return int(self.weights.shape[1])

    def of(self, layer: int, head: int | None = None) -> NDArray[np.float32]:
        """One head's weights, or the mean of a layer's heads: (m, 1 + m)."""
        heads: NDArray[np.float32] = self.weights[layer].astype(np.float32)
        found: NDArray[np.float32] = heads.mean(0) if head is None else heads[head]
        return found


def mapped(
    passed: Iterable[Watched], tokens: Sequence[Token], places: Sequence[int]
) -> AttentionMap:
    """The map of one row's pass; only what is shown of a block outlives it.

    Args:
        passed: what `watch` gives, of one row
        tokens: all that the model reads
        places: of those to show, in their order
    """
    weights = np.stack([_shown(each.weights[0], places) for each in passed])
    return AttentionMap(tuple(tokens[at] for at in places), weights)


def _shown(weights: Tensor, places: Sequence[int]) -> NDArray[np.float16]:
    """Rows and columns of places, all other columns in one before: (h, s, s) to (h, m, 1 + m)."""
    at = torch.tensor(places)
    others = torch.ones(weights.shape[-1], dtype=torch.bool)
    others[at] = False
    rows = weights.index_select(-2, at)
    rest = rows[..., others].sum(-1, keepdim=True)
    kept: NDArray[np.float16] = (
        torch.cat([rest, rows.index_select(-1, at)], dim=-1).to(torch.float16).numpy()
    )
    return kept


def around(n: int, centre: int, most: int) -> range:
    """At most so many of n places, with a centre in their middle where the ends allow it."""
    start = max(0, min(centre - most // 2, n - most))
    return range(start, min(n, start + most))


def labels(tokenizer: Tokenizer, text: str) -> tuple[list[int], list[str]]:
    """Ids of a text, nothing put around it, and what of it each of them stands for.

    White space is drawn. A character that takes several tokens is told with a number at each.
    """
    (ids,), (places,) = tokenizer.encode_with_offsets([text])
    read = list[str]()
    for (start, end), same in groupby(range(len(ids)), key=places.__getitem__):
        group = list(same)
        parted = len(group) > 1 and start < end
        for number, i in enumerate(group, start=1):
            said = text[start:end] or name(tokenizer, ids[i])
            read.append(f"{said}{_SMALL[number % 10]}" if parted else said)
    return ids, read


def name(tokenizer: Tokenizer, token: int) -> str:
    """What one token stands for by itself, white space drawn."""
    text = tokenizer.decode([token], specials=True)
    if text.strip():
        return text.strip()
    return text.replace("\n", "↵").replace("\t", "⇥").replace(" ", "␣") or "␣"
