"""An adapter folded into the weights of its model while they are read.

No layer is there twice: what is quantised afterwards is the sum.
"""

from collections.abc import Iterator
from hashlib import sha256

import torch
from torch import Tensor

from transformer.checkpoint import Tensors
from transformer.errors import CheckpointError
from transformer.lora import Adapter


def merged(tensors: Tensors, adapter: Adapter) -> Iterator[tuple[str, Tensor]]:
    """The tensors of a model, those that the adapter changes with its addition, in float32.

    Raises:
        CheckpointError: at the layer that does not fit, or behind the last tensor: the adapter
            changes a layer that the model has not.
    """
    left = {name.rpartition(".")[0] for name in adapter.tensors}
    for name, tensor in tensors:
        layer = name.removesuffix(".weight")
        if name != layer and layer in left:
            left.discard(layer)
            yield name, _sum(tensor, adapter, layer)
        else:
            yield name, tensor
    if left:
        raise CheckpointError(f"the adapter changes {min(left)}, and the model has no such layer")


def _sum(weight: Tensor, adapter: Adapter, layer: str) -> Tensor:
    a, b = (adapter.tensors.get(f"{layer}.{side}") for side in "ab")
    shapes = tuple(None if t is None else tuple(t.shape) for t in (a, b))
    rank = 0 if a is None else a.shape[0]
    out, width = weight.shape
    if a is None or b is None or shapes != ((rank, width), (out, rank)):
        raise CheckpointError(
            f"the adapter's tensors of {layer} have shapes {shapes}, the model asks for "
            f"(r, {width}) and ({out}, r)"
        )
    return torch.addmm(weight.float(), b.float(), a.float(), alpha=adapter.scale)


def in_groups(adapter: Adapter, layer: str, group: int) -> bool:
    """Whether all columns of a group change alike, so that only the group's minimum moves."""
    a = adapter.tensors.get(f"{layer}.a")
    if a is None or a.shape[1] % group:
        return a is None
    grouped = a.reshape(a.shape[0], -1, group)
    return bool((grouped == grouped[..., :1]).all())


def fingerprint(adapter: Adapter) -> str:
    """Of the model with the adapter in it: 16 hex digits, other than those of its base."""
    digest = sha256(f"{adapter.base} {adapter.scale!r}".encode())
    for name, tensor in sorted(adapter.tensors.items()):
        digest.update(f"{name} {tuple(tensor.shape)}".encode())
        digest.update(tensor.float().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]
