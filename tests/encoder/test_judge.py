"""A judge of evidence is a classifier of pairs on an embedder's own model."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from encoder import Embedder, checkpoint
from encoder.classify import Classifier, ClassifierConfig, train_classifier
from encoder.examples import Example
from encoder.headed import ADAPTER
from encoder.judge import ADAPTERS, NO, YES, Judge
from tests.builders import sentence
from tests.encoder.heads_learning import short_run, tiny_encoder
from transformer import lora, packaged
from transformer.errors import CheckpointError
from transformer.lora import LoraConfig
from transformer.runtime import seeded

_CONFIG = ClassifierConfig(
    max_tokens=12, batch=16, held_out=0.2, lora=LoraConfig(rank=4), training=short_run(50)
)


def _pairs(n: int = 120) -> list[Example]:
    """ "yes" where w31 ends the sentence, "no" where w32 does."""
    rng = seeded(3)
    return [
        Example("w7", label, second=f"{sentence(rng, 1 + i % 4, of=30)} w{31 + i % 2}")
        for i, label in enumerate([YES, NO] * (n // 2))
    ]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base") / "tiny"
    checkpoint.save(tiny_encoder(), folder)
    return folder


@pytest.fixture(scope="module")
def trained(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("judge")
    train_classifier(base, _pairs(), _CONFIG, folder)
    return folder / ADAPTER


def test_it_says_what_its_classifier_says_and_holds_no_second_table(
    base: Path, trained: Path
) -> None:
    embedder = Embedder.load(base, dtype=torch.float32)
    vectors = embedder.embed_queries(["w1 w2"])
    judge = Judge.beside(embedder, base, lora.read(trained))
    odds = judge.log_odds("w7", ["w9 w31", "w9 w32"])
    assert odds.dtype == np.float32
    assert odds[0] > 0 > odds[1]
    told = Classifier.load(trained, base, dtype=torch.float32).classify(
        ["w7", "w7"], ["w9 w31", "w9 w32"]
    )
    probabilities = 1 / (1 + np.exp(-odds))
    assert probabilities == pytest.approx([each.scores[YES] for each in told], abs=1e-4)
    tables = [judge._classifier._model.encoder.embedding, embedder.model.embedding]
    assert tables[0].weight.data_ptr() == tables[1].weight.data_ptr()
    assert (embedder.embed_queries(["w1 w2"]) == vectors).all()


def test_no_sentence_is_no_judgement(base: Path, trained: Path) -> None:
    judge = Judge.beside(Embedder.load(base), base, lora.read(trained))
    assert judge.log_odds("w3", []).shape == (0,)


def test_an_adapter_for_another_model_or_another_task_is_refused(base: Path, trained: Path) -> None:
    embedder, adapter = Embedder.load(base), lora.read(trained)
    with pytest.raises(CheckpointError, match="was made for the model"):
        Judge.beside(embedder, base, replace(adapter, base="f" * 16))
    with pytest.raises(CheckpointError, match="a judge is a classifier, this is a 'reader'"):
        Judge.beside(embedder, base, replace(adapter, note={**adapter.note, "kind": "reader"}))
    labels = {**adapter.note, "labels": ["a", "b"]}
    with pytest.raises(CheckpointError, match="by the labels yes and no, this adapter by a, b"):
        Judge.beside(embedder, base, replace(adapter, note=labels))


def test_every_packaged_judge_is_small_and_tells_of_itself() -> None:
    files = list(ADAPTERS.glob(f"*/{packaged.FILE}"))
    assert files
    for file in files:
        adapter = lora.read(file)
        assert file.stat().st_size <= 8 * 1024 * 1024
        assert set(adapter.note["labels"]) == {YES, NO}
        card = file.with_name("README.md").read_text(encoding="utf-8")
        assert adapter.base in card
        assert "CC BY-SA 4.0" in card
