"""The product's generator comes with the adapter that was made for it, and with no other."""

from pathlib import Path

import pytest

from generator import checkpoint
from rag import Settings, models
from rag.loaded import LoadedModels, describe
from tests.generator.builders import generator, loaded, tokenizer
from transformer import lora, packaged
from transformer.lora import LoraConfig
from transformer.runtime import seeded


@pytest.fixture
def base(tmp_path: Path) -> Path:
    model = generator(d_model=64, head_width=16, n_heads=4, d_ff=96)
    checkpoint.save(loaded(model, tokenizer()), tmp_path / "base")
    return tmp_path / "base"


def test_a_model_without_one_is_loaded_as_it_is(base: Path) -> None:
    plain = models.load_writer(base)
    assert plain.fingerprint == checkpoint.load(base, "int4").fingerprint
    assert not plain.grounded


def test_the_packaged_adapter_is_taken_for_its_own_model(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = checkpoint.load(base, "fp32")
    lora.attach(made.model, LoraConfig(rank=2), rng=seeded(0))
    file = tmp_path / "adapters" / "ours" / packaged.FILE
    file.parent.mkdir(parents=True)
    lora.save(made.model, file, base=made.fingerprint)
    monkeypatch.setattr(checkpoint, "PACKAGED", tmp_path / "adapters")

    writer = models.load_writer(base)
    assert writer.fingerprint == checkpoint.load(base, "fp32", adapter=file).fingerprint
    assert writer.fingerprint != made.fingerprint
    assert writer.grounded
    product = LoadedModels(Settings(home=tmp_path / "home", generator=str(base), threads=1))
    assert product.writer().fingerprint == writer.fingerprint
    assert describe(base)[0] == writer.fingerprint
