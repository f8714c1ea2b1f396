"""AdamW over float32 copies of the weights, while the model computes in a narrower format.

A bfloat16 weight of 1 does not move by less than 1/128, so that small steps would be lost
(Micikevicius et al. 2018, §3.1). The copies take the steps; the model gets them rounded.

All copies lie in two long vectors, one that decays and one that does not: a step is then a handful
of passes over memory, however many layers there are, and so is averaging over processes.
"""

import math
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn

from transformer.errors import TrainingError

_KEYS = ("exp_avg", "exp_avg_sq")  # the two running means, as torch names them


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
        matrices = [n for n, p in self.trained.items() if p.ndim > 1]
        vectors = [n for n, p in self.trained.items() if p.ndim <= 1]
        self._names = [names for names in (matrices, vectors) if names]
        self._flat = [self._copies(names) for names in self._names]
        self.masters = dict(self._by_name(self._flat))
        self._gradients = dict(self._by_name(self.gradients))
        self._collected = False
        groups = [
            {"params": [flat], "weight_decay": weight_decay if names is matrices else 0.0}
            for names, flat in zip(self._names, self._flat, strict=True)
        ]
        self._adam = torch.optim.AdamW(groups, lr=learning_rate, betas=betas, fused=True)

    def _copies(self, names: list[str]) -> Tensor:
        flat = torch.cat([self.trained[n].detach().float().flatten() for n in names])
        flat.grad = torch.zeros_like(flat)
        return flat

    def _by_name(self, flats: list[Tensor]) -> Iterator[tuple[str, Tensor]]:
        """The parts of long vectors, in the shapes of the parameters that they belong to."""
        for names, flat in zip(self._names, flats, strict=True):
            parts = torch.split(flat, [self.trained[n].numel() for n in names])
            for name, part in zip(names, parts, strict=True):
                yield name, part.view(self.trained[name].shape)

    @property
    def gradients(self) -> list[Tensor]:
        """What has been collected so far: float32, a long vector or two."""
        return [_grad(flat) for flat in self._flat]

    @property
    def vectors(self) -> list[Tensor]:
        """All that the next step follows from, but for the count of steps: to be copied over."""
        means = [self._adam.state[flat][key] for flat in self._flat for key in self._present(flat)]
        return [*self._flat, *means]

    def _present(self, flat: Tensor) -> list[str]:
        return [key for key in _KEYS if key in self._adam.state[flat]]

    @torch.no_grad()
    def collect(self) -> None:
        """Add the model's gradients to what is collected, and clear them."""
        for name, parameter in self.trained.items():
            collected = self._gradients[name]
            if parameter.grad is None:
                if not self._collected:
                    collected.zero_()
            elif self._collected:
                collected.add_(parameter.grad)
            else:  # one pass over memory less than clearing and adding
                collected.copy_(parameter.grad)
            parameter.grad = None
        self._collected = True

    @torch.no_grad()
    def step(self, learning_rate: float, *, clip: float, share: float = 1.0) -> float:
        """Take one step with what was collected, times `share`; its norm before clipping.

        A gradient that is no number moves nothing: the caller sees it by its norm.
        """
        if not self._collected:
            raise ValueError("no gradient was collected for this step")
        self._collected = False
        norm = share * math.hypot(*(float(torch.linalg.vector_norm(g)) for g in self.gradients))
        if not math.isfinite(norm):
            return norm
        share *= min(1.0, clip / (norm + 1e-6))
        if share != 1:
            for gradient in self.gradients:
                gradient.mul_(share)
        for group in self._adam.param_groups:
            group["lr"] = learning_rate
        self._adam.step()
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
        for key in _KEYS:
            if all(key in self._adam.state[flat] for flat in self._flat):
                means = [self._adam.state[flat][key] for flat in self._flat]
                saved |= {f"{key}/{name}": view for name, view in self._by_name(means)}
        return saved

    def restore(self, tensors: Mapping[str, Tensor], *, steps: int) -> None:
        """Take what `tensors` gave behind so many steps, and go on from there.

        Raises:
            TrainingError: they are of a model of another shape; nothing is changed.
        """
        keys = ("master", *_KEYS) if steps else ("master",)
        for name, master in self.masters.items():
            for key in keys:
                _require_shape(f"{key}/{name}", tensors.get(f"{key}/{name}"), master)
        of_model = {n.partition("/")[2] for n in tensors if n.startswith("master/")}
        if strangers := of_model - self.masters.keys():
            raise TrainingError(
                f"the saved run trains {min(strangers)}, which this model does not train: "
                "give the model that it began with, or another folder"
            )
        self.prepare(steps)
        with torch.no_grad():
            for name, master in self.masters.items():
                master.copy_(tensors[f"master/{name}"])
            for key in keys[1:]:
                means = [self._adam.state[flat][key] for flat in self._flat]
                for name, view in self._by_name(means):
                    view.copy_(tensors[f"{key}/{name}"])
        self.publish(self.masters)

    def prepare(self, steps: int) -> None:
        """Make room for the running means of a run that has taken so many steps."""
        for flat in self._flat if steps else ():
            count = torch.tensor(float(steps), device=flat.device)  # as the fused kernel wants it
            means = {key: torch.zeros_like(flat) for key in _KEYS}
            self._adam.state[flat] = {"step": count, **means}


def _require_shape(name: str, found: Tensor | None, wanted: Tensor) -> None:
    shape = None if found is None else tuple(found.shape)
    if shape != tuple(wanted.shape):
        has = "lacks it" if shape is None else f"holds it as {shape}"
        raise TrainingError(
            f"{name}: the model's shape is {tuple(wanted.shape)}, the saved run {has}; give the "
            "model that the run began with, or another folder"
        )


def _grad(master: Tensor) -> Tensor:
    assert master.grad is not None
    return master.grad
