"""An encoder from a folder: our own layout, or a sentence-transformers export of BERT or XLM-R."""

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from encoder import pooling
from encoder.config import EmbeddingConfig, EncoderConfig, Pooling, settings
from encoder.model import Encoder
from transformer import checkpoint
from transformer.errors import CheckpointError
from transformer.foreign import bert
from transformer.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class EncoderCheckpoint:
    """A loaded encoder with all that belongs to it."""

    model: Encoder
    tokenizer: Tokenizer
    embedding: EmbeddingConfig
    fingerprint: str


def load(folder: Path, *, dtype: torch.dtype = torch.float32) -> EncoderCheckpoint:
    """Read an encoder.

    Args:
        folder: a checkpoint
        dtype: of every parameter; weights that are stored in it are not copied

    Raises:
        CheckpointError: something is missing, damaged, or of a kind that is not read.
    """
    raw = checkpoint.read_json(folder / checkpoint.CONFIG)
    tokenizer = Tokenizer.load(folder / checkpoint.TOKENIZER)
    weights = checkpoint.open_weights(folder)
    if raw.get("format") == checkpoint.FORMAT:
        config, embedding = _own(raw, folder)
        tensors = weights.items()
    elif raw.get("model_type") in bert.MODEL_TYPES:
        config, embedding = _foreign(raw, folder)
        tensors = bert.tensors(weights, config.n_layers)
    else:
        known = ", ".join(bert.MODEL_TYPES)
        raise CheckpointError(f"{folder}: model_type {raw.get('model_type')!r}; read are {known}")
    model = _empty(config, embedding, folder)

    def place(module: nn.Module, name: str, tensor: Tensor) -> None:
        checkpoint.set_parameter(module, name, tensor.to(dtype))

    checkpoint.fill(model, tensors, source=folder, place=place)
    described = {"encoder": settings(config), "embedding": settings(embedding)}
    mark = checkpoint.fingerprint(described, folder.glob("*.safetensors"), tokenizer)
    return EncoderCheckpoint(model.eval(), tokenizer, embedding, mark)


def save(loaded: EncoderCheckpoint, folder: Path) -> None:
    """Write an encoder in our own layout, with what its pooling learned.

    Raises:
        CheckpointError: `folder` exists.
    """
    pooling.fit(loaded.model, loaded.embedding)
    config = {
        "kind": "encoder",
        "encoder": settings(loaded.model.config),
        "embedding": settings(loaded.embedding),
    }
    checkpoint.save(folder, config=config, module=loaded.model, tokenizer=loaded.tokenizer)


def _empty(config: EncoderConfig, embedding: EmbeddingConfig, folder: Path) -> Encoder:
    try:
        with checkpoint.on_meta():
            model = Encoder(config)
            pooling.fit(model, embedding)
            return model
    except ValueError as error:
        raise CheckpointError(f"{folder}: {error}") from error


def _own(raw: dict[str, Any], folder: Path) -> tuple[EncoderConfig, EmbeddingConfig]:
    if raw.get("kind") != "encoder":
        raise CheckpointError(f"{folder} holds a model of kind {raw.get('kind')!r}, not an encoder")
    config: EncoderConfig = _build(EncoderConfig, raw.get("encoder"), folder)
    embedding: EmbeddingConfig = _build(EmbeddingConfig, raw.get("embedding"), folder)
    for name, own in (("max_tokens", config.max_tokens), ("dimensions", config.d_model)):
        if (asked := getattr(embedding, name)) is not None and asked > own:
            raise CheckpointError(
                f"{folder}: the embedding's {name} ({asked}) is over the encoder's ({own})"
            )
    return config, embedding


def _foreign(raw: dict[str, Any], folder: Path) -> tuple[EncoderConfig, EmbeddingConfig]:
    try:
        settings = bert.config(raw)
    except KeyError as error:
        raise CheckpointError(f"{folder}: config.json lacks {error}") from error
    config = _build(EncoderConfig, settings, folder)
    return config, _sentence_transformers(folder, config)


def _build(kind: type[Any], settings: Any, folder: Path) -> Any:
    if not isinstance(settings, dict):
        raise CheckpointError(f"{folder}: config.json holds no settings for {kind.__name__}")
    if unknown := set(settings) - {field.name for field in fields(kind)}:
        names = ", ".join(sorted(unknown))
        raise CheckpointError(f"{folder}: unknown settings of {kind.__name__}: {names}")
    try:
        return kind(**settings)
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{folder}: {error}") from error


def _sentence_transformers(folder: Path, config: EncoderConfig) -> EmbeddingConfig:
    """What sentence-transformers stores beside the weights; mean over all places without."""
    pipeline = folder / "modules.json"
    if pipeline.is_file():
        _refuse_other_modules(pipeline)
    limits = [
        _optional(folder / "sentence_bert_config.json").get("max_seq_length"),
        _optional(folder / "tokenizer_config.json").get("model_max_length"),
    ]
    prompts = _optional(folder / "config_sentence_transformers.json").get("prompts") or {}
    how = _pooling(folder / "1_Pooling" / "config.json")
    try:
        return EmbeddingConfig(
            max_tokens=min([config.max_tokens, *(int(limit) for limit in limits if limit)]),
            pooling=how,
            query_prefix=prompts.get("query", ""),
            document_prefix=prompts.get("document", prompts.get("passage", "")),
        )
    except (AttributeError, OverflowError, TypeError, ValueError) as error:
        raise CheckpointError(f"{folder}: a limit or prefix cannot be read: {error}") from error


def _optional(path: Path) -> dict[str, Any]:
    return checkpoint.read_json(path) if path.is_file() else {}


def _refuse_other_modules(path: Path) -> None:
    """A layer behind the pooling would change every vector, so it cannot be passed over."""
    try:
        modules = json.loads(path.read_text(encoding="utf-8"))
        kinds = {str(module["type"]).rpartition(".")[2] for module in modules}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from error
    if others := kinds - {"Transformer", "Pooling", "Normalize"}:
        raise CheckpointError(f"{path}: modules that are not read: {', '.join(sorted(others))}")


def _pooling(path: Path) -> Pooling:
    settings = _optional(path)
    old = [name for name, on in settings.items() if name.startswith("pooling_mode_") and on is True]
    match settings.get("pooling_mode", old):
        case "mean" | [] | ["pooling_mode_mean_tokens"]:
            return "mean"
        case "cls" | ["pooling_mode_cls_token"]:
            return "cls"
        case "max" | ["pooling_mode_max_tokens"]:
            return "max"
        case other:
            raise CheckpointError(f"{path}: pooling {other} is not read; mean, CLS and max are")
