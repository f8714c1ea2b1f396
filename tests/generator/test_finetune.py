"""Conversations are learned, by the whole model or by an adapter that leaves it alone."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from generator import Message
from generator.checkpoint import GeneratorCheckpoint
from generator.data import Example
from generator.decoding import decode
from generator.finetune import FinetuneConfig, finetune
from generator.prompts import Prompts
from generator.sampling import Sampling
from tests.generator.builders import config, generator, loaded, tokenizer
from transformer import lora
from transformer.errors import TrainingError
from transformer.lora import LoraConfig
from transformer.quantize import quantized
from transformer.runtime import seeded
from transformer.training import TrainingConfig

_PAIRS = {"what is it": "a hen", "what was it": "a well", "who is it": "the miller"}
_EXAMPLES = [Example((Message("user", q),), a) for q, a in _PAIRS.items()] * 8
_TRAINING = TrainingConfig(steps=60, learning_rate=1e-2, evaluate_every=20, precision="float32")
_CONFIG = FinetuneConfig(_TRAINING, length=128, rows=4, held_out=0.2)


def _checkpoint() -> GeneratorCheckpoint:
    return loaded(generator(d_model=48, d_ff=64), tokenizer())


def _answer(checkpoint: GeneratorCheckpoint, question: str) -> str:
    words, ends = checkpoint.tokenizer, checkpoint.chat.ends
    asked = Prompts(checkpoint.chat, words).encode([Message("user", question)])
    tokens = decode(checkpoint.model, asked, Sampling(max_tokens=20), ends=ends, rng=seeded(0))
    return words.decode(list(tokens))


def test_the_answers_are_learned_and_where_they_end(tmp_path: Path) -> None:
    checkpoint = _checkpoint()
    done = finetune(checkpoint, _EXAMPLES, _CONFIG, tmp_path)
    assert done.metrics["accuracy"] > 0.95
    assert {question: _answer(checkpoint, question) for question in _PAIRS} == _PAIRS


def test_an_adapter_learns_alone_and_is_the_same_merged(tmp_path: Path) -> None:
    checkpoint = _checkpoint()
    before = {name: p.detach().clone() for name, p in checkpoint.model.named_parameters()}
    how = LoraConfig(rank=4, alpha=8.0)
    done = finetune(checkpoint, _EXAMPLES, replace(_CONFIG, lora=how), tmp_path)
    after = dict(checkpoint.model.named_parameters())
    changed = [
        n for n, p in before.items() if not torch.equal(p, after.get(n, after.get(_base(n))))
    ]
    losses = [json.loads(line)["loss"] for line in _lines(tmp_path)]
    assert not changed
    assert losses[-1] < 0.5 * losses[0]
    tokens = torch.tensor([[5, 9, 40, 41]])
    with torch.no_grad():
        adapted = checkpoint.model(tokens)
        lora.merge(checkpoint.model)
        torch.testing.assert_close(checkpoint.model(tokens), adapted, atol=1e-4, rtol=1e-4)
    assert done.steps == 60


def _base(name: str) -> str:
    owner, _, leaf = name.rpartition(".")
    return f"{owner}.base.{leaf}"


def _lines(folder: Path) -> list[str]:
    return (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()


def test_given_examples_are_measured_on_and_not_learned(tmp_path: Path) -> None:
    judged = [Example((Message("user", "where is it"),), "nowhere at all")]
    how = replace(_CONFIG, training=replace(_TRAINING, steps=30))
    done = finetune(_checkpoint(), _EXAMPLES, how, tmp_path, judged=judged)
    assert done.metrics["accuracy"] < 0.5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"length": 20}, r"24 of 24 examples|\d+ of \d+ examples are longer than length \(20\)"),
        ({"length": 500}, r"length \(500\) is over the generator's 160 positions"),
        ({"lora": LoraConfig(targets=("nothing",))}, "no linear layer|has no linear layer"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_numbers(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(TrainingError, match=message):
        finetune(_checkpoint(), _EXAMPLES, replace(_CONFIG, **changes), tmp_path)  # type: ignore[arg-type]


def test_one_example_is_too_few(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="1 examples cannot be trained on and measured on"):
        finetune(_checkpoint(), _EXAMPLES[:1], _CONFIG, tmp_path)


def test_a_quantised_generator_cannot_learn(tmp_path: Path) -> None:
    checkpoint = _checkpoint()
    feed = checkpoint.model.blocks[0].feed_forward
    feed.down = quantized(feed.down.weight.detach(), bits=8)
    with pytest.raises(TrainingError, match="load it with precision fp32"):
        finetune(checkpoint, _EXAMPLES, _CONFIG, tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"length": 0}, r"length \(0\) must be at least 1"),
        ({"blocks": 1.5}, r"blocks \(1.5\) must lie within 0 and 1"),
        ({"held_out": 1.0}, r"held_out \(1.0\) must lie between 0 and 1"),
    ],
)
def test_settings_are_checked(changes: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FinetuneConfig(_TRAINING, **changes)  # type: ignore[arg-type]
    assert config().max_tokens == 160
