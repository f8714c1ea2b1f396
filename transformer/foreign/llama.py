"""Llama, SmolLM and Qwen as Hugging Face lays them out."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from transformer.checkpoint import Weights
from transformer.errors import CheckpointError

MODEL_TYPES = ("llama", "mistral", "qwen2", "qwen3")


def config(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The architecture of a config.json, by our field names.

    Raises:
        CheckpointError: it asks for stretched rotary positions or another activation than SiLU,
            which are not read.
    """
    if (activation := raw.get("hidden_act", "silu")) != "silu":
        raise CheckpointError(f"activation {activation!r} is not read; only 'silu' is")
    rope = raw.get("rope_parameters") or raw.get("rope_scaling") or {}
    if (kind := rope.get("rope_type", rope.get("type", "default"))) != "default":
        raise CheckpointError(f"rotary positions of type {kind!r} are not read; only 'default' is")
    heads, qwen2 = raw["num_attention_heads"], raw["model_type"] == "qwen2"
    return {
        "vocab_size": raw["vocab_size"],
        "d_model": raw["hidden_size"],
        "n_layers": raw["num_hidden_layers"],
        "n_heads": heads,
        "n_kv_heads": raw.get("num_key_value_heads") or heads,
        "head_width": raw.get("head_dim") or raw["hidden_size"] // heads,
        "d_ff": raw["intermediate_size"],
        "max_tokens": _places(raw),
        "rotary_base": rope.get("rope_theta", raw.get("rope_theta", 10_000.0)),
        "norm_eps": raw["rms_norm_eps"],
        "qkv_bias": qwen2 or raw.get("attention_bias", False),
        "out_bias": not qwen2 and raw.get("attention_bias", False),
        "ff_bias": raw.get("mlp_bias", False),
        "qk_norm": raw["model_type"] == "qwen3",
        "tied": raw.get("tie_word_embeddings", False),
    }


def _places(raw: Mapping[str, Any]) -> int:
    """Positions that see all before them; past a sliding window they would not."""
    places: int = raw["max_position_embeddings"]
    slides = raw.get("use_sliding_window", raw["model_type"] == "mistral")
    return min(places, raw.get("sliding_window") or places) if slides else places


def tensors(weights: Weights, n_layers: int) -> Iterator[tuple[str, Tensor]]:
    """Our parameters in order; query, key and value become one matrix, gate and up another."""
    yield "embedding.weight", weights["model.embed_tokens.weight"]
    for i in range(n_layers):
        theirs, ours = f"model.layers.{i}", f"blocks.{i}"
        yield from _joined(weights, f"{ours}.attention.qkv", f"{theirs}.self_attn", _QKV)
        yield from _joined(weights, f"{ours}.feed_forward.gate_up", f"{theirs}.mlp", _GATE_UP)
        for our_name, their_name in _REST.items():
            yield from _joined(weights, f"{ours}.{our_name}", theirs, (their_name,))
    yield "norm.weight", weights["model.norm.weight"]
    if "lm_head.weight" in weights:
        yield "head.weight", weights["lm_head.weight"]


_QKV = ("q_proj", "k_proj", "v_proj")
_GATE_UP = ("gate_proj", "up_proj")
_REST = {
    "attention_norm": "input_layernorm",
    "attention.out": "self_attn.o_proj",
    "attention.q_norm": "self_attn.q_norm",
    "attention.k_norm": "self_attn.k_norm",
    "feed_forward_norm": "post_attention_layernorm",
    "feed_forward.down": "mlp.down_proj",
}


def _joined(
    weights: Weights, ours: str, theirs: str, parts: tuple[str, ...]
) -> Iterator[tuple[str, Tensor]]:
    for leaf in ("weight", "bias"):
        names = [f"{theirs}.{part}.{leaf}" for part in parts]
        if names[0] in weights:
            yield f"{ours}.{leaf}", torch.cat([weights[name] for name in names])
