"""A checkpoint is a folder: config.json, model.safetensors, tokenizer.json.

Ours carry `"format": "attest"` and the parameter names of our modules. Other people's are read
through `transformer.foreign`. Weights come from safetensors and GGUF, never from pickle.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load as load_bytes
from safetensors.torch import save as save_bytes
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from transformer.errors import CheckpointError
from transformer.tokenizer import Tokenizer

CONFIG, WEIGHTS, TOKENIZER = "config.json", "model.safetensors", "tokenizer.json"
FORMAT = "attest"

Tensors = Iterable[tuple[str, Tensor]]


class Weights:
    """The tensors of a checkpoint, read one at a time: a large model is never held twice."""

    def __init__(self, source: Path, names: Iterable[str], read: Callable[[str], Tensor]) -> None:
        self.source = source
        self.names = frozenset(names)
        self._read = read

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> Tensor:
        if name not in self.names:
            raise CheckpointError(f"{self.source} holds no tensor {name!r}")
        return self._read(name)

    def items(self) -> Iterator[tuple[str, Tensor]]:
        """Every tensor by its own name, in name order."""
        for name in sorted(self.names):
            yield name, self._read(name)


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file.

    Raises:
        CheckpointError: it is missing, not JSON, or not an object.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise CheckpointError(f"{path} is missing") from error
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from error
    if not isinstance(value, dict):
        raise CheckpointError(f"{path} must hold a JSON object")
    return value


def open_weights(folder: Path) -> Weights:
    """The safetensors of a folder, in one file or in shards with an index.

    Raises:
        CheckpointError: none is there (a pickle beside it is not read), or one is damaged.
    """
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        pickled = [p.name for p in folder.glob("*.bin")] + [p.name for p in folder.glob("*.pt")]
        hint = f"; {', '.join(pickled)} may run code and is never read" if pickled else ""
        raise CheckpointError(f"{folder} holds no safetensors weights{hint}")
    owner = {name: file for file in files for name in _names(file)}

    def read(name: str) -> Tensor:
        with safe_open(owner[name], framework="pt") as opened:
            tensor: Tensor = opened.get_tensor(name)
        return tensor

    return Weights(folder, owner, read)


def _names(file: Path) -> list[str]:
    try:
        with safe_open(file, framework="pt") as opened:
            return list(opened.keys())
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{file} is damaged or not safetensors: {error}") from error


Place = Callable[[nn.Module, str, Tensor], None]

# Narrower ones come with scales in tensors of their own, which differ from tool to tool.
_DENSE = frozenset({torch.float64, torch.float32, torch.bfloat16, torch.float16})


def set_parameter(module: nn.Module, name: str, tensor: Tensor) -> None:
    """Make `tensor` the parameter `name` of a module that may still live on the meta device."""
    owner_name, _, leaf = name.rpartition(".")
    setattr(module.get_submodule(owner_name), leaf, nn.Parameter(tensor))


def fill(
    module: nn.Module, tensors: Tensors, *, source: Path, place: Place = set_parameter
) -> None:
    """Give every parameter of `module` its value, exactly once.

    Args:
        module: typically built on the meta device
        tensors: (parameter name, value)
        source: where they come from, for messages
        place: puts one value in its place; may convert or quantise it

    Raises:
        CheckpointError: a name, shape or number format does not fit, or a parameter stays without
            value.
    """
    wanted = {name: tuple(p.shape) for name, p in module.named_parameters()}
    for name, tensor in tensors:
        if name not in wanted:
            raise CheckpointError(f"{source}: unexpected or repeated tensor {name!r}")
        shape = wanted.pop(name)
        if tuple(tensor.shape) != shape:
            raise CheckpointError(
                f"{source}: {name} has shape {tuple(tensor.shape)}, the config asks for {shape}"
            )
        if tensor.dtype not in _DENSE:
            raise CheckpointError(
                f"{source}: {name} is stored as {tensor.dtype}; only float weights of 16 bits or "
                "more are read"
            )
        place(module, name, tensor)
    if wanted:
        first = ", ".join(sorted(wanted)[:5])
        raise CheckpointError(f"{source}: no value for {len(wanted)} parameters, first {first}")


def save(
    folder: Path, *, config: Mapping[str, Any], module: nn.Module, tokenizer: Tokenizer
) -> None:
    """Write a checkpoint of a module; as `write` does.

    Raises:
        CheckpointError: `folder` exists; a checkpoint is never overwritten.
    """
    tensors = {name: p.detach().contiguous() for name, p in module.named_parameters()}
    write(folder, config=config, tensors=tensors, tokenizer=tokenizer.to_json())


def write(
    folder: Path, *, config: Mapping[str, Any], tensors: dict[str, Tensor], tokenizer: str
) -> None:
    """Write a checkpoint aside, flush it, and rename it into place.

    Args:
        folder: to be made
        config: all that config.json holds, but for the name of the format
        tensors: contiguous, by the parameter names of our modules
        tokenizer: the tokenizer.json

    Raises:
        CheckpointError: `folder` exists; a checkpoint is never overwritten.
    """
    if folder.exists():
        raise CheckpointError(f"{folder} exists; give another folder or move it away")
    aside = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    shutil.rmtree(aside, ignore_errors=True)  # of a killed process that had the same number
    aside.mkdir(parents=True)
    try:
        text = json.dumps(
            {"format": FORMAT, **config}, indent=2, sort_keys=True, ensure_ascii=False
        )
        (aside / CONFIG).write_bytes(f"{text}\n".encode())  # as bytes: the same on every system
        (aside / TOKENIZER).write_bytes(tokenizer.encode())
        save_file(tensors, aside / WEIGHTS)
        for file in aside.iterdir():
            _flush(file)
        aside.rename(folder)
    except SafetensorError as error:  # a full disk, as the library tells of it
        raise OSError(f"{folder} cannot be written: {error}") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def write_tensors(file: Path, tensors: Mapping[str, Tensor], *, note: Mapping[str, Any]) -> None:
    """Write tensors with a note of anything that JSON holds: aside, flushed, renamed into place."""
    aside = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    whole = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    try:
        save_file(whole, aside, metadata={"note": json.dumps(note)})
        _flush(aside)
        aside.replace(file)
    except SafetensorError as error:  # a full disk, as the library tells of it
        raise OSError(f"{file} cannot be written: {error}") from error
    finally:
        aside.unlink(missing_ok=True)


def read_tensors(file: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What `write_tensors` wrote.

    Raises:
        CheckpointError: the file is damaged, or was written by something else.
    """
    try:
        with safe_open(file, framework="pt") as opened:
            note = json.loads(opened.metadata()["note"])
            return {name: opened.get_tensor(name) for name in opened.keys()}, note  # noqa: SIM118
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{file} is damaged or not of this kind: {error}") from error


def tensors_to_bytes(tensors: Mapping[str, Tensor], *, note: Mapping[str, Any]) -> bytes:
    """What `write_tensors` would write, for whoever keeps it elsewhere."""
    whole = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    return save_bytes(whole, metadata={"note": json.dumps(note)})


def tensors_from_bytes(content: bytes, *, where: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What `tensors_to_bytes` gave.

    Args:
        content: a safetensors file
        where: it comes from, for messages

    Raises:
        CheckpointError: it is damaged, or was written by something else.
    """
    try:
        tensors = load_bytes(content)
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        return tensors, json.loads(header["__metadata__"]["note"])
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{where} is damaged or not of this kind: {error}") from error


def write_whole(file: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all: aside, flushed, renamed into place."""
    aside = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        aside.write_bytes(content)
        _flush(aside)
        aside.replace(file)
    finally:
        aside.unlink(missing_ok=True)


def _flush(file: Path) -> None:
    with file.open("rb+") as opened:
        os.fsync(opened.fileno())


def fingerprint(config: Mapping[str, Any], weights: Iterable[Path], tokenizer: Tokenizer) -> str:
    """What a model is: 16 hex digits of the hash of its config, weights and tokenizer.

    The config must hold everything that moves a vector: prefixes, pooling, limits.
    """
    digest = hashlib.sha256(json.dumps(dict(config), sort_keys=True).encode())
    digest.update(tokenizer.to_json().encode())
    for path in sorted(weights):
        with path.open("rb") as opened:
            digest.update(hashlib.file_digest(opened, "sha256").digest())
    return digest.hexdigest()[:16]


@contextmanager
def on_meta() -> Iterator[None]:
    """Modules made inside have shapes but no values: `fill` gives them."""
    with torch.device("meta"), _NoInitialValues():
        yield


class _NoInitialValues(TorchFunctionMode):
    """Passes over initialisation: drawing values that are nowhere makes torch load its compiler."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        named = kwargs or {}
        if getattr(func, "__module__", None) == nn.init.__name__:
            return named["tensor"] if "tensor" in named else args[0]
        return func(*args, **named)
