"""Adapters change nothing at first, learn alone, travel alone, and fold away."""

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.testing import assert_close

from encoder import Encoder, EncoderConfig
from tests.builders import normal, randomised
from transformer import CheckpointError, lora
from transformer.lora import LoraConfig, LoraLinear
from transformer.packed import pack
from transformer.runtime import seeded

CONFIG = EncoderConfig(vocab_size=31, d_model=32, n_layers=3, n_heads=4, d_ff=48, max_tokens=16)
SMALL = LoraConfig(rank=4, alpha=8.0)
TOKENS = torch.arange(24).view(2, 12)


def _encoder() -> Encoder:
    return randomised(Encoder(CONFIG), seeded(0)).eval()


def _adapted(config: LoraConfig = SMALL) -> Encoder:
    """An encoder whose adapter says something."""
    model = _encoder()
    lora.attach(model, config, rng=seeded(1))
    with torch.no_grad():
        for layer in (m for m in model.modules() if isinstance(m, LoraLinear)):
            layer.b.copy_(0.3 * normal(*layer.b.shape, seed=2))
    return model


def _output(model: nn.Module) -> Tensor:
    with torch.no_grad():
        found: Tensor = model(TOKENS)
    return found


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_new_adapter_leaves_the_output_as_it_is(dtype: torch.dtype) -> None:
    model = _encoder().to(dtype)
    before = _output(model)
    lora.attach(model, SMALL, rng=seeded(1))
    assert torch.equal(_output(model), before)
    assert {t.dtype for t in lora.state(model).values()} == {dtype}


def test_the_addition_is_the_product_of_the_two() -> None:
    linear = randomised(nn.Linear(6, 5), seeded(0))
    a, b, x = normal(2, 6), normal(5, 2, seed=1), normal(3, 6, seed=2)
    layer = LoraLinear(linear, a, b, scale=1.5)
    assert_close(layer(x), F.linear(x, linear.weight + 1.5 * b @ a, linear.bias))


def test_only_the_adapter_learns() -> None:
    model = _adapted()
    model(TOKENS).square().mean().backward()
    learning = {name for name, p in model.named_parameters() if p.grad is not None}
    assert learning == set(lora.state(model))
    assert learning == {name for name, p in model.named_parameters() if p.requires_grad}
    assert len(learning) == 2 * 4 * CONFIG.n_layers  # qkv, out, up and down of each block


def test_folded_away_it_computes_the_same_and_is_plain() -> None:
    model, plain = _adapted(), _encoder()
    before = _output(model)
    lora.merge(model)
    assert_close(_output(model), before, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(before, _output(plain), atol=1e-2)
    assert dict(model.named_parameters()).keys() == dict(plain.named_parameters()).keys()
    assert lora.state(model) == {}


def test_folding_writes_to_no_tensor_of_the_base() -> None:
    model = _adapted()
    base = {n: p for n, p in model.named_parameters() if ".base." in n}
    before = {name: p.clone() for name, p in base.items()}
    lora.merge(model)
    assert all(torch.equal(p, before[name]) for name, p in base.items())


def test_a_folded_model_can_be_packed() -> None:
    model = _adapted().bfloat16()
    expected = _output(model)
    lora.merge(model)
    pack(model)
    nearness = F.cosine_similarity(_output(model).float(), expected.float(), dim=-1)
    assert nearness.min() > 0.99


def test_it_travels_alone_with_what_was_trained_beside_it(tmp_path: Path) -> None:
    model, head = _adapted(), normal(2, 32)
    file = tmp_path / "adapter.safetensors"
    lora.save(model, file, base="feed", note={"labels": ["a", "b"]}, extra={"head.weight": head})

    other = _encoder()
    adapter = lora.load(other, file, base="feed")

    assert torch.equal(_output(other), _output(model))
    assert adapter.note == {"labels": ["a", "b"]}
    assert torch.equal(adapter.extra["head.weight"], head)
    numbers = sum(t.numel() for t in lora.state(model).values()) + head.numel()
    assert file.stat().st_size < 4 * numbers + 6000
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_bytes_and_a_file_hold_the_same(tmp_path: Path) -> None:
    model = _adapted()
    content = lora.to_bytes(model, base="feed")
    lora.save(model, tmp_path / "a", base="feed")
    assert (tmp_path / "a").read_bytes() == content
    other = _encoder()
    lora.load(other, lora.read(content), base="feed")
    assert torch.equal(_output(other), _output(model))


def test_the_last_blocks_alone_can_be_adapted() -> None:
    model = _adapted(LoraConfig(rank=2, targets=("qkv",), last_layers=2))
    assert sorted(lora.state(model)) == [
        f"blocks.{i}.attention.qkv.{leaf}" for i in (1, 2) for leaf in "ab"
    ]
    content = lora.to_bytes(model, base="feed")
    other = _encoder()
    lora.load(other, content, base="feed")
    assert torch.equal(_output(other), _output(model))


def test_another_model_is_refused_with_both_fingerprints() -> None:
    content = lora.to_bytes(_adapted(), base="feed")
    model = _encoder()
    with pytest.raises(CheckpointError, match=r"model feed, this one is beef"):
        lora.load(model, content, base="beef")
    assert all(p.requires_grad for p in model.parameters())


def test_an_adapter_of_another_shape_is_refused_and_nothing_is_attached() -> None:
    content = lora.to_bytes(_adapted(), base="feed")
    wider = Encoder(
        EncoderConfig(vocab_size=31, d_model=32, n_layers=3, n_heads=4, d_ff=64, max_tokens=16)
    )
    with pytest.raises(CheckpointError, match=r"blocks.0.feed_forward.down .*\(4, 48\).*\(4, 64\)"):
        lora.load(wider, content, base="feed")
    fewer = Encoder(
        EncoderConfig(vocab_size=31, d_model=32, n_layers=2, n_heads=4, d_ff=48, max_tokens=16)
    )
    with pytest.raises(CheckpointError, match=r"blocks\.2\..* no such layer"):
        lora.load(fewer, content, base="feed")
    assert lora.state(wider) == lora.state(fewer) == {}


@pytest.mark.parametrize("damage", ["cut", "other", "empty", "absent"])
def test_what_is_no_adapter_is_refused(tmp_path: Path, damage: str) -> None:
    file = tmp_path / "adapter"
    content = lora.to_bytes(_adapted(), base="feed")
    if damage != "absent":
        file.write_bytes({"cut": content[:-9], "other": b"hello " * 9, "empty": b""}[damage])
    with pytest.raises(CheckpointError, match="adapter"):
        lora.read(file)


def test_a_second_adapter_and_a_model_without_targets_are_refused() -> None:
    with pytest.raises(ValueError, match="merge it first"):
        lora.attach(_adapted(), SMALL, rng=seeded(0))
    with pytest.raises(ValueError, match="no linear layer of the names k_proj"):
        lora.attach(_encoder(), LoraConfig(targets=("k_proj",)), rng=seeded(0))
    with pytest.raises(ValueError, match="no adapter to save"):
        lora.to_bytes(_encoder(), base="feed")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"rank": 0}, r"rank \(0\)"),
        ({"alpha": 0.0}, r"alpha \(0.0\)"),
        ({"targets": ()}, "targets is empty"),
        ({"last_layers": 0}, r"last_layers \(0\)"),
    ],
)
def test_settings_that_cannot_be_are_refused(setting: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LoraConfig(**setting)  # type: ignore[arg-type]
