"""BERT and XLM-R as Hugging Face lays them out."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from transformer.checkpoint import Weights
from transformer.errors import CheckpointError

MODEL_TYPES = ("bert", "roberta", "xlm-roberta")
_ACTIVATIONS = {  # by our names
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
}


def config(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The architecture of a config.json, by our field names.

    Raises:
        CheckpointError: positions or an activation of a kind that is not read.
        KeyError: a setting is missing.
    """
    if raw.get("position_embedding_type", "absolute") != "absolute":
        raise CheckpointError(
            f"position_embedding_type {raw['position_embedding_type']!r} is not read; "
            "only 'absolute' is"
        )
    if (activation := raw["hidden_act"]) not in _ACTIVATIONS:
        known = ", ".join(_ACTIVATIONS)
        raise CheckpointError(f"hidden_act {activation!r} is not read; {known} are")
    # RoBERTa counts positions from behind its padding id.
    pad_id = raw["pad_token_id"] or 0
    offset = 0 if raw["model_type"] == "bert" else pad_id + 1
    return {
        "vocab_size": raw["vocab_size"],
        "d_model": raw["hidden_size"],
        "n_layers": raw["num_hidden_layers"],
        "n_heads": raw["num_attention_heads"],
        "d_ff": raw["intermediate_size"],
        "max_tokens": raw["max_position_embeddings"] - offset,
        "position_offset": offset,
        "n_token_types": raw["type_vocab_size"],
        "activation": _ACTIVATIONS[activation],
        "norm_eps": raw["layer_norm_eps"],
        "pad_id": pad_id,
    }


def tensors(weights: Weights, n_layers: int) -> Iterator[tuple[str, Tensor]]:
    """Our parameters in order; query, key and value become one matrix."""
    names = weights.names
    prefix = next((p for p in ("bert.", "roberta.") if any(n.startswith(p) for n in names)), "")

    def get(name: str) -> Tensor:
        return weights[prefix + name]

    yield "embedding.weight", get("embeddings.word_embeddings.weight")
    yield "positions.weight", get("embeddings.position_embeddings.weight")
    yield "token_types.weight", get("embeddings.token_type_embeddings.weight")
    yield "embedding_norm.weight", get("embeddings.LayerNorm.weight")
    yield "embedding_norm.bias", get("embeddings.LayerNorm.bias")
    for i in range(n_layers):
        theirs, ours = f"encoder.layer.{i}", f"blocks.{i}"
        for leaf in ("weight", "bias"):
            parts = [get(f"{theirs}.attention.self.{n}.{leaf}") for n in ("query", "key", "value")]
            yield f"{ours}.attention.qkv.{leaf}", torch.cat(parts)
            for our_name, their_name in _REST.items():
                yield f"{ours}.{our_name}.{leaf}", get(f"{theirs}.{their_name}.{leaf}")


_REST = {
    "attention.out": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "feed_forward.up": "intermediate.dense",
    "feed_forward.down": "output.dense",
    "feed_forward_norm": "output.LayerNorm",
}
