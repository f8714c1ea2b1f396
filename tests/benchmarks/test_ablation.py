"""The ablation takes out what it says it does, and draws what it measured."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close
from typer.testing import CliRunner

from benchmarks import ablation, lengths
from encoder import Encoder, EncoderConfig
from tests.builders import bert_tokenizer, normal, randomised, sentence
from transformer.attention import Attention
from transformer.block import Block
from transformer.runtime import seeded
from transformer.training import TrainingConfig

BASE = EncoderConfig(
    vocab_size=97, d_model=16, n_layers=2, n_heads=2, d_ff=24, max_tokens=ablation.PAST
)


def _model(variant: ablation.Variant) -> Encoder:
    model = randomised(Encoder(variant.config), seeded(0))
    variant.change(model)
    return model.eval()


def _variants() -> dict[str, ablation.Variant]:
    return {variant.name: variant for variant in ablation.variants(BASE)}


def test_every_combination_is_there_once() -> None:
    names = list(_variants())
    assert len(names) == 4 * 2 + 4
    assert {name.split(",")[0] for name in names[:8]} == {"none", "sinusoidal", "learned", "rotary"}
    assert _variants()["… with 1 head"].config.n_heads == 1


def test_without_scaling_scores_are_plain_products() -> None:
    model, x = _model(_variants()["… without √d scaling"]), normal(1, 5, 16)
    attention = model.blocks[0].attention
    assert isinstance(attention, Attention)
    q, k, v = attention.project(x)
    plain = (attention.qkv(x)[..., :16]).view(1, 5, 2, 8).transpose(1, 2)
    assert_close(q / 8**0.5, plain)
    mixed = (plain @ k.transpose(-1, -2)).softmax(-1) @ v
    assert_close(attention(x), attention.out(mixed.transpose(1, 2).flatten(2)))


def test_without_residuals_or_feed_forward_nothing_of_them_is_left() -> None:
    x = normal(1, 5, 16)
    cut = _model(_variants()["… without residuals"]).blocks[0]
    assert isinstance(cut, ablation.WithoutResiduals)
    whole = cut.block
    y = whole.attention(whole.attention_norm(x))
    assert_close(cut(x, mask=None, rotation=None), whole.feed_forward(whole.feed_forward_norm(y)))
    bare = _model(_variants()["… without feed-forward"]).blocks[0]
    assert isinstance(bare, Block)
    assert_close(bare(x), x + bare.attention(bare.attention_norm(x)))


def test_the_table_has_a_row_for_every_variant() -> None:
    rng = seeded(1)
    texts = [sentence(rng, 30) for _ in range(12)]
    long = [sentence(rng, ablation.PAST + 10) for _ in range(2)]
    corpus = ablation.Corpus(bert_tokenizer(), texts, long, None)
    table = ablation.measure(corpus, BASE, TrainingConfig(steps=1, precision="float32"))
    assert [row["name"] for row in table.rows] == list(_variants())
    for row in table.rows:
        for column in ("loss", "loss_64", "loss_256"):
            assert row[column] == pytest.approx(4.57, abs=0.5)  # log 97: one step teaches little


def test_time_and_length_are_drawn() -> None:
    table = lengths.measure(most=128)
    assert [row["tokens"] for row in table.rows] == [64, 128] * 3
    drawings = lengths.draw(table)
    assert drawings["time"].startswith("<svg")
    assert all(name in drawings["time"] for name in ("LSTM", "fused attention", "tokens"))
    flat = replace(table, rows=tuple({**row, "MB": 0.0} for row in table.rows))
    assert list(lengths.draw(flat)) == ["time"]


def test_a_folder_without_the_text_is_named(tmp_path: Path) -> None:
    told = CliRunner().invoke(ablation.app, ["--data", str(tmp_path)])
    assert told.exit_code == 2
    assert "--data" in told.output


def test_the_weights_of_all_pairs_are_what_takes_memory() -> None:
    work = lengths._work("plain attention", 64)
    with torch.inference_mode():
        assert_close(work(), lengths._work("fused attention", 64)(), atol=1e-5, rtol=1e-5)
