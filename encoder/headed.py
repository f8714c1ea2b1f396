"""An encoder with a head: what every head's training and file have in common.

A head that learned beside an adapter is one small file, adapter.safetensors, and needs its base.
One that learned with the whole encoder is a folder: the encoder's own checkpoint, and
head.safetensors.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from encoder import checkpoint as encoders
from encoder.checkpoint import EncoderCheckpoint
from encoder.model import Encoder
from encoder.rows import padded
from transformer import checkpoint, lora, processes, runtime
from transformer.errors import CheckpointError, TrainingError
from transformer.lora import LoraConfig
from transformer.packed import pack

ADAPTER, HEAD, ENCODER = "adapter.safetensors", "head.safetensors", "encoder"


class Headed(nn.Module):
    """Token ids to whatever the head makes of their contextual vectors."""

    def __init__(self, encoder: Encoder, head: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.head(self.encoder(tokens, mask), mask)  # type: ignore[no-any-return]

    def read(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """What `forward` makes of rows of ids, wherever the model is."""
        tokens, mask = padded(rows, self.encoder.config.pad_id)
        device = self.encoder.embedding.weight.device
        output: Tensor = self(tokens.to(device), None if mask is None else mask.to(device))
        return output


@dataclass(frozen=True, slots=True)
class Restored:
    """What was saved, with the adapter folded into the encoder."""

    base: EncoderCheckpoint
    head: Mapping[str, Tensor]
    note: Mapping[str, Any]


def opened(base: Path | EncoderCheckpoint) -> EncoderCheckpoint:
    """A base that may be trained or folded into: read anew, or a copy of what was handed over."""
    if isinstance(base, Path):
        return encoders.load(base)
    return replace(base, model=copy.deepcopy(base.model).float())


def begin(
    base: EncoderCheckpoint, head: nn.Module, adapter: LoraConfig | None, rng: torch.Generator
) -> Headed:
    """The model to train: all of it, or an adapter and the head alone."""
    _draw(head, rng)
    if adapter is None:
        base.model.requires_grad_(True)
    else:
        lora.attach(base.model, adapter, rng=rng)
    return Headed(base.model, head)


def require_free(folder: Path) -> None:
    """Make sure that nothing is overwritten.

    Raises:
        TrainingError: something is trained there already.
    """
    done = [name for name in (ADAPTER, ENCODER) if (folder / name).exists()]
    if done:
        raise TrainingError(
            f"{folder} holds a finished model ({', '.join(done)}), and nothing is overwritten: "
            "give another folder, or move it away"
        )


def save(
    model: Headed,
    folder: Path,
    adapter: LoraConfig | None,
    *,
    base: EncoderCheckpoint,
    note: Mapping[str, Any],
) -> None:
    """Write what was trained; of several processes that trained it, the first one does.

    Raises:
        TrainingError: a finished model is there.
    """
    fellows = processes.joined()
    if fellows.first:
        require_free(folder)
        folder.mkdir(parents=True, exist_ok=True)
        head = {name: p.detach().float() for name, p in model.head.named_parameters()}
        if adapter is not None:
            file = folder / ADAPTER
            lora.save(model.encoder, file, base=base.fingerprint, note=note, extra=head)
        else:  # the encoder last: with it the model is whole
            checkpoint.write_tensors(folder / HEAD, head, note=note)
            encoders.save(replace(base, model=model.encoder), folder / ENCODER)
    fellows.told(None)


def is_whole(path: Path) -> bool:
    """Whether what is saved there brings its own encoder."""
    return _adapter_file(path) is None


def size(path: Path) -> int:
    """Bytes of what is saved there, the run that made it not counted."""
    if not is_whole(path):
        return (_adapter_file(path) or path).stat().st_size
    return sum(file.stat().st_size for file in [path / HEAD, *(path / ENCODER).iterdir()])


def note_of(path: Path) -> Mapping[str, Any]:
    """The note that a head was saved with, by its folder or its file.

    Raises:
        CheckpointError: nothing is there, or it is damaged.
    """
    adapter = _adapter_file(path)
    if adapter is not None:
        return lora.read(adapter).note
    return checkpoint.read_tensors(_head_file(path))[1]


def restore(path: Path, base: Path | EncoderCheckpoint | None, *, kind: str) -> Restored:
    """Read what `save` wrote.

    Args:
        path: its folder, or the adapter's file
        base: that an adapter belongs to; what was trained whole brings its own
        kind: that the note must be of

    Raises:
        CheckpointError: it is missing, damaged, of another kind, or made for another base.
    """
    adapter = _adapter_file(path)
    if adapter is None:
        head, note = checkpoint.read_tensors(_head_file(path))
        _require_kind(path, note, kind)
        return Restored(encoders.load(path / ENCODER), head, note)
    read = lora.read(adapter)
    _require_kind(path, read.note, kind)
    if base is None:
        raise CheckpointError(f"{path} is an adapter for the model {read.base}: name that model")
    loaded = opened(base)
    lora.load(loaded.model, read, base=loaded.fingerprint)
    lora.merge(loaded.model)
    return Restored(loaded, read.extra, read.note)


def for_inference(restored: Restored, head: nn.Module, dtype: torch.dtype | None) -> Headed:
    """The model laid out to answer fast; it can no longer be trained or saved.

    Args:
        restored: its encoder is changed in place
        head: takes the saved values, and stays in float32
        dtype: of the encoder; None takes bfloat16 where that is faster here

    Raises:
        CheckpointError: the head's values are of another shape.
    """
    with torch.no_grad():
        checkpoint.fill(head, restored.head.items(), source=Path("the head"))
    encoder = restored.base.model.to(dtype or runtime.fast_dtype()).requires_grad_(False)
    pack(encoder)
    return Headed(encoder, head.requires_grad_(False)).eval()


def _draw(head: nn.Module, rng: torch.Generator) -> None:
    """Initial values from `rng`, small enough that a head begins near indifference."""
    for parameter in head.parameters():
        with torch.no_grad():
            if parameter.ndim > 1:
                parameter.copy_(torch.randn(parameter.shape, generator=rng) * 0.02)
            else:
                parameter.zero_()


def _adapter_file(path: Path) -> Path | None:
    if path.is_file():
        return path
    file = path / ADAPTER
    return file if file.is_file() else None


def _head_file(path: Path) -> Path:
    file = path / HEAD
    if not file.is_file():
        raise CheckpointError(
            f"{path} holds neither {ADAPTER} nor {HEAD}: nothing trained is there"
        )
    return file


def _require_kind(path: Path, note: Mapping[str, Any], kind: str) -> None:
    if note.get("kind") != kind:
        raise CheckpointError(f"{path} holds a {note.get('kind')!r}, not a {kind}")
