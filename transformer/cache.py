"""Keys and values, computed once: preallocated, aware of their length, raising when full."""

from collections.abc import Sequence

import torch
from torch import Tensor

from transformer.errors import LengthError


class Cache:
    """Room for the keys and values of `capacity` positions in every layer.

    A forward pass appends to each layer and then advances once, so that every layer sees the
    same length until the pass is over.
    """

    def __init__(
        self,
        *,
        n_layers: int,
        batch: int,
        n_kv_heads: int,
        capacity: int,
        head_width: int,
        dtype: torch.dtype,
    ) -> None:
        shape = (n_layers, batch, n_kv_heads, capacity, head_width)
        self.keys = torch.empty(shape, dtype=dtype)
        self.values = torch.empty(shape, dtype=dtype)
        self.length = 0

    @property
    def capacity(self) -> int:
        return self.keys.shape[3]

    def append(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Write k and v (b, g, s, e) behind what is there; all of it, (b, g, t, e) each.

        Raises:
            LengthError: t would exceed the capacity.
        """
        stop = self.length + k.shape[2]
        if stop > self.capacity:
            raise LengthError(
                f"the cache holds {self.capacity} positions and {stop} are needed",
                tokens=stop,
                limit=self.capacity,
            )
        keys, values = self.keys[layer], self.values[layer]
        keys.narrow(2, self.length, k.shape[2]).copy_(k)
        values.narrow(2, self.length, v.shape[2]).copy_(v)
        return keys.narrow(2, 0, stop), values.narrow(2, 0, stop)

    def extend(self, keys: Tensor, values: Tensor) -> None:
        """Take what was computed elsewhere, (n_layers, b or 1, g, s, e), into every layer at once.

        Raises:
            LengthError: as `append`.
        """
        for layer in range(self.keys.shape[0]):
            self.append(layer, keys[layer], values[layer])
        self.advance(keys.shape[3])

    def advance(self, positions: int) -> None:
        """Count `positions` more as filled, in every layer."""
        self.length += positions

    def truncate(self, length: int) -> None:
        """Forget everything from position `length` on."""
        if not 0 <= length <= self.length:
            raise ValueError(f"length ({length}) must lie within 0 and {self.length}")
        self.length = length

    def reorder(self, rows: Tensor) -> None:
        """Row i of the batch goes on from what row rows[i] held: beams change places."""
        self.keys[:, :, :, : self.length] = self.keys[:, rows, :, : self.length]
        self.values[:, :, :, : self.length] = self.values[:, rows, :, : self.length]


class Joined(Cache):
    """Rows that go on from kept stretches of unlike length, for one pass and no further.

    Each row holds the shared stretch, its own, room up to the longest own one, and what the pass
    appends: t = shared + longest + s. They are laid side by side a layer at a time, in memory for
    one layer, which is read again before it has left the processor's cache.

    Args:
        shared: keys and values (n_layers, 1, g, p, e) before every row's own
        own: keys and values (n_layers, g, n_i, e) of row i
        room: s, positions of the pass
    """

    def __init__(
        self,
        shared: tuple[Tensor, Tensor],
        own: Sequence[tuple[Tensor, Tensor]],
        *,
        room: int,
    ) -> None:
        _, _, n_kv_heads, before, head_width = shared[0].shape
        self.start = before + max(keys.shape[2] for keys, _ in own)  # column of the pass
        super().__init__(
            n_layers=1,
            batch=len(own),
            n_kv_heads=n_kv_heads,
            capacity=self.start + room,
            head_width=head_width,
            dtype=shared[0].dtype,
        )
        # The gap behind a short row is hidden by a mask, which does not hide what is no number.
        self.keys.zero_()
        self.values.zero_()
        self._shared, self._own = shared, own

    @property
    def mask(self) -> Tensor:
        """Each of s positions sees its row's stretches and the pass up to itself: (b, 1, s, t)."""
        before = self._shared[0].shape[3]
        stops = torch.tensor([before + keys.shape[2] for keys, _ in self._own])
        columns = torch.arange(self.capacity)
        steps = self.start + torch.arange(self.capacity - self.start)
        seen = (columns >= self.start) & (columns <= steps[:, None])  # (s, t)
        return ((columns < stops[:, None])[:, None] | seen)[:, None]

    def append(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """All of a layer, (b, g, t, e) each; good until the next layer is asked for."""
        before = self._shared[0].shape[3]
        for mine, part, new in ((self.keys[0], 0, k), (self.values[0], 1, v)):
            mine[:, :, :before] = self._shared[part][layer]
            for row, own in enumerate(self._own):
                kept = own[part][layer]
                mine[row, :, before : before + kept.shape[1]] = kept
            mine[:, :, self.start :] = new
        return self.keys[0], self.values[0]
