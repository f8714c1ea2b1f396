"""An adapter stands beside its own model, of whatever precision, and beside no other."""

from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from generator import Generator, Writer, checkpoint
from generator.checkpoint import GeneratorCheckpoint
from generator.finetune import narrow, require_whole
from generator.precision import Precision
from generator.stepping import Stepper
from tests.builders import normal
from tests.generator.builders import generator, loaded, prompt, tokenizer
from transformer import CheckpointError, compiled, lora, packaged, runtime
from transformer.checkpoint import write_tensors
from transformer.errors import TrainingError
from transformer.lora import LoraConfig, LoraLinear
from transformer.low_rank import LowRankLinear
from transformer.quantize import Int4Linear
from transformer.runtime import seeded

_TOKENS = torch.tensor([[5, 6, 7, 40, 41]])
_CONFIG = LoraConfig(rank=4, alpha=8.0)
LIBRARY = compiled.library()
needs_kernels = pytest.mark.skipif(LIBRARY is None, reason="the install built no kernels")


_ROUNDING = 3  # the level of the compiled kernels that takes products of bfloat16


def _levels() -> list[int]:
    return [-1] if LIBRARY is None else list(range(LIBRARY.attest_level(-1) + 1))


@pytest.fixture
def base(tmp_path: Path) -> Path:
    model = generator(d_model=64, head_width=16, n_heads=4, d_ff=96)
    checkpoint.save(loaded(model, tokenizer()), tmp_path / "base")
    return tmp_path / "base"


def _learned(
    folder: Path, *, seed: int = 1, size: float = 0.2, config: LoraConfig = _CONFIG
) -> GeneratorCheckpoint:
    """A generator whose adapter says something."""
    made = checkpoint.load(folder, "fp32")
    lora.attach(made.model, config, rng=seeded(seed))
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
    assert found.grounded
    assert_close(found.model(_TOKENS), made.model(_TOKENS), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("precision", ["fp32", "int8", "int4"])
def test_the_base_keeps_every_bit(base: Path, tmp_path: Path, precision: Precision) -> None:
    file = _saved(_learned(base), tmp_path / "adapter.safetensors")
    bare = checkpoint.load(base, precision).model
    found = checkpoint.load(base, precision, adapter=file).model
    for name, layer in found.named_modules():
        if isinstance(layer, LowRankLinear):
            plain = bare.get_submodule(name)
            assert type(layer.base) is type(plain)
            kept, expected = (dict(m.named_buffers()) for m in (layer.base, plain))
            assert kept.keys() == expected.keys()
            assert all(torch.equal(kept[n], expected[n]) for n in kept)
            x = torch.ones(1, layer.a.shape[1])
            assert not torch.equal(layer(x), plain(x))


@pytest.fixture
def grid(base: Path, tmp_path: Path) -> Path:
    """A model that lies on a grid of four bits, as a quantised file does."""
    bare = checkpoint.load(base, "fp32")
    with torch.no_grad():
        for module in bare.model.modules():
            if isinstance(module, torch.nn.Linear):
                module.weight.copy_(Int4Linear(module.weight.detach()).dequantized())
    checkpoint.save(bare, tmp_path / "grid")
    return tmp_path / "grid"


@torch.no_grad()
def test_four_bits_keep_an_adapter_that_folding_would_lose(grid: Path, tmp_path: Path) -> None:
    made = _learned(grid, size=0.01)  # less than a step of the grid
    file = _saved(made, tmp_path / "adapter.safetensors")
    name = "blocks.0.feed_forward.down"
    beside = checkpoint.load(grid, "int4", adapter=file).model.get_submodule(name)
    layer = made.model.get_submodule(name)
    assert isinstance(beside, LowRankLinear)
    assert isinstance(layer, LoraLinear)
    before, whole = layer.base.weight, layer.merged().weight
    one_by_one = torch.eye(whole.shape[1]).unsqueeze(1)
    kept = torch.cat([beside(x) - beside.base(x) for x in one_by_one])
    assert_close(kept.t(), whole - before, atol=1e-4, rtol=1e-2)
    folded = Int4Linear(whole).dequantized()
    assert (folded - whole).norm() > 0.6 * (whole - before).norm()


@needs_kernels
@pytest.mark.parametrize("level", _levels())
@pytest.mark.parametrize(
    "config",
    [
        _CONFIG,
        LoraConfig(rank=3, alpha=6.0),  # the kernels take an even one
        LoraConfig(rank=12, alpha=12.0, last_layers=1, targets=("out", "down")),
    ],
    ids=["every matrix", "odd rank", "some"],
)
def test_the_compiled_step_adds_what_torch_adds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: int, config: LoraConfig
) -> None:
    # Else torch's rounding between its products would hide a difference.
    monkeypatch.setattr(runtime, "fast_dtype", lambda: torch.float32)
    wide = generator(vocab_size=272, d_model=64, head_width=32, n_heads=4, d_ff=96)
    checkpoint.save(loaded(wide, tokenizer()), tmp_path / "wide")
    made = _learned(tmp_path / "wide", config=config)
    narrow(made.model)  # as a file keeps it, and the kernels
    file = _saved(made, tmp_path / "adapter.safetensors")
    model, bare = (
        checkpoint.load(tmp_path / "wide", "int4", adapter=one).model for one in (file, None)
    )
    tokens = prompt(20, seed=3)
    assert LIBRARY is not None
    try:
        LIBRARY.attest_level(level)  # torch's path multiplies by the same kernels
        by_torch, without = (_one_by_one(each, tokens) for each in (model, bare))
        alone, *others = _steps(model, tokens)
    finally:
        LIBRARY.attest_level(-1)
    assert (by_torch - without).abs().mean() > 0.1
    # The best kernels round what comes in to bfloat16: where a sum lies between two of these, the
    # order of adding decides, and that is not the same on every processor.
    near = 5e-2 if level == _ROUNDING else 2e-3
    assert_close(alone, by_torch, atol=near, rtol=near)
    assert (alone - by_torch).abs().mean() < near / 10
    assert all(torch.equal(other, alone) for other in others)


def _steps(model: Generator, tokens: list[int]) -> list[Tensor]:
    """Logits by the kernels: one by one and in rows, on one thread and on three."""
    before, found = torch.get_num_threads(), list[Tensor]()
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            stepper, cache = Stepper(model), model.new_cache(len(tokens))
            assert stepper.rows > 1
            found.append(torch.cat([stepper.step([cache], [token]) for token in tokens]))
            cache.truncate(0)
            found.append(stepper.step([cache] * len(tokens), tokens))
    finally:
        torch.set_num_threads(before)
    return found


@torch.inference_mode()
def _one_by_one(model: Generator, tokens: list[int]) -> Tensor:
    cache = model.new_cache(len(tokens))
    return torch.cat([model(torch.tensor([[token]]), cache)[0] for token in tokens])


def test_with_an_adapter_beside_it_a_model_is_not_saved_or_trained(
    base: Path, tmp_path: Path
) -> None:
    file = _saved(_learned(base), tmp_path / "adapter.safetensors")
    found = checkpoint.load(base, "fp32", adapter=file)
    with pytest.raises(ValueError, match="an adapter beside it cannot be saved: load it without"):
        checkpoint.save(found, tmp_path / "saved")
    with pytest.raises(TrainingError, match="an adapter beside it cannot be trained"):
        require_whole(found)


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
    for file in checkpoint.PACKAGED.glob(f"*/{packaged.FILE}"):
        adapter = lora.read(file)
        assert file.stat().st_size <= 8 * 1024 * 1024
        assert 0 < max(t.shape[0] for n, t in adapter.tensors.items() if n.endswith(".a")) <= 12
        card = file.with_name("README.md").read_text(encoding="utf-8")
        assert adapter.base in card
        assert "CC BY-SA 4.0" in card
