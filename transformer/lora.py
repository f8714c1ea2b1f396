"""Low-rank adapters (Hu et al. 2021): a frozen model learns by a small addition to its matrices.

An adapter is a file of its own, made for one model and refused by every other.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer import checkpoint
from transformer.errors import CheckpointError

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_KIND = "lora"


@dataclass(frozen=True, slots=True)
class LoraConfig:
    """Which matrices get an addition, and of what rank."""

    rank: int = 16
    alpha: float = 32.0  # the addition counts alpha / rank times, so that rank may vary alone
    targets: tuple[str, ...] = ("qkv", "out", "up", "gate_up", "down")  # leaf names of layers
    last_layers: int | None = None  # only the last so many blocks of the model; None: all

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise ValueError(f"rank ({self.rank}) must be at least 1")
        if not (math.isfinite(self.alpha) and self.alpha > 0):
            raise ValueError(f"alpha ({self.alpha}) must be over 0")
        if not self.targets:
            raise ValueError("targets is empty: name at least one kind of layer, such as qkv")
        if self.last_layers is not None and self.last_layers < 1:
            raise ValueError(f"last_layers ({self.last_layers}) must be at least 1")


@dataclass(frozen=True, slots=True)
class Adapter:
    """What an adapter's file holds."""

    base: str  # fingerprint of the model that it was made for
    scale: float  # alpha / rank
    tensors: Mapping[str, Tensor]  # by the names that `state` gives
    extra: Mapping[str, Tensor]  # trained beside the adapter: a head, a pooler
    note: Mapping[str, Any]  # of whoever made it


class LoraLinear(nn.Module):
    """base(x) + scale * x aᵀ bᵀ.

    Args:
        base: stays as it is
        a: (r, in)
        b: (out, r); zeros leave the base's output as it is
        scale: how much the addition counts
    """

    def __init__(self, base: nn.Linear, a: Tensor, b: Tensor, *, scale: float) -> None:
        super().__init__()
        self.base = base
        self.a, self.b = nn.Parameter(a), nn.Parameter(b)
        self.scale = scale

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + self.scale * F.linear(F.linear(x, self.a), self.b)  # type: ignore[no-any-return]

    @torch.no_grad()
    def merged(self) -> nn.Linear:
        """One layer that computes the same. The base's own tensors are not written to."""
        weight = self.base.weight
        sum_ = weight.float() + self.scale * (self.b.float() @ self.a.float())
        linear = nn.Linear(weight.shape[1], weight.shape[0], bias=False, device="meta")
        linear.weight = nn.Parameter(sum_.to(weight.dtype), requires_grad=False)
        linear.bias = self.base.bias
        return linear


def attach(model: nn.Module, config: LoraConfig, *, rng: torch.Generator) -> None:
    """Freeze the model and give its target layers an adapter that changes nothing yet.

    Raises:
        ValueError: no layer has a target's name, or the model carries an adapter already.
    """
    _require_plain(model)
    chosen = list(_chosen(model, config))
    if not chosen:
        names = ", ".join(config.targets)
        raise ValueError(f"the model has no linear layer of the names {names}: set targets")
    model.requires_grad_(False)
    for name, linear in chosen:
        bound = 1 / math.sqrt(linear.in_features)
        a = torch.rand(config.rank, linear.in_features, generator=rng) * 2 * bound - bound
        b = torch.zeros(linear.out_features, config.rank)
        _put(model, name, linear, a, b, scale=config.alpha / config.rank)


def merge(model: nn.Module) -> None:
    """Fold every adapter into its layer; the model stays frozen until it is told otherwise."""
    for name, layer in list(_adapted(model)):
        _replace(model, name, layer.merged())


def state(model: nn.Module) -> dict[str, Tensor]:
    """The adapter's tensors by parameter name, such as `blocks.0.attention.qkv.a`."""
    tensors = {}
    for name, layer in _adapted(model):
        tensors[f"{name}.a"], tensors[f"{name}.b"] = layer.a.detach(), layer.b.detach()
    return tensors


def to_bytes(
    model: nn.Module,
    *,
    base: str,
    note: Mapping[str, Any] = _NOTHING,
    extra: Mapping[str, Tensor] = _NOTHING,
) -> bytes:
    """The adapter that a model carries, as a safetensors file.

    Args:
        model: with an adapter attached
        base: fingerprint of the model without it
        note: anything that JSON holds, given back by `load`
        extra: what was trained beside it, given back by `load`
    """
    tensors = {f"lora/{name}": tensor for name, tensor in state(model).items()}
    if not tensors:
        raise ValueError("the model carries no adapter to save")
    tensors |= {f"extra/{name}": tensor for name, tensor in extra.items()}
    (scale,) = {layer.scale for _, layer in _adapted(model)}
    about = {"kind": _KIND, "base": base, "scale": scale, "note": dict(note)}
    return checkpoint.tensors_to_bytes(tensors, note=about)


def save(
    model: nn.Module,
    file: Path,
    *,
    base: str,
    note: Mapping[str, Any] = _NOTHING,
    extra: Mapping[str, Tensor] = _NOTHING,
) -> None:
    """Write `to_bytes` to a file: aside, flushed, renamed into place."""
    checkpoint.write_whole(file, to_bytes(model, base=base, note=note, extra=extra))


def read(source: Path | bytes) -> Adapter:
    """An adapter on its own, not yet on any model.

    Raises:
        CheckpointError: it is missing, damaged, or no adapter.
    """
    where = "the adapter" if isinstance(source, bytes) else str(source)
    try:
        content = source if isinstance(source, bytes) else source.read_bytes()
    except OSError as error:
        raise CheckpointError(f"{where} cannot be read: {error}") from error
    tensors, about = checkpoint.tensors_from_bytes(content, where=where)
    try:
        if about["kind"] != _KIND:
            raise CheckpointError(f"{where} holds something of kind {about['kind']!r}, no adapter")
        base, scale, note = str(about["base"]), float(about["scale"]), dict(about["note"])
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{where} is no adapter that can be read: {error!r}") from error
    return Adapter(base, scale, _under(tensors, "lora/"), _under(tensors, "extra/"), note)


def load(model: nn.Module, source: Path | bytes | Adapter, *, base: str) -> Adapter:
    """Freeze the model and attach an adapter with the values that it was saved with.

    Args:
        model: that the adapter was made for
        source: a file, its content, or what `read` gave
        base: the model's fingerprint

    Raises:
        CheckpointError: the adapter was made for another model, or its tensors do not fit; the
            model is left as it was.
    """
    adapter = source if isinstance(source, Adapter) else read(source)
    if adapter.base != base:
        raise CheckpointError(
            f"the adapter was made for the model {adapter.base}, this one is {base}: "
            "load that model, or train an adapter for this one"
        )
    _require_plain(model)
    layers = dict(_linears(model))
    shapes = {name: (linear.out_features, linear.in_features) for name, linear in layers.items()}
    found = fitting(shapes, adapter)
    model.requires_grad_(False)
    for name, (a, b) in found.items():
        _put(model, name, layers[name], a, b, scale=adapter.scale)
    return adapter


def fingerprint(adapter: Adapter) -> str:
    """Of its model with the adapter: 16 hex digits, other than those of the model alone."""
    digest = sha256(f"{adapter.base} {adapter.scale!r}".encode())
    for name, tensor in sorted(adapter.tensors.items()):
        digest.update(f"{name} {tuple(tensor.shape)}".encode())
        digest.update(tensor.float().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


def fitting(
    shapes: Mapping[str, tuple[int, int]], adapter: Adapter
) -> dict[str, tuple[Tensor, Tensor]]:
    """The two tensors a (r, in) and b (out, r) of every layer that an adapter changes.

    Args:
        shapes: (out, in) of the layers that there are
        adapter: that may have been made for others

    Raises:
        CheckpointError: it changes a layer that is not there, or one of another shape.
    """
    fitting, left = {}, dict(adapter.tensors)
    for name in sorted({key.rpartition(".")[0] for key in adapter.tensors}):
        shape, a, b = shapes.get(name), left.pop(f"{name}.a", None), left.pop(f"{name}.b", None)
        if shape is None:
            raise CheckpointError(f"the adapter changes {name}, and the model has no such layer")
        rank = 0 if a is None or a.ndim != 2 else a.shape[0]
        wanted = (rank, shape[1]), (shape[0], rank)
        found = tuple(None if t is None else tuple(t.shape) for t in (a, b))
        if a is None or b is None or not rank or found != wanted:
            raise CheckpointError(
                f"the adapter's tensors of {name} have shapes {found}, the model asks for {wanted}"
            )
        fitting[name] = (a, b)
    if left or not fitting:
        names = ", ".join(sorted(left)) or "none at all"
        raise CheckpointError(f"the adapter holds tensors of no layer: {names}")
    return fitting


def _linears(model: nn.Module) -> Iterator[tuple[str, nn.Linear]]:
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear):
            yield name, module


def _chosen(model: nn.Module, config: LoraConfig) -> Iterator[tuple[str, nn.Linear]]:
    blocks = {name: place for name, _ in _linears(model) if (place := _block(name)) is not None}
    first = 0
    if config.last_layers is not None:
        first = max(blocks.values(), default=-1) + 1 - config.last_layers
    for name, linear in _linears(model):
        inside = config.last_layers is None or (name in blocks and blocks[name] >= first)
        if name.rpartition(".")[2] in config.targets and inside:
            yield name, linear


def _block(name: str) -> int | None:
    """The number of the block that a layer is in, of `blocks.3.attention.qkv` 3."""
    path = name.split(".")
    if "blocks" not in path:
        return None
    return int(path[path.index("blocks") + 1])


def _put(
    model: nn.Module, name: str, linear: nn.Linear, a: Tensor, b: Tensor, *, scale: float
) -> None:
    weight = linear.weight
    a, b = (tensor.to(weight.device, weight.dtype, copy=True) for tensor in (a, b))
    _replace(model, name, LoraLinear(linear, a, b, scale=scale))


def _replace(model: nn.Module, name: str, layer: nn.Module) -> None:
    owner, _, leaf = name.rpartition(".")
    setattr(model.get_submodule(owner), leaf, layer)


def _adapted(model: nn.Module) -> Iterator[tuple[str, LoraLinear]]:
    for name, module in model.named_modules():
        if isinstance(module, LoraLinear):
            yield name, module


def _require_plain(model: nn.Module) -> None:
    if any(True for _ in _adapted(model)):
        raise ValueError("the model carries an adapter already: merge it first")


def _under(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
