"""Keys and values, computed once: preallocated, aware of their length, raising when full."""

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
