"""A model that computes in a narrower format for a while, and comes back unharmed."""

import torch
from torch import Tensor, nn


class Narrowed:
    """Moves a model to a device and a number format, and back to float32 on the processor.

    What is not trained comes back to the bit: rounding it there and back would lose half of it.
    """

    def __init__(self, model: nn.Module, device: torch.device, dtype: torch.dtype) -> None:
        self._model = model
        self._kept = {
            name: tensor.data
            for name, tensor in _tensors(model).items()
            if tensor.is_floating_point() and not tensor.requires_grad
        }
        model.to(device, dtype)

    def give_back(self) -> None:
        """The trained parameters keep the values that they have now."""
        self._model.to(torch.device("cpu"), torch.float32)
        for name, tensor in _tensors(self._model).items():
            if name in self._kept:
                tensor.data = self._kept[name].to("cpu", torch.float32)


def _tensors(model: nn.Module) -> dict[str, Tensor]:
    return dict(model.named_parameters()) | dict(model.named_buffers())
