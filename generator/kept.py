"""What was computed once and will be needed again, kept in memory under a budget of bytes.

Two kinds of keys and values are worth it: beginnings of prompts, here, which change nothing but
the time (a conversation goes on from its last turn, the system's words are read once); and
passages by themselves, in `generator.blocks`.
"""

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Generic, Protocol, TypeVar

import torch
from torch import Tensor

from generator.model import Generator
from transformer.cache import Cache

PROMPT_BYTES = 64 << 20  # some five long prompts of a small model
PASSAGE_BYTES = 256 << 20  # some 55 passages of 200 tokens of one, and their beginning
_ANEW = 16  # tokens of a prompt that are always computed: as many rows go the way of a whole prompt


class Weighed(Protocol):
    """Knows how much memory it takes."""

    @property
    def nbytes(self) -> int: ...


V = TypeVar("V", bound=Weighed)


class Kept(Generic[V]):
    """Values by key; those not used for the longest time leave when the budget is spent.

    Any thread may ask. Two that miss the same key at once both compute it, and the later stays.

    Args:
        budget: bytes of all values together; a value above it is not kept
    """

    def __init__(self, budget: int) -> None:
        if budget < 0:
            raise ValueError(f"budget ({budget}) must be at least 0 bytes")
        self.budget = budget
        self._values: OrderedDict[Hashable, V] = OrderedDict()
        self._nbytes = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._values)

    @property
    def nbytes(self) -> int:
        """Of all that is kept now."""
        return self._nbytes

    def get(self, key: Hashable) -> V | None:
        """The value, which thereby becomes the last to leave; None where there is none."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key]

    def put(self, key: Hashable, value: V) -> None:
        """Keep a value in place of what the key had."""
        with self._lock:
            self._drop(key)
            if value.nbytes > self.budget:
                return
            self._values[key] = value
            self._nbytes += value.nbytes
            while self._nbytes > self.budget:
                self._drop(next(iter(self._values)))

    def drop(self, key: Hashable) -> None:
        """Forget a value, if it is there."""
        with self._lock:
            self._drop(key)

    def values(self) -> list[V]:
        """All of them, the next to leave first."""
        with self._lock:
            return list(self._values.values())

    def _drop(self, key: Hashable) -> None:
        gone = self._values.pop(key, None)
        if gone is not None:
            self._nbytes -= gone.nbytes


@dataclass(frozen=True, slots=True, eq=False)
class Stretch:
    """Keys and values of tokens that follow one another, (n_layers, 1, g, n, e) each."""

    tokens: tuple[int, ...]
    keys: Tensor
    values: Tensor

    @classmethod
    def of(cls, tokens: Sequence[int], cache: Cache) -> "Stretch":
        """A copy of what a cache of one row begins with."""
        n = len(tokens)
        return cls(
            tuple(tokens), cache.keys[:, :, :, :n].clone(), cache.values[:, :, :, :n].clone()
        )

    @property
    def nbytes(self) -> int:
        return self.keys.nbytes + self.values.nbytes

    def shared_with(self, tokens: Sequence[int]) -> int:
        """How many tokens both begin with."""
        n = min(len(self.tokens), len(tokens))
        return next((i for i in range(n) if self.tokens[i] != tokens[i]), n)


class KeptPrompts:
    """Beginnings of prompts that one model has read, so that it does not read them again.

    Exact: what follows is what would follow without. Only what was read as a prompt is kept, and
    the end of a prompt is always computed, so that every number comes out of the same kernels.

    Args:
        model: whose keys and values they are
        budget: bytes
    """

    def __init__(self, model: Generator, *, budget: int = PROMPT_BYTES) -> None:
        self._model = model
        self._kept: Kept[Stretch] = Kept(budget)

    @property
    def nbytes(self) -> int:
        return self._kept.nbytes

    @torch.inference_mode()
    def begin(self, prompt: Sequence[int], room: int) -> Cache:
        """A cache that holds as much of a prompt's beginning as is kept: `length` says how much.

        Args:
            prompt: ids
            room: positions for what comes behind the prompt

        Raises:
            LengthError: prompt and room are more than the model has.
        """
        cache = self._model.new_cache(len(prompt) + room)
        longest, best = 0, None
        for stretch in self._kept.values():
            shared = min(stretch.shared_with(prompt), len(prompt) - _ANEW)
            if shared > longest:
                longest, best = shared, stretch
        if best is not None:
            self._kept.get(best.tokens)
            cache.extend(best.keys[:, :, :, :longest], best.values[:, :, :, :longest])
        return cache

    @torch.inference_mode()
    def keep(self, prompt: Sequence[int], cache: Cache) -> None:
        """Keep a prompt that a cache of one row has just read; what it goes on from is let go."""
        for stretch in self._kept.values():
            if stretch.shared_with(prompt) == len(stretch.tokens):
                self._kept.drop(stretch.tokens)
        self._kept.put(tuple(prompt), Stretch.of(prompt, cache))
