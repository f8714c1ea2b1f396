"""The two feed-forward layers: plain (Vaswani et al. 2017, §3.3) and gated (Shazeer 2020)."""

from collections.abc import Callable

from torch import Tensor, nn

Activation = Callable[[Tensor], Tensor]


class FeedForward(nn.Module):
    """down(activation(up(x)))."""

    def __init__(self, d_model: int, d_ff: int, *, activation: Activation, bias: bool) -> None:
        super().__init__()
        self.up = nn.Linear(d_model, d_ff, bias=bias)
        self.down = nn.Linear(d_ff, d_model, bias=bias)
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.activation(self.up(x)))  # type: ignore[no-any-return]


class GatedFeedForward(nn.Module):
    """down(activation(gate(x)) * up(x)), with gate and up in one matrix, gate first."""

    def __init__(self, d_model: int, d_ff: int, *, activation: Activation, bias: bool) -> None:
        super().__init__()
        self.gate_up = nn.Linear(d_model, 2 * d_ff, bias=bias)
        self.down = nn.Linear(d_ff, d_model, bias=bias)
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        return self.down(self.activation(gate) * up)  # type: ignore[no-any-return]
