"""A generator from a folder in our own or the Hugging Face layout, or from a GGUF file."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from generator import chat
from generator.chat import ChatFormat
from generator.config import GeneratorConfig
from generator.model import Generator
from generator.precision import Precision, placing
from transformer import checkpoint, lora, low_rank, packaged
from transformer.checkpoint import Tensors
from transformer.errors import CheckpointError
from transformer.foreign import gguf, gpt2, llama
from transformer.lora import Adapter
from transformer.low_rank import LowRankLinear
from transformer.quantize import QuantizedLinear
from transformer.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class GeneratorCheckpoint:
    """A loaded generator with all that belongs to it."""

    model: Generator
    tokenizer: Tokenizer
    chat: ChatFormat
    fingerprint: str
    parameters: int
    grounded: bool = False  # with an adapter: it answers in the form that it was taught


@dataclass(frozen=True, slots=True)
class _Source:
    """A checkpoint whose tensors have not been read yet."""

    config: GeneratorConfig
    tokenizer: Tokenizer
    chat: ChatFormat
    tensors: Tensors
    fingerprint: str


PACKAGED = Path(__file__).parent / "adapters"  # that come with the product

Adapters = Path | Literal["packaged"] | None


def load(path: Path, precision: Precision, *, adapter: Adapters = None) -> GeneratorCheckpoint:
    """Read a generator, one tensor at a time; what is quantised is never whole in float32.

    Args:
        path: a folder with safetensors, a .gguf file, or a folder that holds one
        precision: of the matrices; "int4" takes 8 bits where a shape does not fit. Norms stay
            float32, embeddings take the processor's fast format
        adapter: is put beside the weights, which stay as they are; "packaged" takes the one that
            comes with the product for this very model, if there is one

    Raises:
        CheckpointError: something is missing, damaged, or of a kind that is not read, or the
            adapter was made for another model.
    """
    source = _open(path)
    found = _adapter(adapter, source)
    with checkpoint.on_meta():
        model = Generator(source.config)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    tensors = source.tensors
    if source.config.tied:  # some files hold the matrix a second time
        tensors = ((name, tensor) for name, tensor in tensors if name != "head.weight")
    checkpoint.fill(model, tensors, source=path, place=placing(precision))
    if found is not None:
        low_rank.attach(model, found)
    return GeneratorCheckpoint(
        model.eval(),
        source.tokenizer,
        source.chat,
        source.fingerprint if found is None else lora.fingerprint(found),
        parameters,
        grounded=found is not None,
    )


def save(loaded: GeneratorCheckpoint, folder: Path) -> None:
    """Write a generator of precision fp32 in our own layout.

    Raises:
        CheckpointError: `folder` exists.
        ValueError: the generator was quantised as it was loaded, or has an adapter beside it.
    """
    if any(isinstance(module, LowRankLinear) for module in loaded.model.modules()):
        raise ValueError("a generator with an adapter beside it cannot be saved: load it without")
    if any(isinstance(module, QuantizedLinear) for module in loaded.model.modules()):
        raise ValueError("a quantised generator cannot be saved; load it with precision fp32")
    config = {
        "kind": "generator",
        "generator": asdict(loaded.model.config),
        "chat": asdict(loaded.chat),
    }
    checkpoint.save(folder, config=config, module=loaded.model, tokenizer=loaded.tokenizer)


def _adapter(asked: Adapters, source: _Source) -> Adapter | None:
    match asked:
        case None:
            return None
        case "packaged":
            return packaged.find(source.fingerprint, PACKAGED)
        case file:
            adapter = lora.read(file)
    if adapter.base != source.fingerprint:
        raise CheckpointError(
            f"the adapter {file} was made for the model {adapter.base}, this one is "
            f"{source.fingerprint}: load that model, or train an adapter for this one"
        )
    return adapter


def _open(path: Path) -> _Source:
    if (file := _gguf_file(path)) is not None:
        return _from_gguf(file)
    raw = checkpoint.read_json(path / checkpoint.CONFIG)
    tokenizer = Tokenizer.load(path / checkpoint.TOKENIZER)
    weights = checkpoint.open_weights(path)
    if raw.get("format") == checkpoint.FORMAT:
        config, talk = _own(raw, path)
        tensors: Tensors = weights.items()
    else:
        read, stream = _foreign(raw, path)
        config = _config(lambda: read(raw), path)
        talk = chat.from_folder(path, tokenizer)
        tensors = stream(weights, config.n_layers)
    described = {"generator": asdict(config), "chat": asdict(talk)}
    mark = checkpoint.fingerprint(described, path.glob("*.safetensors"), tokenizer)
    return _source(config, tokenizer, talk, tensors, mark, path)


def _from_gguf(path: Path) -> _Source:
    file = gguf.GGUFFile(path)
    settings = gguf.config(file)
    config = _config(lambda: settings, path)
    try:
        tokenizer = gguf.tokenizer(file)
    except KeyError as error:
        raise CheckpointError(f"{path}: metadata lacks {error}") from error
    with path.open("rb") as opened:
        mark = hashlib.file_digest(opened, "sha256").hexdigest()[:16]
    talk = chat.from_gguf(file, tokenizer)
    return _source(config, tokenizer, talk, gguf.tensors(file, settings), mark, path)


def _source(
    config: GeneratorConfig,
    tokenizer: Tokenizer,
    talk: ChatFormat,
    tensors: Tensors,
    mark: str,
    path: Path,
) -> _Source:
    if tokenizer.size > config.vocab_size:
        raise CheckpointError(
            f"{path}: the tokenizer has {tokenizer.size} tokens, the model only "
            f"{config.vocab_size}; they do not belong together"
        )
    return _Source(config, tokenizer, talk, tensors, mark)


def _gguf_file(path: Path) -> Path | None:
    """The GGUF file that a path means; None where it means a folder of another layout."""
    if path.is_file():
        if path.suffix != ".gguf":
            raise CheckpointError(f"{path} is neither a .gguf file nor a model's folder")
        return path
    if not path.is_dir():
        raise CheckpointError(f"{path} does not exist")
    found = sorted(path.glob("*.gguf"))
    if not found or any(path.glob("*.safetensors")):
        return None
    if len(found) > 1:
        names = ", ".join(file.name for file in found)
        raise CheckpointError(f"{path} holds {len(found)} GGUF files ({names}); name one of them")
    return found[0]


def _own(raw: Mapping[str, Any], folder: Path) -> tuple[GeneratorConfig, ChatFormat]:
    if raw.get("kind") != "generator":
        raise CheckpointError(f"{folder} holds a model of kind {raw.get('kind')!r}, no generator")
    talk = dict(raw.get("chat", {}))
    talk["ends"] = tuple(talk.get("ends", ()))
    config = _built(GeneratorConfig, raw.get("generator", {}), "generator", folder)
    return config, _built(ChatFormat, talk, "chat", folder)


_Reader = Callable[[Mapping[str, Any]], dict[str, Any]]
_Stream = Callable[[checkpoint.Weights, int], Tensors]


def _foreign(raw: Mapping[str, Any], folder: Path) -> tuple[_Reader, _Stream]:
    kind = raw.get("model_type")
    for layout in (llama, gpt2):
        if kind in layout.MODEL_TYPES:
            return layout.config, layout.tensors
    known = ", ".join(sorted((*llama.MODEL_TYPES, *gpt2.MODEL_TYPES)))
    raise CheckpointError(f"{folder}: model_type {kind!r}; read are {known}")


def _config(read: Callable[[], dict[str, Any]], path: Path) -> GeneratorConfig:
    try:
        values = read()
    except KeyError as error:
        raise CheckpointError(f"{path}: config.json lacks {error}") from error
    if absent := [name for name, value in values.items() if value is None]:
        raise CheckpointError(f"{path} does not say {', '.join(absent)}")
    built: GeneratorConfig = _built(GeneratorConfig, values, "generator", path)
    return built


def _built(kind: type[Any], values: Mapping[str, Any], key: str, path: Path) -> Any:
    if unknown := set(values) - {field.name for field in fields(kind)}:
        raise CheckpointError(f"{path}: unknown {key} settings: {', '.join(sorted(unknown))}")
    try:
        return kind(**values)
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{path}: {key} settings: {error}") from error
