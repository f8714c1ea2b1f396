"""One run of the measurement on a tiny encoder: figures, and that a finished run is kept."""

from pathlib import Path

import pytest

from benchmarks import classifying
from benchmarks.classifying import Learned
from benchmarks.labelled_data import Labels
from encoder.checkpoint import save
from encoder.classify import ClassifierConfig
from encoder.examples import Example
from encoder.headed import ADAPTER
from tests.encoder.heads_learning import short_run, tiny_encoder
from transformer.lora import LoraConfig

TEST = (Example("w3 w1", "tea"), Example("w3 w2", "milk"), Example("w4 w1", "milk"))


def _read(_data: Path) -> Labels:
    train = [Example(f"w{i} w{1 + i % 2}", "tea" if i % 2 == 0 else "milk") for i in range(10, 40)]
    return Labels("drinks", tuple(train), TEST)


def test_a_run_is_judged_on_its_test_and_not_made_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = ClassifierConfig(
        max_tokens=12, batch=8, lora=LoraConfig(rank=4), training=short_run(40)
    )
    monkeypatch.setitem(classifying._LABELS, Learned.trec, classifying._Labels(_read, config))
    save(tiny_encoder(), tmp_path / "tiny")
    row = classifying.labels(Learned.trec, tmp_path, tmp_path / "tiny", tmp_path / "run")
    assert row["name"] == "drinks, tiny"
    assert row["accuracy_pct"] == pytest.approx(200 / 3)  # the last of the test is labelled wrong
    assert (row["learned_from"], row["tested_on"], row["steps"]) == (30, 3, 40)
    made = (tmp_path / "run" / ADAPTER).stat().st_mtime_ns
    again = classifying.labels(Learned.trec, tmp_path, tmp_path / "tiny", tmp_path / "run")
    assert again["accuracy_pct"] == row["accuracy_pct"]
    assert (tmp_path / "run" / ADAPTER).stat().st_mtime_ns == made
