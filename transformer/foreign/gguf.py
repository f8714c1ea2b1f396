"""GGUF files of Llama and Qwen shapes, in every type that the `gguf` package can dequantise."""

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import GGUFReader, ReaderTensor, dequantize
from torch import Tensor

from transformer.checkpoint import Weights
from transformer.errors import CheckpointError
from transformer.tokenizer import Tokenizer

ARCHITECTURES = ("llama", "qwen2", "qwen3")
_CONTROL, _USER_DEFINED = 3, 4  # token types that only a template may produce


class _Reader(GGUFReader):
    """Reads a plain view: slicing a memory map a hundred thousand times takes seconds."""

    def _get(self, *args: Any, **kwargs: Any) -> Any:
        self.data = np.asarray(self.data)  # type: ignore[assignment]
        return super()._get(*args, **kwargs)


class GGUFFile:
    """One GGUF file: metadata at once, tensors one at a time."""

    def __init__(self, path: Path) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                reader = _Reader(path)
        except (OSError, ValueError, IndexError, KeyError) as error:
            raise CheckpointError(f"{path} is not a readable GGUF file: {error}") from error
        self.path = path
        self.metadata: dict[str, Any] = {k: f.contents() for k, f in reader.fields.items()}
        self._tensors: dict[str, ReaderTensor] = {t.name: t for t in reader.tensors}
        self.weights = Weights(path, self._tensors, self._read)

    def _read(self, name: str) -> Tensor:
        tensor = self._tensors[name]
        try:
            values = dequantize(tensor.data, tensor.tensor_type)
        except NotImplementedError as error:
            kind = tensor.tensor_type.name
            raise CheckpointError(f"{self.path}: {name} is of type {kind}, not readable") from error
        return torch.from_numpy(np.require(values, np.float32, ["C", "W"]))

    @property
    def architecture(self) -> str:
        return str(self.metadata.get("general.architecture", "unknown"))

    def get(self, key: str, default: Any = None) -> Any:
        """A key of this file's architecture: `attention.head_count` for `llama.attention.…`."""
        return self.metadata.get(f"{self.architecture}.{key}", default)


def config(file: GGUFFile) -> dict[str, Any]:
    """The architecture, by our field names.

    Raises:
        CheckpointError: another architecture, a missing key, or stretched rotary positions.
    """
    if file.architecture not in ARCHITECTURES:
        known = ", ".join(ARCHITECTURES)
        raise CheckpointError(f"{file.path}: architecture {file.architecture!r}; read are {known}")
    if file.get("rope.scaling.type", "none") != "none" or "rope_freqs.weight" in file.weights:
        raise CheckpointError(f"{file.path}: stretched rotary positions are not read")
    try:
        heads, width = file.get("attention.head_count"), file.get("embedding_length")
        return {
            "vocab_size": len(file.metadata["tokenizer.ggml.tokens"]),
            "d_model": width,
            "n_layers": file.get("block_count"),
            "n_heads": heads,
            "n_kv_heads": file.get("attention.head_count_kv", heads),
            "head_width": file.get("attention.key_length") or width // heads,
            "d_ff": file.get("feed_forward_length"),
            "max_tokens": file.get("context_length"),
            "rotary_base": file.get("rope.freq_base", 10_000.0),
            "norm_eps": file.get("attention.layer_norm_rms_epsilon"),
            "qkv_bias": "blk.0.attn_q.bias" in file.weights,
            "out_bias": "blk.0.attn_output.bias" in file.weights,
            "ff_bias": "blk.0.ffn_down.bias" in file.weights,
            "qk_norm": "blk.0.attn_q_norm.weight" in file.weights,
            "tied": "output.weight" not in file.weights,
        }
    except (KeyError, TypeError) as error:
        raise CheckpointError(f"{file.path}: metadata lacks {error}") from error


def tensors(file: GGUFFile, settings: Mapping[str, Any]) -> Iterator[tuple[str, Tensor]]:
    """Our parameters in order; query, key and value become one matrix, gate and up another."""
    weights = file.weights
    heads = (settings["n_heads"], settings["n_kv_heads"])
    yield "embedding.weight", weights["token_embd.weight"]
    for i in range(settings["n_layers"]):
        theirs, ours = f"blk.{i}", f"blocks.{i}"
        for leaf in ("weight", "bias"):
            if f"{theirs}.attn_q.{leaf}" in weights:
                yield f"{ours}.attention.qkv.{leaf}", _qkv(file, theirs, leaf, heads)
            if f"{theirs}.ffn_gate.{leaf}" in weights:
                parts = [weights[f"{theirs}.{name}.{leaf}"] for name in ("ffn_gate", "ffn_up")]
                yield f"{ours}.feed_forward.gate_up.{leaf}", torch.cat(parts)
            for our_name, their_name in _REST.items():
                if (name := f"{theirs}.{their_name}.{leaf}") in weights:
                    yield f"{ours}.{our_name}.{leaf}", weights[name]
    yield "norm.weight", weights["output_norm.weight"]
    if "output.weight" in weights:
        yield "head.weight", weights["output.weight"]


_REST = {
    "attention_norm": "attn_norm",
    "attention.out": "attn_output",
    "attention.q_norm": "attn_q_norm",
    "attention.k_norm": "attn_k_norm",
    "feed_forward_norm": "ffn_norm",
    "feed_forward.down": "ffn_down",
}


def _qkv(file: GGUFFile, block: str, leaf: str, heads: tuple[int, int]) -> Tensor:
    q, k, v = (file.weights[f"{block}.attn_{name}.{leaf}"] for name in "qkv")
    if file.architecture == "llama":
        # Converters reorder Llama's q and k for rotation of neighbours; ours turns the halves.
        q, k = _neighbours_to_halves(q, heads[0]), _neighbours_to_halves(k, heads[1])
    return torch.cat([q, k, v])


def _neighbours_to_halves(rows: Tensor, n_heads: int) -> Tensor:
    pairs = rows.view(n_heads, -1, 2, *rows.shape[1:])  # (heads, e / 2, 2, …)
    return pairs.transpose(1, 2).reshape(rows.shape)


def tokenizer(file: GGUFFile) -> Tokenizer:
    """The byte-level BPE that the metadata describes.

    Raises:
        CheckpointError: the file brings a tokenizer of another kind.
    """
    kind = file.metadata.get("tokenizer.ggml.model")
    if kind != "gpt2":
        raise CheckpointError(f"{file.path}: tokenizer {kind!r} is not read; byte-level BPE is")
    tokens = file.metadata["tokenizer.ggml.tokens"]
    types = file.metadata.get("tokenizer.ggml.token_type", [1] * len(tokens))
    specials = [i for i, kind in enumerate(types) if kind in (_CONTROL, _USER_DEFINED)]
    cut = file.metadata.get("tokenizer.ggml.pre", "default")
    return Tokenizer.from_byte_level_bpe(
        tokens, file.metadata["tokenizer.ggml.merges"], specials, cut
    )
