"""GGUF files, written by the reference package, against the published model of the same numbers."""

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType as Kind
from gguf import GGUFWriter, dequantize, quantize
from numpy.typing import NDArray
from torch.testing import assert_close
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from generator import checkpoint
from tests.generator.builders import (
    CHATML,
    MERGES,
    SPECIALS,
    VOCABULARY,
    prompt,
    published,
    spellings,
)
from tests.oracles import cosines
from transformer import CheckpointError
from transformer.quantize import GROUP, Int4Linear

_HEADS, _KV_HEADS = 4, 2
_K = Kind.Q6_K
_SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": _HEADS,
    "num_key_value_heads": _KV_HEADS,
    "intermediate_size": 256,  # one block of a K-quant
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5,
}
_NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def _llama() -> PreTrainedModel:
    return LlamaForCausalLM(LlamaConfig(**_SIZES, tie_word_embeddings=True))


def _qwen2() -> PreTrainedModel:
    return Qwen2ForCausalLM(Qwen2Config(**_SIZES, tie_word_embeddings=False))


def _name(theirs: str) -> str:
    stem, _, leaf = theirs.rpartition(".")
    if stem in _NAMES:
        return f"{_NAMES[stem]}.{leaf}"
    layer, _, inner = stem.removeprefix("model.layers.").partition(".")
    return f"blk.{layer}.{_NAMES[inner]}.{leaf}"


def _interleaved(rows: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """As converters store Llama's q and k: the halves of a head shuffled into neighbours."""
    halves = rows.reshape(heads, 2, -1, *rows.shape[1:])
    return np.ascontiguousarray(halves.swapaxes(1, 2).reshape(rows.shape))


def _kind(leaf: str, kind: Kind) -> Kind:
    """Types are mixed in one file: norms are never quantised, embeddings only a little."""
    if "norm" in leaf or leaf.endswith("bias"):
        return Kind.F32
    return Kind.Q8_0 if "token_embd" in leaf or (kind == _K and "ffn_down" not in leaf) else kind


def _stored(values: NDArray[np.float32], kind: Kind) -> NDArray[Any]:
    return _random_blocks(len(values)) if kind == _K else quantize(values, kind)


def _random_blocks(rows: int) -> NDArray[np.uint8]:
    """Rows of one block each, of random numbers: the package reads that type but writes none."""
    rng = np.random.default_rng(0)
    low_and_high = rng.integers(0, 256, (rows, 128 + 64), dtype=np.uint8)
    scales = rng.integers(-40, 40, (rows, 16), dtype=np.int8).view(np.uint8)
    whole = np.full((rows, 1), 0.0005, dtype=np.float16).view(np.uint8)
    return np.concatenate([low_and_high, scales, whole], axis=1)


def _write(path: Path, theirs: PreTrainedModel, kind: Kind, *, architecture: str) -> None:
    """The model as a GGUF file; its own matrices become what the file holds of them."""
    writer = GGUFWriter(path, architecture)
    _describe(writer)
    for name, parameter in theirs.named_parameters():
        leaf = _name(name)
        stored = _stored(parameter.detach().numpy(), _kind(leaf, kind))
        with torch.no_grad():
            parameter.copy_(torch.from_numpy(dequantize(stored, _kind(leaf, kind))))
        if architecture == "llama" and ("attn_q." in leaf or "attn_k." in leaf):
            stored = _interleaved(stored, _HEADS if "attn_q." in leaf else _KV_HEADS)
        writer.add_tensor(leaf, stored, raw_dtype=_kind(leaf, kind))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _describe(writer: GGUFWriter) -> None:
    writer.add_context_length(64)
    writer.add_embedding_length(64)
    writer.add_block_count(2)
    writer.add_feed_forward_length(256)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10_000.0)
    tokens = spellings()
    tokens += [f"[unused{i}]" for i in range(VOCABULARY - len(tokens))]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([3] * len(SPECIALS) + [1] * (len(tokens) - len(SPECIALS)))
    writer.add_token_merges(MERGES)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_eot_token_id(9)
    writer.add_chat_template(CHATML)


_CASES = [
    (_llama, "llama", Kind.F16),
    (_llama, "llama", Kind.Q8_0),
    (_llama, "llama", Kind.Q4_1),
    (_llama, "llama", _K),
    (_qwen2, "qwen2", Kind.Q4_1),
]


@pytest.mark.parametrize(("make", "architecture", "kind"), _CASES)
def test_a_file_gives_the_logits_of_its_numbers(
    make: Callable[[], PreTrainedModel], architecture: str, kind: Kind, tmp_path: Path
) -> None:
    theirs = published(make())
    _write(tmp_path / "model.gguf", theirs, kind, architecture=architecture)
    ours = checkpoint.load(tmp_path / "model.gguf", "fp32")
    tokens = torch.tensor([prompt(20)])
    with torch.inference_mode():
        assert_close(ours.model(tokens), theirs(tokens).logits, atol=1e-4, rtol=1e-4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one Q4_1 file in it."""
    folder = tmp_path_factory.mktemp("gguf")
    theirs = published(_llama())
    _write(folder / "model.gguf", theirs, Kind.Q4_1, architecture="llama")
    return folder


def test_what_the_metadata_says_is_kept(folder: Path) -> None:
    loaded = checkpoint.load(folder, "fp32")
    assert loaded.chat.template == CHATML
    assert (loaded.chat.bos, loaded.chat.eos) == ("<|im_start|>", "<|im_end|>")
    assert loaded.chat.ends == (0, 2, 9)  # the two of the metadata, and what is known to end
    assert loaded.tokenizer.decode(loaded.tokenizer.encode("hello 안녕")) == "hello 안녕"
    assert loaded.model.config.tied


def test_the_fingerprint_is_the_hash_of_the_file(folder: Path) -> None:
    digest = hashlib.sha256((folder / "model.gguf").read_bytes()).hexdigest()
    assert checkpoint.load(folder / "model.gguf", "int4").fingerprint == digest[:16]


def test_four_bits_become_the_same_four_bits(folder: Path) -> None:
    whole = checkpoint.load(folder, "fp32").model
    small = checkpoint.load(folder, "int4").model
    for name in ("attention.qkv", "attention.out", "feed_forward.gate_up", "feed_forward.down"):
        for dense, packed in zip(whole.blocks, small.blocks, strict=True):
            layer, matrix = packed.get_submodule(name), dense.get_parameter(f"{name}.weight")
            assert isinstance(layer, Int4Linear)
            groups = matrix.detach().view(len(matrix), -1, GROUP)
            step = (groups.amax(-1) - groups.amin(-1))[..., None] / 15
            off = (layer.dequantized().view_as(groups) - groups).abs()
            # Another grid would be off by up to half a step; this is bfloat16's rounding of it.
            assert (off <= 0.1 * step).all()


def test_a_quantised_file_stays_near_its_numbers(folder: Path) -> None:
    tokens = torch.tensor([prompt(20)])
    with torch.inference_mode():
        expected = checkpoint.load(folder, "fp32").model(tokens)[0]
        small = checkpoint.load(folder, "int4").model
        cache = small.new_cache(20)
        steps = torch.cat([small(token[None, None], cache)[0] for token in tokens[0]])
    assert cosines(steps, expected).min() > 0.995


def test_several_files_must_be_told_apart(folder: Path, tmp_path: Path) -> None:
    for name in ("a.gguf", "b.gguf"):
        shutil.copy(folder / "model.gguf", tmp_path / name)
    with pytest.raises(CheckpointError, match=r"holds 2 GGUF files \(a\.gguf, b\.gguf\)"):
        checkpoint.load(tmp_path, "int4")


def test_a_damaged_file_is_named(folder: Path, tmp_path: Path) -> None:
    whole = (folder / "model.gguf").read_bytes()
    for size in (0, 3, 100, len(whole) // 2):
        (tmp_path / "cut.gguf").write_bytes(whole[:size])
        with pytest.raises(CheckpointError, match=r"cut\.gguf is not a readable GGUF file"):
            checkpoint.load(tmp_path / "cut.gguf", "int4")


def test_other_architectures_are_refused(tmp_path: Path) -> None:
    theirs = published(_llama())
    _write(tmp_path / "model.gguf", theirs, Kind.Q8_0, architecture="gemma")
    with pytest.raises(CheckpointError, match="architecture 'gemma'; read are llama, qwen2"):
        checkpoint.load(tmp_path, "int4")
