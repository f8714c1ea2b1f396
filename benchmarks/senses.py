"""One word in two contexts: whether its vector goes by what it means there.

Each word stands in four sentences: in two senses, each once late in the sentence and once early.
Only sentences of different form are compared, within a sense and across, so that form tells
nothing.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.inside import Language, cosines, find, layer_name, look
from benchmarks.table import Row, Table
from encoder.checkpoint import EncoderCheckpoint
from rag.metrics import paired

FILE = Path(__file__).with_name("senses.jsonl")
_NOTES = (
    "100 times cosine of the two vectors of one word; static is its embedding before the first "
    "layer, which has 100 by definition where it is always cut into the same pieces",
    "difference: within minus across, a pair a word, with the bootstrap's 95 % interval; "
    "over 0, the vector goes by the sense",
    "right: share of the words with the greater cosine within; of chance, 50",
)


@dataclass(frozen=True, slots=True)
class Word:
    language: Language
    kind: str  # "irony" or "homonym"
    word: str
    senses: Sequence[Sequence[str]]  # two, of two sentences each: late in the first, early then


def read(language: Language) -> list[Word]:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return [word for word in (Word(**json.loads(line)) for line in lines) if _is(word, language)]


def measure(models: Mapping[str, EncoderCheckpoint], language: Language) -> Table:
    """A row a model and layer, and the last layer by kind of word."""
    words = read(language)
    rows = [row for name, loaded in models.items() for row in _rows(name, loaded, words)]
    return Table("senses", "One word in two contexts", tuple(rows), _NOTES)


def _is(word: Word, language: Language) -> bool:
    return word.language == language


def _rows(name: str, loaded: EncoderCheckpoint, words: Sequence[Word]) -> Iterator[Row]:
    sides = [within_and_across(loaded, word) for word in words]
    within, across = (np.stack(side) for side in zip(*sides, strict=True))  # (words, 1 + layers)
    for layer in range(within.shape[1]):
        yield _row(f"{name}, {layer_name(layer)}", within[:, layer], across[:, layer])
    for kind in sorted({word.kind for word in words}):
        chosen = [i for i, word in enumerate(words) if word.kind == kind]
        yield _row(f"{name}, output, {kind}", within[chosen, -1], across[chosen, -1])


def within_and_across(
    loaded: EncoderCheckpoint, word: Word
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean cosine of a word's vectors within its senses, and across: (1 + layers,) each."""
    (one, other), (third, fourth) = (
        [look(loaded, text).word(find(text, word.word)) for text in sense] for sense in word.senses
    )
    within = torch.stack([cosines(one, other), cosines(third, fourth)])
    across = torch.stack([cosines(one, fourth), cosines(third, other)])
    return within.mean(dim=0).numpy(), across.mean(dim=0).numpy()


def _row(name: str, within: NDArray[np.float64], across: NDArray[np.float64]) -> Row:
    found = paired(100 * across, 100 * within, rng=np.random.default_rng(0))
    ahead = (np.sign(within - across) + 1) / 2
    return {
        "name": name,
        "words": len(within),
        "within": 100 * float(within.mean()),
        "across": 100 * float(across.mean()),
        "difference": found.mean,
        "low": found.low,
        "high": found.high,
        "right_%": 100 * float(ahead.mean()),
    }
