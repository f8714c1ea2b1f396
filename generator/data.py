"""Texts and conversations to rows of tokens: what each token may see, and which are to be learned.

Several short ones share a row and never see each other, so that hardly any of the arithmetic goes
into padding.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from generator.prompts import Message, Prompts, grounded
from transformer.errors import TrainingError
from transformer.packing import best_fit
from transformer.tokenizer import Tokenizer

PREFIX, OPEN = 0, -1  # parts of an example: what all see, and what sees all; passages are 1, 2, …

_NOTHING = "¶"  # begins as no passage and no question does


@dataclass(frozen=True, slots=True)
class Example:
    """A conversation whose last answer is to be learned."""

    messages: tuple[Message, ...]
    answer: str
    passages: tuple[str, ...] = ()  # that the last message begins with, as `grounded` puts them


@dataclass(frozen=True, slots=True)
class Encoded:
    """An example, or a text, as tokens."""

    ids: tuple[int, ...]
    learned: int  # from this place on
    bounds: tuple[int, ...] = ()  # where each passage begins, and what stands behind the last


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one width, padded on the right; each tensor (n, s)."""

    tokens: Tensor
    segments: Tensor  # 1, 2, … for the examples of a row, 0 at padding
    parts: Tensor  # of an example: PREFIX, passages from 1, OPEN
    positions: Tensor  # within an example
    weights: Tensor  # float: how much it counts that the token is foretold; 0: not at all

    def __len__(self) -> int:
        return len(self.tokens)

    def at(self, places: Tensor) -> "Rows":
        """Some of the rows, no wider than the longest of them."""
        width = int((self.segments[places] > 0).sum(1).max())
        return Rows(*(each[places, :width] for each in self.tensors))

    def to(self, device: torch.device) -> "Rows":
        return Rows(*(each.to(device) for each in self.tensors))

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return self.tokens, self.segments, self.parts, self.positions, self.weights


def mask(rows: Rows, *, blocks: bool) -> Tensor | None:
    """Which earlier tokens each may attend to: bool, (n, 1, s, s); None for all of them.

    Args:
        rows: as they are packed
        blocks: a passage sees the prefix and itself alone (Ma et al. 2024, "Block-Attention"), so
            that its keys and values are the same in every prompt; all else sees everything
    """
    blocks = blocks and bool((rows.parts > 0).any())
    alone = bool((rows.segments <= 1).all())
    if alone and not blocks:  # padding is on the right, where nothing looks
        return None
    seen = (rows.segments[:, :, None] == rows.segments[:, None, :]).tril()
    if blocks:
        queries, keys = rows.parts[:, :, None], rows.parts[:, None, :]
        seen &= (keys == PREFIX) | (queries == OPEN) | (queries == keys)
    return seen[:, None]


@dataclass(frozen=True, slots=True)
class Opening:
    """The beginning of an answer, which decides what it is; the rest follows from it."""

    tokens: int = 0
    weight: float = 1.0  # of such a token; any other counts once

    def __post_init__(self) -> None:
        if self.tokens < 0:
            raise ValueError(f"tokens ({self.tokens}) must be at least 0")
        if not 0 < self.weight < math.inf:
            raise ValueError(f"weight ({self.weight}) must be a number over 0")


def pack(encoded: Sequence[Encoded], length: int, opening: Opening | None = None) -> Rows:
    """Rows of whole examples, of `length` tokens at most: longest first, each where it fits best.

    Raises:
        ValueError: one is longer than that.
    """
    longest = max((len(each.ids) for each in encoded), default=0)
    if longest > length:
        raise ValueError(f"an example of {longest} tokens does not fit a row of {length}")
    bins, _ = best_fit([len(each.ids) for each in encoded], length)
    shape = len(bins), length
    kinds = (torch.long, torch.long, torch.long, torch.long, torch.float32)
    rows = Rows(*(torch.zeros(shape, dtype=kind) for kind in kinds))
    for row, chosen in enumerate(bins):
        start = 0
        for number, each in enumerate((encoded[i] for i in chosen), start=1):
            stop = start + len(each.ids)
            rows.tokens[row, start:stop] = torch.tensor(each.ids)
            rows.segments[row, start:stop] = number
            rows.parts[row, start:stop] = _parts(each)
            rows.positions[row, start:stop] = torch.arange(len(each.ids))
            # Nothing foretells the first token of an example.
            first = start + max(1, each.learned)
            rows.weights[row, first:stop] = 1.0
            if opening is not None:
                rows.weights[row, first : min(stop, first + opening.tokens)] = opening.weight
            start = stop
    return rows


def _parts(each: Encoded) -> Tensor:
    if not each.bounds:
        return torch.full((len(each.ids),), OPEN)
    edges = [0, *each.bounds, len(each.ids)]
    counts = torch.tensor([stop - start for start, stop in pairwise(edges)])
    numbers = torch.arange(len(counts))
    numbers[-1] = OPEN
    return numbers.repeat_interleave(counts)


class Writing:
    """Examples to tokens, by a model's own chat template.

    Args:
        prompts: of the model
        tokenizer: of the model
        ends: tokens that end an answer

    Raises:
        TrainingError: no token ends an answer.
    """

    def __init__(self, prompts: Prompts, tokenizer: Tokenizer, ends: Collection[int]) -> None:
        self._prompts, self._tokenizer = prompts, tokenizer
        self._end = self._ending(ends)

    def _ending(self, ends: Collection[int]) -> int:
        """The token that the template writes behind an answer."""
        asked = [Message("user", "0")]
        answered = self._prompts.encode([*asked, Message("assistant", "0")])
        behind = answered[len(self._prompts.encode(asked)) :]
        found = next((token for token in behind if token in ends), min(ends, default=None))
        if found is None:
            raise TrainingError(
                "the model has no token that ends an answer, and could not learn to stop: take "
                "one whose tokenizer has such a token"
            )
        return found

    def encode(self, example: Example) -> Encoded:
        """The prompt as it will be given, the answer behind it, and the token that ends it.

        Raises:
            PromptError: the template cannot take the messages.
        """
        prompt = self._prompts.encode(example.messages)
        answer = [*self._tokenizer.encode(example.answer.strip()), self._end]
        bounds = self._bounds(example, prompt) if example.passages else ()
        return Encoded((*prompt, *answer), len(prompt), bounds)

    def _bounds(self, example: Example, prompt: Sequence[int]) -> tuple[int, ...]:
        """Up to where the prompt is what it would be if something else came next."""
        *before, last = example.messages
        bounds = []
        for n in range(len(example.passages) + 1):
            (_, other) = grounded("", _NOTHING, example.passages[:n])
            cut = self._prompts.encode([*before, Message(last.role, other.content)])
            bounds.append(_common(prompt, cut))
        return tuple(bounds)


def encode_texts(
    tokenizer: Tokenizer, texts: Sequence[str], length: int, *, end: int
) -> list[Encoded]:
    """Each text with the token that ends it; what is longer than `length` is cut into several.

    Every token is learned. A piece begins with the last token of the piece before it, which is
    where its first one is foretold from.
    """
    if length < 2:
        raise ValueError(f"length ({length}) must be at least 2")
    found: list[Encoded] = []
    for text in texts:
        ids = [end, *tokenizer.encode(text), end]  # a text begins where another one ended
        starts = range(0, len(ids) - 1, length - 1)
        found += [Encoded(tuple(ids[start : start + length]), 1) for start in starts]
    return found


def _common(left: Sequence[int], right: Sequence[int]) -> int:
    """How many ids two rows have in common at their beginning."""
    pairs = zip(left, right, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))
