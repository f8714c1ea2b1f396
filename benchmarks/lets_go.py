"""A translator small enough to be followed by hand: nineteen phrases, four numbers a word."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from generator.sampling import Sampling
from generator.seq2seq import Seq2Seq, begin
from generator.seq2seq_config import Seq2SeqConfig
from generator.seq2seq_decoding import translate
from generator.seq2seq_training import Marks, Pair, Translating
from transformer.runtime import seeded
from transformer.training import TrainingConfig, train

BEGIN, END = "<begin>", "<end>"
PHRASES = (
    ("let's go", "vamos"),
    ("let's eat", "comamos"),
    ("let's eat pizza", "comamos pizza"),
    ("let's eat red pizza", "comamos pizza roja"),
    ("i go", "voy"),
    ("i eat", "como"),
    ("i eat pizza", "como pizza"),
    ("i eat red pizza", "como pizza roja"),
    ("you go", "vas"),
    ("you eat", "comes"),
    ("you eat pizza", "comes pizza"),
    ("you eat red pizza", "comes pizza roja"),
    ("squatch goes", "squatch va"),
    ("pizza goes", "pizza va"),
    ("squatch eats", "squatch come"),
    ("squatch eats pizza", "squatch come pizza"),
    ("squatch eats red pizza", "squatch come pizza roja"),
    ("pizza eats squatch", "pizza come squatch"),
    ("red pizza eats squatch", "pizza roja come squatch"),
)
_STEPS = 800


@dataclass(frozen=True, slots=True)
class Words:
    """A language: its words in the order of their ids."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, texts: Sequence[str], *marks: str) -> "Words":
        return cls((*marks, *sorted({word for text in texts for word in text.split()})))

    def ids(self, text: str) -> tuple[int, ...]:
        return tuple(self.names.index(word) for word in text.split())


@dataclass(frozen=True, slots=True)
class Translator:
    """What was trained, with both of its languages."""

    model: Seq2Seq
    english: Words
    spanish: Words

    @property
    def marks(self) -> Marks:
        return Marks(self.spanish.names.index(BEGIN), self.spanish.names.index(END), 0)

    def source(self, text: str) -> Tensor:
        """Ids (1, t)."""
        return torch.tensor([self.english.ids(text)])

    def say(self, text: str) -> str:
        """The likeliest translation."""
        (row,) = translate(
            self.model,
            self.source(text),
            None,
            Sampling(max_tokens=8),
            begin=self.marks.begin,
            end=self.marks.end,
            rng=seeded(0),
        )
        return " ".join(self.spanish.names[i] for i in row)


def untrained(*, width: int = 4, seed: int = 0) -> Translator:
    """One block on each side, one head, sinusoidal positions, normalised behind every sum."""
    english = Words.of([phrase for phrase, _ in PHRASES])
    spanish = Words.of([phrase for _, phrase in PHRASES], BEGIN, END)
    shape = Seq2SeqConfig(
        vocab_size=len(spanish.names),
        source_vocab=len(english.names),
        d_model=width,
        n_heads=1,
        d_ff=4 * width,
        encoder_layers=1,
        decoder_layers=1,
        max_tokens=12,
    )
    model = Seq2Seq(shape)
    begin(model, seeded(seed))
    return Translator(model, english, spanish)


def trained(*, width: int = 4, seed: int = 0, steps: int = _STEPS) -> Translator:
    """In some seconds; the same numbers each time on one kind of processor."""
    made = untrained(width=width, seed=seed)
    pairs = [Pair(made.english.ids(e), made.spanish.ids(s)) for e, s in PHRASES]
    task = Translating(made.model, pairs, [], made.marks, rows=len(pairs), smoothing=0.0)
    config = TrainingConfig(steps=steps, learning_rate=0.02, precision="float32", seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        train(task, config, Path(folder))
    return made
