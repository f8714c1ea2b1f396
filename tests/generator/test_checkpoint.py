"""A generator from a folder: what is read, in which precision, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from generator import Generator, Sampling, chat, checkpoint
from generator.decoding import decode
from generator.precision import Precision
from tests.generator.builders import (
    CHATML,
    END,
    VOCABULARY,
    generator,
    loaded,
    prompt,
    published,
    save_foreign,
    scripted,
    tokenizer,
)
from tests.oracles import cosines
from transformer import CheckpointError
from transformer.foreign import llama
from transformer.quantize import Int4Linear, Int8Linear, QuantizedLinear
from transformer.runtime import fast_dtype, seeded

_QKV = "blocks.0.attention.qkv"


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def _llama(**changes: Any) -> PreTrainedModel:
    sizes: dict[str, Any] = {
        "vocab_size": VOCABULARY,
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 96,
        "max_position_embeddings": 64,
    }
    return published(LlamaForCausalLM(LlamaConfig(**(sizes | changes))))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A Hugging Face folder of a tiny Llama."""
    save_foreign(_llama(), tmp_path / "llama", tokenizer())
    return tmp_path / "llama"


@pytest.mark.parametrize("tied", [True, False])
def test_our_own_layout_round_trips(tied: bool, tmp_path: Path) -> None:
    before = loaded(generator(tied=tied, qkv_bias=True), tokenizer(), ends=(1, 2))
    checkpoint.save(before, tmp_path / "own")
    after = checkpoint.load(tmp_path / "own", "fp32")
    assert after.model.config == before.model.config
    assert after.chat == before.chat
    assert after.tokenizer.to_json() == before.tokenizer.to_json()
    tokens = torch.tensor([prompt(9)])
    assert_close(after.model(tokens), before.model(tokens), atol=0, rtol=0)
    assert after.parameters == sum(p.numel() for p in before.model.parameters())


def test_a_foreign_model_can_be_kept_in_our_layout(folder: Path, tmp_path: Path) -> None:
    foreign = checkpoint.load(folder, "fp32")
    checkpoint.save(foreign, tmp_path / "own")
    own = checkpoint.load(tmp_path / "own", "fp32")
    tokens = torch.tensor([prompt(9)])
    assert_close(own.model(tokens), foreign.model(tokens), atol=0, rtol=0)
    assert own.chat == foreign.chat


def test_the_fingerprint_is_of_what_was_loaded(folder: Path) -> None:
    first, again = checkpoint.load(folder, "fp32"), checkpoint.load(folder, "int4")
    assert first.fingerprint == again.fingerprint
    (folder / "chat_template.jinja").write_text(CHATML, encoding="utf-8")
    assert checkpoint.load(folder, "fp32").fingerprint != first.fingerprint


def test_half_weights_are_loaded_as_float32(tmp_path: Path) -> None:
    save_foreign(_llama().bfloat16(), tmp_path / "half", tokenizer())
    ours = checkpoint.load(tmp_path / "half", "fp32").model
    assert {p.dtype for p in ours.parameters()} == {torch.float32}
    tokens = torch.tensor([prompt(9)])
    whole = LlamaForCausalLM.from_pretrained(tmp_path / "half", dtype=torch.float32)
    assert_close(ours(tokens), whole(tokens).logits, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("precision", "cosine"), [("int8", 0.999), ("int4", 0.92)])
@pytest.mark.parametrize("tied", [True, False])
def test_quantised_models_stay_near_the_whole_one(
    precision: Precision, cosine: float, tied: bool, tmp_path: Path
) -> None:
    theirs = _llama(tie_word_embeddings=tied)
    with torch.no_grad():  # as in a trained model, no layer multiplies what comes before it
        for parameter in (p for p in theirs.parameters() if p.ndim == 2):
            parameter.mul_(0.3)
    save_foreign(theirs, tmp_path / "llama", tokenizer())
    whole = checkpoint.load(tmp_path / "llama", "fp32").model
    small = checkpoint.load(tmp_path / "llama", precision).model
    tokens = torch.tensor([prompt(40)])
    with torch.inference_mode():
        expected = whole(tokens)[0]
        assert cosines(small(tokens)[0], expected).min() > 0.99  # many rows: the dense copy
        cache = small.new_cache(40)
        steps = torch.cat([small(token[None, None], cache)[0] for token in tokens[0]])
    assert cosines(steps, expected).min() > cosine
    assert steps.dtype == torch.float32


def test_what_each_precision_is_made_of(folder: Path) -> None:
    small = checkpoint.load(folder, "int4").model
    for i in range(2):
        assert isinstance(small.get_submodule(f"blocks.{i}.attention.qkv"), Int4Linear)
        assert isinstance(small.get_submodule(f"blocks.{i}.feed_forward.down"), Int4Linear)
        assert small.get_parameter(f"blocks.{i}.attention_norm.weight").dtype == torch.float32
    assert isinstance(small.head, Int8Linear)
    assert small.embedding.weight.dtype == fast_dtype()
    assert isinstance(checkpoint.load(folder, "int8").model.get_submodule(_QKV), Int8Linear)
    layers = checkpoint.load(folder, "fp32").model.modules()
    assert not any(isinstance(layer, QuantizedLinear) for layer in layers)


def test_a_tied_head_shares_the_embedding(tmp_path: Path) -> None:
    save_foreign(_llama(tie_word_embeddings=True), tmp_path / "tied", tokenizer())
    model = checkpoint.load(tmp_path / "tied", "int8").model
    assert isinstance(model.head, Int8Linear)
    assert model.head.dense.data_ptr() == model.embedding.weight.data_ptr()


def _qwen2() -> PreTrainedModel:
    return Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=VOCABULARY,
            hidden_size=64,
            num_hidden_layers=1,
            num_attention_heads=4,
            num_key_value_heads=2,
            intermediate_size=96,
        )
    )


def _gpt2() -> PreTrainedModel:
    return GPT2LMHeadModel(
        GPT2Config(vocab_size=VOCABULARY, n_embd=64, n_layer=1, n_head=4, n_positions=64)
    )


@pytest.mark.parametrize("make", [_qwen2, _gpt2])
@pytest.mark.parametrize("own", [False, True])
def test_biases_reach_quantised_layers_in_whatever_order_they_come(
    make: Callable[[], PreTrainedModel], own: bool, tmp_path: Path
) -> None:
    save_foreign(published(make()), tmp_path / "foreign", tokenizer())
    folder = tmp_path / "foreign"
    whole = checkpoint.load(folder, "fp32")
    if own:  # tensors by name: each bias before its matrix
        folder = tmp_path / "own"
        checkpoint.save(whole, folder)
    small = checkpoint.load(folder, "int8").model
    assert isinstance(whole.model.get_submodule(_QKV), nn.Linear)
    assert isinstance(small.get_submodule(_QKV), Int8Linear)
    bias = f"{_QKV}.bias"
    assert_close(small.get_parameter(bias), whole.model.get_parameter(bias))
    tokens = torch.tensor([prompt(5)])
    assert cosines(small(tokens)[0], whole.model(tokens)[0]).min() > 0.999


def test_a_quantised_generator_is_not_saved(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="load it with precision fp32"):
        checkpoint.save(checkpoint.load(folder, "int4"), tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_every_end_that_any_file_names_is_one(tmp_path: Path) -> None:
    words = tokenizer()
    _write(tmp_path / "config.json", {"eos_token_id": 5})
    _write(tmp_path / "generation_config.json", {"eos_token_id": [7, 9]})
    _write(tmp_path / "tokenizer_config.json", {"eos_token": {"content": "ll"}})
    ends = chat.from_folder(tmp_path, words).ends
    assert set(ends) == {5, 7, 9, words.id_of("ll"), words.id_of(END), words.id_of("<|endoftext|>")}
    assert list(ends) == sorted(ends)


def test_both_ends_stop_an_answer(tmp_path: Path) -> None:
    words = tokenizer()
    _write(tmp_path / "config.json", {"model_type": "llama"})
    _write(tmp_path / "generation_config.json", {"eos_token_id": [44]})
    _write(tmp_path / "tokenizer_config.json", {"eos_token": "he"})
    ends = chat.from_folder(tmp_path, words).ends
    he = words.id_of("he")
    assert he is not None
    for end in (44, he):
        model = scripted([50, 51, end, 52, 53, 54], start=3, max_tokens=12, vocabulary=VOCABULARY)
        ids = list(decode(model, [8, 8, 8], Sampling(max_tokens=6), ends=ends, rng=seeded(0)))
        assert ids == [50, 51]
    script = [50, 51, 52, 53, 54, 55]
    model = scripted(script, start=3, max_tokens=12, vocabulary=VOCABULARY)
    ids = list(decode(model, [8, 8, 8], Sampling(max_tokens=6), ends=ends, rng=seeded(0)))
    assert ids == script


@pytest.mark.parametrize("place", ["jinja", "string", "named"])
def test_the_chat_template_is_found_wherever_it_is_stored(place: str, tmp_path: Path) -> None:
    _write(tmp_path / "config.json", {})
    match place:
        case "jinja":
            (tmp_path / "chat_template.jinja").write_text(CHATML, encoding="utf-8")
        case "string":
            _write(tmp_path / "tokenizer_config.json", {"chat_template": CHATML})
        case "named":
            named = [{"name": "tool_use", "template": "x"}, {"name": "default", "template": CHATML}]
            _write(tmp_path / "tokenizer_config.json", {"chat_template": named})
    assert chat.from_folder(tmp_path, tokenizer()).template == CHATML


def test_without_a_template_the_first_token_follows_the_tokenizers_habit(tmp_path: Path) -> None:
    _write(tmp_path / "config.json", {})
    _write(tmp_path / "tokenizer_config.json", {"bos_token": END})
    assert chat.from_folder(tmp_path, tokenizer()).bos == ""  # it puts nothing before a text
    described = {"bos_token": END, "chat_template": "{{ bos_token }}"}
    _write(tmp_path / "tokenizer_config.json", described)
    assert chat.from_folder(tmp_path, tokenizer()).bos == END


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
def test_a_missing_file_is_named(name: str, folder: Path) -> None:
    (folder / name).unlink()
    with pytest.raises(CheckpointError, match=name):
        checkpoint.load(folder, "fp32")


def test_pickles_are_never_read(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match=r"pytorch_model\.bin may run code and is never read"):
        checkpoint.load(folder, "fp32")


def test_a_missing_folder_and_another_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="nowhere does not exist"):
        checkpoint.load(tmp_path / "nowhere", "fp32")
    (tmp_path / "model.bin").write_bytes(b"x")
    with pytest.raises(CheckpointError, match=r"model\.bin is neither a \.gguf file nor"):
        checkpoint.load(tmp_path / "model.bin", "fp32")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "bert"}, "model_type 'bert'; read are gpt2, llama, mistral, qwen2, qwen3"),
        ({"hidden_size": None}, "does not say d_model"),
        ({"num_key_value_heads": 3}, r"n_kv_heads \(3\) must divide n_heads \(4\)"),
        ({"vocab_size": 200}, r"the tokenizer has 261 tokens, the model only 200"),
        ({"rope_parameters": {"rope_type": "yarn"}}, "type 'yarn' are not read"),
        ({"hidden_act": "gelu"}, "activation 'gelu' is not read; only 'silu' is"),
    ],
)
def test_configs_that_do_not_fit_are_refused(
    changes: dict[str, Any], message: str, folder: Path
) -> None:
    raw = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    _write(folder / "config.json", raw | changes)
    with pytest.raises(CheckpointError, match=message):
        checkpoint.load(folder, "fp32")


def test_a_config_that_lacks_a_field_names_it(folder: Path) -> None:
    raw = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    del raw["intermediate_size"]
    _write(folder / "config.json", raw)
    with pytest.raises(CheckpointError, match=r"config\.json lacks 'intermediate_size'"):
        checkpoint.load(folder, "fp32")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("kind", "encoder", "holds a model of kind 'encoder', no generator"),
        ("generator", {"depth": 3}, "unknown generator settings: depth"),
        ("generator", {"d_model": 3}, "generator settings: .*missing"),
        ("chat", {"tone": "polite"}, "unknown chat settings: tone"),
    ],
)
def test_own_configs_that_do_not_fit_are_refused(
    key: str, value: object, message: str, tmp_path: Path
) -> None:
    checkpoint.save(loaded(generator(), tokenizer()), tmp_path / "own")
    raw = json.loads((tmp_path / "own" / "config.json").read_text(encoding="utf-8"))
    _write(tmp_path / "own" / "config.json", raw | {key: value})
    with pytest.raises(CheckpointError, match=message):
        checkpoint.load(tmp_path / "own", "fp32")


def test_a_tied_head_that_was_saved_all_the_same_is_the_embedding(folder: Path) -> None:
    raw = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    _write(folder / "config.json", raw | {"tie_word_embeddings": True})
    assert checkpoint.load(folder, "fp32").model.head is None


def test_the_model_is_ready_for_use(folder: Path) -> None:
    model = checkpoint.load(folder, "fp32").model
    assert isinstance(model, Generator)
    assert not model.training


@pytest.mark.parametrize(
    ("changes", "places"),
    [
        ({"model_type": "mistral", "sliding_window": 24}, 24),
        ({"model_type": "mistral", "sliding_window": None}, 64),
        ({"model_type": "qwen3", "sliding_window": 24, "use_sliding_window": False}, 64),
        ({"model_type": "qwen3", "sliding_window": 24, "use_sliding_window": True}, 24),
        ({"sliding_window": 24}, 64),
    ],
)
def test_a_sliding_window_is_where_a_text_ends(
    changes: dict[str, Any], places: int, folder: Path
) -> None:
    raw = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert llama.config(raw | changes)["max_tokens"] == places
