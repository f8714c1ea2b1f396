"""Folders of encoders: our own come back equal, other people's are read or refused, and why."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import platformdirs
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.testing import assert_close
from transformers import BertConfig, BertModel

from encoder import EmbeddingConfig, EncoderConfig, checkpoint, pooling
from tests.builders import bert_tokenizer, encoder_checkpoint, randomised
from transformer import CheckpointError
from transformer.runtime import seeded

BERT = EncoderConfig(
    vocab_size=97, d_model=36, n_layers=2, n_heads=3, d_ff=52, max_tokens=40, n_token_types=2
)
SHAPES = {
    "bert": BERT,
    "xlm-r": dataclasses.replace(BERT, position_offset=2, pad_id=1, n_token_types=1),
    "modern": dataclasses.replace(
        BERT, positions="rotary", n_token_types=0, pre_norm=True, gated=True, bias=False
    ),
    "sinusoidal": dataclasses.replace(BERT, positions="sinusoidal", n_token_types=0),
}
EMBEDDING = EmbeddingConfig(
    max_tokens=30, pooling="cls", query_prefix="질문: ", document_prefix="글: "
)


def _change(folder: Path, name: str, **settings: Any) -> None:
    """Write new values over some of a JSON file's."""
    path = folder / name
    known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({**known, **settings}), encoding="utf-8")


# Our own layout


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_an_encoder_is_read_in_the_format_that_was_asked_for(
    tmp_path: Path, dtype: torch.dtype
) -> None:
    saved = encoder_checkpoint(BERT)
    checkpoint.save(saved, tmp_path / "a")
    loaded = checkpoint.load(tmp_path / "a", dtype=dtype)
    assert {p.dtype for p in loaded.model.parameters()} == {dtype}
    assert loaded.fingerprint == checkpoint.load(tmp_path / "a").fingerprint


@pytest.mark.parametrize("shape", SHAPES)
def test_an_encoder_comes_back_equal(tmp_path: Path, shape: str) -> None:
    saved = encoder_checkpoint(SHAPES[shape], EMBEDDING)
    checkpoint.save(saved, tmp_path / "a")
    loaded = checkpoint.load(tmp_path / "a")
    assert (loaded.model.config, loaded.embedding) == (SHAPES[shape], EMBEDDING)
    assert loaded.tokenizer.to_json() == saved.tokenizer.to_json()
    assert not loaded.model.training
    tokens = torch.randint(5, 97, (2, 40), generator=seeded(1))
    assert_close(loaded.model(tokens), saved.model(tokens), atol=0, rtol=0)

    checkpoint.save(loaded, tmp_path / "b")
    assert checkpoint.load(tmp_path / "b").fingerprint == loaded.fingerprint


@pytest.mark.parametrize(
    "change",
    [
        {"query_prefix": "query: "},
        {"document_prefix": ""},
        {"pooling": "mean"},
        {"pooling": "max"},
        {"pooling": "attention"},
        {"max_tokens": 29},
        {"dimensions": 12},
    ],
    ids=lambda change: "-".join(map(str, *change.items())),
)
def test_what_moves_a_vector_moves_the_fingerprint(tmp_path: Path, change: dict[str, Any]) -> None:
    embeddings = {"a": EMBEDDING, "b": dataclasses.replace(EMBEDDING, **change)}
    for name, embedding in embeddings.items():
        checkpoint.save(encoder_checkpoint(BERT, embedding), tmp_path / name)
    marks = {checkpoint.load(tmp_path / name).fingerprint for name in embeddings}
    assert len(marks) == 2


def test_other_weights_have_another_fingerprint(tmp_path: Path) -> None:
    for seed in (0, 1):
        checkpoint.save(encoder_checkpoint(BERT, seed=seed), tmp_path / str(seed))
    assert len({checkpoint.load(tmp_path / name).fingerprint for name in "01"}) == 2


def test_what_attention_pooling_learned_is_kept_and_moves_the_fingerprint(tmp_path: Path) -> None:
    embedding = dataclasses.replace(EMBEDDING, pooling="attention")
    marks = set()
    for value in (0.5, -0.5):
        saved, folder = encoder_checkpoint(BERT, embedding), tmp_path / str(value)
        pooling.fit(saved.model, embedding)
        own = pooling.pooler(saved.model)
        assert own is not None
        torch.nn.init.constant_(own.query, value)
        checkpoint.save(saved, folder)
        loaded = checkpoint.load(folder)
        marks.add(loaded.fingerprint)
        again = pooling.pooler(loaded.model)
        assert again is not None
        assert_close(again.query, own.query, atol=0, rtol=0)
    assert len(marks) == 2


def test_a_pooler_that_the_pooling_does_not_use_is_not_saved(tmp_path: Path) -> None:
    saved = encoder_checkpoint(BERT, EMBEDDING)
    pooling.fit(saved.model, dataclasses.replace(EMBEDDING, pooling="attention"))
    checkpoint.save(saved, tmp_path / "model")
    assert pooling.pooler(checkpoint.load(tmp_path / "model").model) is None


def test_what_is_stored_today_keeps_its_fingerprint(tmp_path: Path) -> None:
    """Libraries hold vectors under it: a setting that is added must not change it."""
    saved = encoder_checkpoint(BERT, EmbeddingConfig(max_tokens=30))
    with torch.no_grad():
        for parameter in saved.model.parameters():
            counted = torch.arange(parameter.numel()) % 17 / 16
            parameter.copy_(counted.view(parameter.shape))
    checkpoint.save(saved, tmp_path / "model")
    assert checkpoint.load(tmp_path / "model").fingerprint == "1070f1262f5154bd"


@pytest.mark.parametrize(
    ("name", "mark"), [("minilm", "bcddf2ce49d775da"), ("e5-small", "ff8a2fac6e18cde7")]
)
def test_packaged_models_keep_their_fingerprints(name: str, mark: str) -> None:
    folder = platformdirs.user_data_path("attest") / "models" / name
    if not (folder / "model.safetensors").is_file():
        pytest.skip(f"no weights: run `attest models pull {name}`")
    assert checkpoint.load(folder).fingerprint == mark


def test_half_weights_are_read_into_float32(tmp_path: Path) -> None:
    saved = encoder_checkpoint(BERT)
    saved.model.half()
    checkpoint.save(saved, tmp_path / "model")
    model = checkpoint.load(tmp_path / "model").model
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    assert_close(model.embedding.weight, saved.model.embedding.weight.float())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "generator"}, "holds a model of kind 'generator', not an encoder"),
        ({"encoder": None}, "config.json holds no settings for EncoderConfig"),
        ({"embedding": {}}, "missing 1 required positional argument: 'max_tokens'"),
        ({"embedding": {"max_tokens": 30, "polling": "cls"}}, "of EmbeddingConfig: polling"),
        ({"embedding": {"max_tokens": 30, "pooling": "last"}}, r"pooling \('last'\) must be one"),
        ({"embedding": {"max_tokens": 41}}, r"max_tokens \(41\) is over the encoder's \(40\)"),
        (
            {"embedding": {"max_tokens": 30, "dimensions": 37}},
            r"dimensions \(37\) is over the encoder's \(36\)",
        ),
    ],
)
def test_own_configs_are_checked(tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    checkpoint.save(encoder_checkpoint(BERT), tmp_path / "model")
    _change(tmp_path / "model", "config.json", **settings)
    with pytest.raises(CheckpointError, match=message):
        checkpoint.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_heads": 5}, r"n_heads \(5\) must divide d_model \(36\)"),
        ({"n_heads": 4, "positions": "rotary"}, r"head_width \(9\) must be even for rotary"),
        ({"d_ff": 53}, r"has shape \(36, 52\), the config asks for \(36, 53\)"),
        ({"n_layers": 3}, r"no value for 12 parameters, first blocks\.2\."),
        ({"n_layers": 1}, r"unexpected or repeated tensor 'blocks\.1\."),
    ],
)
def test_weights_must_be_those_of_the_config(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    checkpoint.save(encoder_checkpoint(BERT), tmp_path / "model")
    encoder = {**dataclasses.asdict(BERT), **changes}
    _change(tmp_path / "model", "config.json", encoder=encoder)
    with pytest.raises(CheckpointError, match=message):
        checkpoint.load(tmp_path / "model")


# Other people's


@pytest.fixture
def bert_folder(tmp_path: Path) -> Path:
    """As transformers writes it: config.json, model.safetensors, tokenizer.json."""
    config = BertConfig(
        vocab_size=97,
        hidden_size=36,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=52,
        max_position_embeddings=40,
    )
    folder = tmp_path / "bert"
    randomised(BertModel(config), seeded(0)).save_pretrained(folder)
    (folder / "tokenizer.json").write_text(bert_tokenizer().to_json(), encoding="utf-8")
    return folder


def test_a_foreign_encoder_comes_back_equal_from_our_layout(
    bert_folder: Path, tmp_path: Path
) -> None:
    theirs = checkpoint.load(bert_folder)
    assert theirs.embedding == EmbeddingConfig(max_tokens=40)
    checkpoint.save(theirs, tmp_path / "ours")
    ours = checkpoint.load(tmp_path / "ours")
    assert ours.model.config == theirs.model.config
    tokens = torch.randint(5, 97, (2, 40), generator=seeded(1))
    assert_close(ours.model(tokens), theirs.model(tokens), atol=0, rtol=0)


def _limit_of_the_bert_file(folder: Path) -> None:
    _change(folder, "sentence_bert_config.json", max_seq_length=24, do_lower_case=False)
    _change(folder, "tokenizer_config.json", model_max_length=32)


def _limit_of_the_tokenizer_file(folder: Path) -> None:
    _change(folder, "sentence_bert_config.json", transformer_task="feature-extraction")
    _change(folder, "tokenizer_config.json", model_max_length=24)


def _limits_beyond_the_positions(folder: Path) -> None:
    _change(folder, "sentence_bert_config.json", max_seq_length=None)
    _change(folder, "tokenizer_config.json", model_max_length=int(1e30))


@pytest.mark.parametrize(
    ("write", "limit"),
    [
        (_limit_of_the_bert_file, 24),
        (_limit_of_the_tokenizer_file, 24),
        (_limits_beyond_the_positions, 40),
    ],
)
def test_the_limit_is_the_least_that_is_written(
    bert_folder: Path, write: Callable[[Path], None], limit: int
) -> None:
    write(bert_folder)
    assert checkpoint.load(bert_folder).embedding.max_tokens == limit


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("sentence_bert_config.json", {"max_seq_length": "many"}),
        ("sentence_bert_config.json", {"max_seq_length": -1}),
        ("tokenizer_config.json", {"model_max_length": float("inf")}),
        ("config_sentence_transformers.json", {"prompts": ["query: "]}),
    ],
)
def test_limits_and_prefixes_that_are_none_are_refused(
    bert_folder: Path, name: str, settings: dict[str, Any]
) -> None:
    _change(bert_folder, name, **settings)
    with pytest.raises(CheckpointError, match="a limit or prefix cannot be read"):
        checkpoint.load(bert_folder)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, "mean"),
        ({"embedding_dimension": 36, "pooling_mode": "cls", "include_prompt": True}, "cls"),
        ({"embedding_dimension": 36, "pooling_mode": "mean"}, "mean"),
        ({"pooling_mode_max_tokens": True}, "max"),
        ({"embedding_dimension": 36, "pooling_mode": "max"}, "max"),
    ],
)
def test_pooling_is_read_in_the_old_and_the_new_form(
    bert_folder: Path, settings: dict[str, Any], expected: str
) -> None:
    _change(bert_folder, "1_Pooling/config.json", **settings)
    assert checkpoint.load(bert_folder).embedding.pooling == expected


@pytest.mark.parametrize(
    "settings",
    [
        {"pooling_mode_mean_sqrt_len_tokens": True},
        {"pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True},
        {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True},
        {"pooling_mode": "lasttoken"},
        {"pooling_mode": ["mean", "cls"]},
    ],
)
def test_other_pooling_is_refused(bert_folder: Path, settings: dict[str, Any]) -> None:
    _change(bert_folder, "1_Pooling/config.json", **settings)
    with pytest.raises(CheckpointError, match=r"pooling .* is not read; mean, CLS and max are"):
        checkpoint.load(bert_folder)


@pytest.mark.parametrize("key", ["document", "passage"])
def test_prompts_are_prefixes(bert_folder: Path, key: str) -> None:
    prompts = {"query": "query: ", key: "passage: "}
    _change(bert_folder, "config_sentence_transformers.json", prompts=prompts)
    embedding = checkpoint.load(bert_folder).embedding
    assert (embedding.query_prefix, embedding.document_prefix) == ("query: ", "passage: ")


def _write_modules(folder: Path, *kinds: str) -> None:
    modules = [{"idx": i, "type": f"sentence_transformers.models.{k}"} for i, k in enumerate(kinds)]
    (folder / "modules.json").write_text(json.dumps(modules), encoding="utf-8")


def test_a_layer_behind_the_pooling_is_refused(bert_folder: Path) -> None:
    _write_modules(bert_folder, "Transformer", "Pooling", "Normalize")
    checkpoint.load(bert_folder)
    _write_modules(bert_folder, "Transformer", "Pooling", "Dense")
    with pytest.raises(CheckpointError, match=r"modules\.json: modules that are not read: Dense"):
        checkpoint.load(bert_folder)
    (bert_folder / "modules.json").write_text("{", encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"modules\.json cannot be read"):
        checkpoint.load(bert_folder)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model_type": "t5"}, "model_type 't5'; read are bert, roberta, xlm-roberta"),
        ({"position_embedding_type": "relative_key"}, "'relative_key' is not read"),
        ({"hidden_act": "swiglu"}, "hidden_act 'swiglu' is not read; gelu, gelu_new"),
        ({"num_attention_heads": 5}, r"n_heads \(5\) must divide d_model \(36\)"),
        ({"intermediate_size": 53}, r"shape \(52, 36\), the config asks for \(53, 36\)"),
        ({"num_hidden_layers": 3}, r"no tensor 'encoder\.layer\.2\."),
    ],
)
def test_what_is_not_read_says_so(
    bert_folder: Path, settings: dict[str, Any], message: str
) -> None:
    _change(bert_folder, "config.json", **settings)
    with pytest.raises(CheckpointError, match=message):
        checkpoint.load(bert_folder)


def test_a_missing_setting_is_named(bert_folder: Path) -> None:
    path = bert_folder / "config.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    del settings["hidden_size"]
    path.write_text(json.dumps(settings), encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"config\.json lacks 'hidden_size'"):
        checkpoint.load(bert_folder)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
def test_a_missing_file_is_named(bert_folder: Path, name: str) -> None:
    (bert_folder / name).unlink()
    with pytest.raises(CheckpointError, match=f"{name} is missing"):
        checkpoint.load(bert_folder)


def test_pickle_alone_is_refused(bert_folder: Path) -> None:
    (bert_folder / "model.safetensors").rename(bert_folder / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match=r"pytorch_model\.bin may run code and is never read"):
        checkpoint.load(bert_folder)


def test_a_missing_tensor_is_named(bert_folder: Path) -> None:
    path = bert_folder / "model.safetensors"
    tensors = load_file(path)
    del tensors["embeddings.LayerNorm.bias"]
    save_file(tensors, path)
    with pytest.raises(CheckpointError, match=r"no tensor 'embeddings\.LayerNorm\.bias'"):
        checkpoint.load(bert_folder)
