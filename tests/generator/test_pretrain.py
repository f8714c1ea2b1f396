"""A language is learned from bare text, and written again."""

from dataclasses import replace
from pathlib import Path

import pytest

from generator.pretrain import SPECIALS, CausalConfig, fresh, pretrain, samples
from generator.prompts import Message, Prompts
from tests.encoder.learning import documents
from tests.generator.builders import config
from transformer.byte_pairs import train_byte_pairs
from transformer.errors import TrainingError
from transformer.training import TrainingConfig

_TEXTS = documents(80)
_WORDS = train_byte_pairs(_TEXTS, size=320, specials=SPECIALS)
_CONFIG = CausalConfig(
    TrainingConfig(steps=60, learning_rate=1e-2, evaluate_every=30, precision="float32"),
    length=48,
    rows=8,
    held_out=0.1,
)


def test_held_out_text_becomes_likelier_and_is_gone_on_with(tmp_path: Path) -> None:
    checkpoint = fresh(config(vocab_size=320), _WORDS, seed=0)
    done = pretrain(checkpoint, _TEXTS, _CONFIG, tmp_path)
    assert done.metrics["perplexity"] < 20  # of 320 to begin with
    written = list(samples(checkpoint, _TEXTS, _CONFIG))
    assert len(written) == 5
    known = {word for text in _TEXTS for word in text.split()}
    words = [word for _, more in written for word in more.split()]
    assert sum(word in known for word in words) > 0.5 * len(words)
    assert all(any(text.startswith(said) for text in _TEXTS) for said, _ in written)


def test_a_fresh_generator_is_spoken_to_in_turns() -> None:
    checkpoint = fresh(config(vocab_size=320), _WORDS, seed=0)
    text = Prompts(checkpoint.chat, _WORDS).text([Message("user", "hello")])
    assert text == "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n"
    assert checkpoint.chat.ends == (0, 2)


@pytest.mark.parametrize(
    ("texts", "length", "message"),
    [
        (_TEXTS, 200, r"length \(200\) is over the generator's 160 positions"),
        (_TEXTS[:1], 48, "1 texts cannot be trained on and measured on"),
    ],
)
def test_what_does_not_fit_is_refused(
    tmp_path: Path, texts: list[str], length: int, message: str
) -> None:
    checkpoint = fresh(config(vocab_size=320), _WORDS, seed=0)
    with pytest.raises(TrainingError, match=message):
        pretrain(checkpoint, texts, replace(_CONFIG, length=length), tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"length": 1}, r"length \(1\) must be at least 2"),
        ({"rows": 0}, r"rows \(0\) must be at least 1"),
        ({"held_out": 0.0}, r"held_out \(0.0\) must lie between 0 and 1"),
    ],
)
def test_settings_are_checked(changes: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CausalConfig(_CONFIG.training, **changes)  # type: ignore[arg-type]
