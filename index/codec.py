"""How a vector is kept: unit length, float16, little-endian, one row's bytes after another."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_OFF = 0.01  # from length 1; float16 keeps a vector within 0.001 of it


def unit(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    """Rows scaled to length 1, within 1e-5.

    Raises:
        ValueError: A row has no direction: it is zero, or holds infinity or NaN.
    """
    rows = np.asarray(vectors, np.float32)
    norms = np.linalg.norm(rows, axis=-1, keepdims=True)
    usable = np.isfinite(norms) & (norms > 0)
    if not usable.all():
        row = int(np.argmin(usable.reshape(-1)))
        raise ValueError(
            f"vector {row} of {usable.size} has length {norms.reshape(-1)[row]}: "
            "it must be finite and not zero"
        )
    return np.asarray(rows / norms, np.float32)


def encode(vectors: NDArray[np.floating]) -> list[bytes]:
    return [row.tobytes() for row in unit(vectors).astype("<f2")]


def decode(blobs: Sequence[bytes], dimensions: int) -> NDArray[np.float32]:
    """The rows of `encode`, (n, d), scaled again because float16 is off by up to 1e-3."""
    return unit(np.frombuffer(b"".join(blobs), "<f2").reshape(len(blobs), dimensions))


def is_encoded(data: bytes, dimensions: int) -> bool:
    """Whether these are the bytes of one row, of this width and of length 1."""
    if len(data) != 2 * dimensions:
        return False
    length = float(np.linalg.norm(np.frombuffer(data, "<f2").astype(np.float32)))
    return abs(length - 1) <= _OFF  # false of NaN and infinity
