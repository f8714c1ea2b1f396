"""Tiny generators, and tokenizers whose tokens are the bytes that a test names."""

import random
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel

from generator import Generator, GeneratorConfig
from generator.chat import ChatFormat
from generator.checkpoint import GeneratorCheckpoint
from tests.builders import randomised
from transformer import Tokenizer, checkpoint
from transformer.runtime import seeded

START, END, EOT = "<|im_start|>", "<|im_end|>", "<|endoftext|>"
SPECIALS = (EOT, START, END)
MERGES = ("h e", "l l")
VOCABULARY = 263  # specials, bytes, a few words, and one id that no text uses
CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def _byte_letters() -> list[str]:
    """GPT-2's printable stand-in for each byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]


_LETTERS = _byte_letters()


def letters(raw: bytes) -> str:
    """Bytes as the vocabulary of a byte-level tokenizer spells them."""
    return "".join(_LETTERS[byte] for byte in raw)


def spellings(*tokens: bytes) -> list[str]:
    """A vocabulary: specials are 0, 1, 2; then every byte; then these tokens and two words."""
    words = [letters(token) for token in tokens] + ["he", "ll"]
    return [*SPECIALS, *_LETTERS, *dict.fromkeys(words)]


@cache
def tokenizer(*tokens: bytes) -> Tokenizer:
    """Of such a vocabulary; no merge produces `tokens`."""
    specials = range(len(SPECIALS))
    return Tokenizer.from_byte_level_bpe(spellings(*tokens), MERGES, specials, "gpt-2")


def config(**changes: Any) -> GeneratorConfig:
    """Two layers with grouped heads, in odd sizes."""
    values: dict[str, Any] = {
        "vocab_size": VOCABULARY,
        "d_model": 36,
        "n_layers": 2,
        "n_heads": 6,
        "n_kv_heads": 2,
        "head_width": 6,
        "d_ff": 52,
        "max_tokens": 160,
    }
    return GeneratorConfig(**(values | changes))


def generator(*, seed: int = 0, **changes: Any) -> Generator:
    """Randomly initialised."""
    return randomised(Generator(config(**changes)), seeded(seed)).eval()


def prompt(length: int, *, seed: int = 0, vocabulary: int = VOCABULARY) -> list[int]:
    """Random ids."""
    return random.Random(seed).choices(range(3, vocabulary), k=length)


def loaded(
    model: Generator, words: Tokenizer, *, template: str | None = CHATML, ends: Iterable[int] = (2,)
) -> GeneratorCheckpoint:
    """A generator as if it came from a checkpoint."""
    chat = ChatFormat(template, "", END, tuple(ends))
    return GeneratorCheckpoint(model, words, chat, "0" * 16, 0)


def scripted(script: Sequence[int], *, start: int, max_tokens: int, vocabulary: int) -> Generator:
    """A generator that says `script` after a prompt of `start` tokens, whatever that holds.

    Blocks add nothing, each position is a vector of its own, and the head maps it to a token.
    """
    model = Generator(
        config(
            vocab_size=vocabulary,
            d_model=max_tokens,
            positions="learned",
            norm="layer",
            tied=False,
            max_tokens=max_tokens,
        )
    )
    for parameter in model.parameters():
        nn.init.zeros_(parameter)
    nn.init.ones_(model.norm.weight)  # type: ignore[arg-type]
    assert model.positions is not None
    assert isinstance(model.head, nn.Linear)
    with torch.no_grad():
        model.positions.weight.copy_(torch.eye(max_tokens))
        for i, token in enumerate(script):
            model.head.weight[token, start - 1 + i] = 1
    return model.eval()


def published(theirs: PreTrainedModel, *, seed: int = 1) -> PreTrainedModel:
    """A model of the Hugging Face library, randomised and ready to serve as an oracle."""
    nn.Module.eval(randomised(theirs, seeded(seed)))
    return theirs


def save_foreign(theirs: PreTrainedModel, folder: Path, words: Tokenizer) -> None:
    """A folder as the Hugging Face library leaves it, with a tokenizer beside the model."""
    theirs.save_pretrained(folder)
    (folder / checkpoint.TOKENIZER).write_text(words.to_json(), encoding="utf-8")
