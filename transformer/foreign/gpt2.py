"""GPT-2 as Hugging Face lays it out: its matrices are stored (in, out)."""

from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor

from transformer.checkpoint import Weights

MODEL_TYPES = ("gpt2",)


def config(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The architecture of a config.json, by our field names."""
    width, heads = raw["n_embd"], raw["n_head"]
    return {
        "vocab_size": raw["vocab_size"],
        "d_model": width,
        "n_layers": raw["n_layer"],
        "n_heads": heads,
        "n_kv_heads": heads,
        "head_width": width // heads,
        "d_ff": raw.get("n_inner") or 4 * width,
        "max_tokens": raw["n_positions"],
        "positions": "learned",
        "norm": "layer",
        "norm_eps": raw["layer_norm_epsilon"],
        "feed_forward": "gelu_tanh",
        "qkv_bias": True,
        "out_bias": True,
        "ff_bias": True,
        "tied": True,
    }


def tensors(weights: Weights, n_layers: int) -> Iterator[tuple[str, Tensor]]:
    """Our parameters in order."""
    prefix = "transformer." if "transformer.wte.weight" in weights else ""
    yield "embedding.weight", weights[f"{prefix}wte.weight"]
    yield "positions.weight", weights[f"{prefix}wpe.weight"]
    for i in range(n_layers):
        for ours, theirs in _BLOCK.items():
            weight = weights[f"{prefix}h.{i}.{theirs}.weight"]
            turned = weight.t().contiguous() if weight.ndim == 2 else weight
            yield f"blocks.{i}.{ours}.weight", turned
            yield f"blocks.{i}.{ours}.bias", weights[f"{prefix}h.{i}.{theirs}.bias"]
    yield "norm.weight", weights[f"{prefix}ln_f.weight"]
    yield "norm.bias", weights[f"{prefix}ln_f.bias"]


_BLOCK = {
    "attention_norm": "ln_1",
    "attention.qkv": "attn.c_attn",
    "attention.out": "attn.c_proj",
    "feed_forward_norm": "ln_2",
    "feed_forward.up": "mlp.c_fc",
    "feed_forward.down": "mlp.c_proj",
}
