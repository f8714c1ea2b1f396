"""Where a token stands: sinusoidal and learned positions are added, rotary ones turn q and k."""

import torch
from torch import Tensor, nn

Rotation = tuple[Tensor, Tensor]  # cosines and sines, (s, e) each, broadcast over batch and heads


def sinusoidal(n_positions: int, d_model: int) -> Tensor:
    """The fixed table of Vaswani et al. 2017, §3.5: (n_positions, d_model), sin at even columns."""
    if d_model % 2:
        raise ValueError(f"d_model ({d_model}) must be even for sinusoidal positions")
    frequencies = 10000 ** (-torch.arange(0, d_model, 2, device="cpu") / d_model)
    angles = torch.arange(n_positions, device="cpu")[:, None] * frequencies  # (n, d / 2)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


class LearnedPositions(nn.Module):
    """A trained vector for each position.

    Args:
        n_positions: rows of the table, `offset` of them unused
        d_model: width
        offset: row of the first token; XLM-R begins behind its padding id
    """

    def __init__(self, n_positions: int, d_model: int, *, offset: int = 0) -> None:
        super().__init__()
        self.offset = offset
        self.weight = nn.Parameter(torch.zeros(n_positions, d_model))

    def forward(self, start: int, stop: int) -> Tensor:
        """The vectors of positions start..stop-1: (stop - start, d)."""
        return self.weight[self.offset + start : self.offset + stop]


class SinusoidalPositions(nn.Module):
    """`sinusoidal` as a module, with nothing to train and nothing to save."""

    table: Tensor

    def __init__(self, n_positions: int, d_model: int) -> None:
        super().__init__()
        self.register_buffer("table", sinusoidal(n_positions, d_model), persistent=False)

    def forward(self, start: int, stop: int) -> Tensor:
        """The vectors of positions start..stop-1: (stop - start, d)."""
        return self.table[start:stop]


class Rotary(nn.Module):
    """Rotary positions (Su et al. 2021, §3.2): a score depends on the distance i - j alone.

    The two halves of a head form the pairs that turn together, as in Llama's public checkpoints.

    Args:
        head_width: e, even
        n_positions: length of the table
        base: of the geometric row of frequencies
    """

    cosines: Tensor
    sines: Tensor

    def __init__(self, head_width: int, n_positions: int, *, base: float = 10_000.0) -> None:
        super().__init__()
        if head_width % 2:
            raise ValueError(f"head_width ({head_width}) must be even for rotary positions")
        # A table is computed, never loaded: it must be real where parameters are still meta.
        pairs = torch.arange(0, head_width, 2, device="cpu").float()
        positions = torch.arange(n_positions, device="cpu").float()
        angles = positions[:, None] * base ** (-pairs / head_width)  # (n, e / 2)
        angles = torch.cat([angles, angles], dim=-1)
        self.register_buffer("cosines", angles.cos(), persistent=False)
        # The sign of the first half belongs to the turn: one roll then replaces a negation.
        sines = angles.sin()
        sines[:, : head_width // 2] *= -1
        self.register_buffer("sines", sines, persistent=False)

    def forward(self, start: int, stop: int) -> Rotation:
        """The rotation of positions start..stop-1."""
        return self.cosines[start:stop], self.sines[start:stop]


def rotate(x: Tensor, rotation: Rotation) -> Tensor:
    """Turn x (b, heads, s, e) by the rotation of its s positions."""
    cosines, sines = rotation
    half = x.shape[-1] // 2
    return torch.addcmul(x * cosines, x.roll(half, dims=-1), sines).to(x.dtype)
