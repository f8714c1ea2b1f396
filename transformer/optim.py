"""AdamW over float32 copies of the weights, while the model computes in a narrower format.

A bfloat16 weight of 1 does not move by less than 1/128, so that small steps would be lost
(Micikevicius et al. 2018, §3.1). The copies take the steps; the model gets them rounded.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn


class MasterAdamW:
    """AdamW (Loshchilov & Hutter 2019) on float32 copies of everything that is to be trained.

    Args:
        model: its parameters with requires_grad are trained, and take the new values at each step
        learning_rate: to begin with; `step` is given the one to use
        betas: decay of the two running means
        weight_decay: of matrices; gains, biases and single vectors are left alone
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        learning_rate: float,
        betas: tuple[float, float],
        weight_decay: float,
    ) -> None:
        self.trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
        if not self.trained:
            raise ValueError("nothing to train: no parameter of the model requires a gradient")
        self.masters = {n: p.detach().float().clone() for n, p in self.trained.items()}
        for master in self.masters.values():
            master.grad = torch.zeros_like(master)
        matrices = [m for m in self.masters.values() if m.ndim > 1]
        vectors = [m for m in self.masters.values() if m.ndim <= 1]
        groups = [
            {"params": matrices, "weight_decay": weight_decay},
            {"params": vectors, "weight_decay": 0.0},
        ]
        self._adam = torch.optim.AdamW(
            [group for group in groups if group["params"]], lr=learning_rate, betas=betas
        )

    @property
    def gradients(self) -> list[Tensor]:
        """What has been collected so far, float32."""
        return [_grad(master) for master in self.masters.values()]

    def collect(self, share: float = 1.0) -> None:
        """Add the model's gradients, times `share`, to what is collected, and clear them."""
        for name, parameter in self.trained.items():
            if parameter.grad is not None:
                _grad(self.masters[name]).add_(parameter.grad, alpha=share)
                parameter.grad = None

    def step(self, learning_rate: float, *, clip: float) -> float:
        """Take one step with what was collected; its norm before clipping."""
        norm = float(nn.utils.clip_grad_norm_(list(self.masters.values()), clip))
        for group in self._adam.param_groups:
            group["lr"] = learning_rate
        self._adam.step()
        for gradient in self.gradients:
            gradient.zero_()
        self.publish(self.masters)
        return norm

    @torch.no_grad()
    def publish(self, values: Mapping[str, Tensor]) -> None:
        """Give the model these values of what is trained."""
        for name, parameter in self.trained.items():
            parameter.copy_(values[name])

    def tensors(self) -> dict[str, Tensor]:
        """All that a resumed run needs: copies and running means, by name."""
        saved = {f"master/{name}": master for name, master in self.masters.items()}
        for name, master in self.masters.items():
            for key, value in self._adam.state[master].items():
                saved[f"{key}/{name}"] = value
        return saved

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Take what `tensors` gave and go on from there."""
        with torch.no_grad():
            for name, master in self.masters.items():
                master.copy_(tensors[f"master/{name}"])
                self._adam.state[master] = _moments(tensors, name)
        self.publish(self.masters)


def _grad(master: Tensor) -> Tensor:
    assert master.grad is not None
    return master.grad


def _moments(tensors: Mapping[str, Tensor], name: str) -> dict[str, Any]:
    keys: Iterable[str] = ("step", "exp_avg", "exp_avg_sq")
    return {key: tensors[f"{key}/{name}"].clone() for key in keys if f"{key}/{name}" in tensors}
