"""An adapter is folded into its own model while that is read, and into no other."""

from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from generator import Writer, checkpoint, packaged
from generator.checkpoint import GeneratorCheckpoint
from tests.builders import normal
from tests.generator.builders import generator, loaded, tokenizer
from transformer import CheckpointError, lora
from transformer.checkpoint import write_tensors
from transformer.lora import LoraConfig, LoraLinear
from transformer.quantize import Int4Linear, Int8Linear, QuantizedLinear
from transformer.runtime import seeded

_TOKENS = torch.tensor([[5, 6, 7, 40, 41]])


@pytest.fixture
def base(tmp_path: Path) -> Path:
    model = generator(d_model=64, head_width=16, n_heads=4, d_ff=96)
    checkpoint.save(loaded(model, tokenizer()), tmp_path / "base")
    return tmp_path / "base"


def _learned(
    folder: Path, *, seed: int = 1, group: int = 1, size: float = 0.2
) -> GeneratorCheckpoint:
    """A generator whose adapter says something."""
    made = checkpoint.load(folder, "fp32")
    lora.attach(made.model, LoraConfig(rank=4, alpha=8.0, group=group), rng=seeded(seed))
    with torch.no_grad():
        for number, layer in enumerate(
            m for m in made.model.modules() if isinstance(m, LoraLinear)
        ):
            layer.b.copy_(size * normal(*layer.b.shape, seed=seed + number))
    return made


def _saved(made: GeneratorCheckpoint, file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    lora.save(made.model, file, base=made.fingerprint)
    return file


@torch.no_grad()
def test_what_is_loaded_with_an_adapter_is_the_adapted_model(base: Path, tmp_path: Path) -> None:
    made = _learned(base)
    file = _saved(made, tmp_path / "adapter.safetensors")
    found = checkpoint.load(base, "fp32", adapter=file)
    assert_close(found.model(_TOKENS), made.model(_TOKENS), atol=1e-4, rtol=1e-4)
    assert not any(isinstance(module, LoraLinear) for module in found.model.modules())


@torch.no_grad()
@pytest.mark.parametrize(
    ("precision", "group", "kind"),
    [("int8", 1, Int8Linear), ("int4", 1, Int8Linear), ("int4", 32, Int4Linear)],
)
def test_the_sum_is_quantised_and_there_once(
    base: Path, tmp_path: Path, precision: str, group: int, kind: type[QuantizedLinear]
) -> None:
    """In 4 bits only what rounding does not take away."""
    made = _learned(base, group=group)
    file = _saved(made, tmp_path / "adapter.safetensors")
    found = checkpoint.load(base, precision, adapter=file)  # type: ignore[arg-type]
    layer = found.model.blocks[1].feed_forward.down
    lora.merge(made.model)
    expected = kind(made.model.blocks[1].feed_forward.down.weight)
    assert isinstance(layer, kind)
    assert_close(layer.dequantized(), expected.dequantized())
    assert not any(isinstance(module, LoraLinear) for module in found.model.modules())


@torch.no_grad()
def test_what_lies_on_a_grid_of_four_bits_keeps_a_grouped_adapter_whole(
    base: Path, tmp_path: Path
) -> None:
    bare = checkpoint.load(base, "fp32")
    for block in bare.model.blocks:
        for linear in (block.attention.qkv, block.feed_forward.down):
            linear.weight.copy_(Int4Linear(linear.weight.detach()).dequantized())
    folder = tmp_path / "grid"
    checkpoint.save(bare, folder)
    lost = {}
    for group in (1, 32):
        made = _learned(folder, group=group, size=0.01)  # less than a step of the grid
        name = "feed_forward.down"
        before = made.model.blocks[0].get_submodule(name).base.weight.detach().clone()
        lora.merge(made.model)
        whole = made.model.blocks[0].get_submodule(name).weight
        kept = Int4Linear(whole).dequantized()
        lost[group] = ((kept - whole).norm() / (whole - before).norm()).item()
    assert lost[32] < 0.15 < 0.6 < lost[1], lost


def test_its_fingerprint_says_so(base: Path, tmp_path: Path) -> None:
    bare = checkpoint.load(base, "fp32").fingerprint
    marks = {bare}
    for seed in (1, 2):
        file = _saved(_learned(base, seed=seed), tmp_path / f"{seed}.safetensors")
        marks.add(checkpoint.load(base, "fp32", adapter=file).fingerprint)
        again = checkpoint.load(base, "int4", adapter=file).fingerprint
        assert again in marks  # whatever the precision
    assert len(marks) == 3


def test_an_adapter_for_another_model_is_refused_and_both_are_named(
    base: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    checkpoint.save(
        loaded(generator(seed=5, d_model=64, head_width=16, n_heads=4, d_ff=96), tokenizer()), other
    )
    file = _saved(_learned(other), tmp_path / "adapter.safetensors")
    theirs, ours = (checkpoint.load(folder, "fp32").fingerprint for folder in (other, base))
    with pytest.raises(CheckpointError, match=f"made for the model {theirs}, this one is {ours}"):
        checkpoint.load(base, "fp32", adapter=file)


@pytest.mark.parametrize(
    ("break_", "message"),
    [
        ({"blocks.0.attention.qkv.a": (4, 3)}, r"of blocks\.0\.attention\.qkv have shapes"),
        ({"blocks.9.attention.qkv.a": (4, 64)}, "no such layer"),
    ],
)
def test_an_adapter_that_does_not_fit_is_refused(
    base: Path, tmp_path: Path, break_: dict[str, tuple[int, int]], message: str
) -> None:
    made = _learned(base)
    tensors = lora.state(made.model) | {n: torch.zeros(*shape) for n, shape in break_.items()}
    note = {"kind": "lora", "base": made.fingerprint, "scale": 2.0, "note": {}}
    file = tmp_path / "adapter.safetensors"
    write_tensors(file, {f"lora/{name}": t for name, t in tensors.items()}, note=note)
    with pytest.raises(CheckpointError, match=message):
        checkpoint.load(base, "fp32", adapter=file)


def test_a_packaged_adapter_is_found_by_the_fingerprint_of_its_base(
    base: Path, tmp_path: Path
) -> None:
    made = _learned(base)
    _saved(made, tmp_path / "adapters" / "ours" / packaged.FILE)
    found = packaged.find(made.fingerprint, tmp_path / "adapters")
    assert found is not None
    assert found.base == made.fingerprint
    assert packaged.find("f" * 16, tmp_path / "adapters") is None


def test_a_model_without_a_packaged_adapter_is_loaded_as_it_is(base: Path) -> None:
    bare = checkpoint.load(base, "int4")
    assert checkpoint.load(base, "int4", adapter="packaged").fingerprint == bare.fingerprint
    assert Writer.load(base).fingerprint == bare.fingerprint


def test_every_packaged_adapter_is_small_and_tells_of_itself() -> None:
    for file in packaged.FOLDER.glob(f"*/{packaged.FILE}"):
        adapter = lora.read(file)
        assert file.stat().st_size <= 8 * 1024 * 1024
        assert 0 < max(t.shape[0] for n, t in adapter.tensors.items() if n.endswith(".a")) <= 12
        card = file.with_name("README.md").read_text(encoding="utf-8")
        assert adapter.base in card
        assert "CC BY-SA 4.0" in card
