"""What a pronoun attends to: its antecedent, or another noun that it could as well stand for.

Sentences are twins: the same words up to the pronoun, and two endings, one about the first noun and
one about the second. So each noun is antecedent and distractor, first and nearer, as often as the
other, and whatever does not read the ending is right in exactly half of them.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.inside import Inside, Language, Span, find, look
from benchmarks.table import Row, Table
from encoder.checkpoint import EncoderCheckpoint
from rag.metrics import bootstrap_interval, paired

FILE = Path(__file__).with_name("pronouns.jsonl")
_NOTES = (
    "right: share of the sentences in which the pronoun attends more to its antecedent than to the "
    "other noun; low, high: the bootstrap's 95 % interval over pairs of twins; chance is 50",
    "decided: pairs that are right in both or wrong in both, which alone tell something; p: how "
    "often chance gives as much (the test that swaps endings), of this row alone: one row in 20 "
    "of an untrained model is under 0.05 too",
    "layer 1 compares what knows nothing yet of the ending: each of its heads is at 50, and their "
    "mean nearly so",
    "shift: percentage points by which the first noun's part of the two nouns' weight grows when "
    "the ending is about it",
    "first: share of the sentences in which the first noun, the farther one, has more",
    "best head: chosen on one half of the pairs, measured on the other, both ways (layer.head)",
)
_KOREAN = (
    "Korean leaves such pronouns out as a rule: 10 pairs of twins, and what they say is little"
)

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Twins:
    """Two sentences, which differ behind the pronoun."""

    language: Language
    shared: str  # up to the pronoun, which is its last word
    first: str  # noun
    second: str
    about_first: str  # ending
    about_second: str

    @property
    def texts(self) -> tuple[str, str]:
        return f"{self.shared} {self.about_first}", f"{self.shared} {self.about_second}"

    @property
    def pronoun(self) -> Span:
        return self.shared.rindex(" ") + 1, len(self.shared)

    @property
    def nouns(self) -> tuple[Span, Span]:
        return find(self.shared, self.first), find(self.shared, self.second)


def read(language: Language) -> list[Twins]:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    found = (Twins(**json.loads(line)) for line in lines)
    return [twins for twins in found if twins.language == language]


def measure(models: Mapping[str, EncoderCheckpoint], language: Language) -> Table:
    """A row a model and layer, by the mean over heads; then the best head of each model."""
    twins = read(language)
    rows = [row for name, loaded in models.items() for row in _rows(name, loaded, twins)]
    title = f"Pronouns: {2 * len(twins)} sentences"
    notes = (*_NOTES, _KOREAN) if language == "ko" else _NOTES
    return Table("pronouns", title, tuple(rows), notes)


def attended(models: Mapping[str, EncoderCheckpoint], text: str, reader: Span) -> Table:
    """What one word attends to, the mean over heads: a row a model and layer, a column a word."""
    rows: list[Row] = []
    spans = [match.span() for match in re.finditer(r"\w+", text)]
    for name, loaded in models.items():
        seen = look(loaded, text)
        parts = np.stack([_taken(seen, reader, span) for span in spans])  # (words, layers)
        for layer, column in enumerate(parts.T, start=1):
            words = _unlike([text[slice(*span)] for span in spans])
            row = {word: 100 * float(part) for word, part in zip(words, column, strict=True)}
            rest = 100 - sum(row.values())
            rows.append({"name": f"{name}, layer {layer}", **row, "(signs)": rest})
    note = "per cent of its attention, mean over heads; signs: of the sentence and of the model"
    return Table(
        "attended", f"What “{text[slice(*reader)]}” attends to: {text}", tuple(rows), (note,)
    )


def weights(loaded: EncoderCheckpoint, twins: Twins) -> Floats:
    """How much the pronoun takes of both nouns: (2 endings, layers, h, 2 nouns)."""
    seen = [look(loaded, text) for text in twins.texts]
    pairs = [[each.weight(twins.pronoun, noun).numpy() for noun in twins.nouns] for each in seen]
    return np.moveaxis(np.array(pairs, np.float64), 1, -1)


def right(taken: Floats) -> Floats:
    """Share of the two endings that a pair is right in, level counting half: (…, 2 nouns) to (…).

    Args:
        taken: (n, 2 endings, …, 2 nouns)
    """
    ahead = np.sign(taken[..., 0] - taken[..., 1])
    return np.asarray((2 + ahead[:, 0] - ahead[:, 1]) / 4)


def shift(taken: Floats) -> Floats:
    """By how much the first noun's part grows when the ending is about it: (n, …)."""
    part = taken[..., 0] / np.maximum(taken.sum(axis=-1), 1e-12)
    return np.asarray(part[:, 0] - part[:, 1])


def _rows(name: str, loaded: EncoderCheckpoint, twins: Sequence[Twins]) -> Iterator[Row]:
    taken = np.stack([weights(loaded, each) for each in twins])  # (n, 2, layers, h, 2)
    for layer in range(taken.shape[2]):
        yield _row(f"{name}, layer {layer + 1}", taken[:, :, layer].mean(axis=2))
    yield _best_head(f"{name}, best head", taken)


def _row(name: str, taken: Floats) -> Row:
    """Of one way to read attention: taken (n, 2 endings, 2 nouns)."""
    rng = np.random.default_rng(0)
    rights, shifts = 100 * right(taken), 100 * shift(taken)
    low, high = bootstrap_interval(rights, rng=rng)
    shift_low, shift_high = bootstrap_interval(shifts, rng=rng)
    chance = np.full(len(rights), 50.0)
    return {
        "name": name,
        "right_%": float(rights.mean()),
        "low": low,
        "high": high,
        "chance_%": 50,
        "decided": int((rights != chance).sum()),
        "p": paired(chance, rights, rng=rng).p,
        "shift": float(shifts.mean()),
        "shift_low": shift_low,
        "shift_high": shift_high,
        "first_%": 100 * float((taken[..., 0] > taken[..., 1]).mean()),
    }


def _best_head(name: str, taken: Floats) -> Row:
    measured, heads = np.empty_like(taken[:, :, 0, 0]), []
    for half in (0, 1):
        layer, head = best_head(taken[1 - half :: 2])
        measured[half::2] = taken[half::2, :, layer, head]
        heads.append(f"{layer + 1}.{head + 1}")
    return {**_row(name, measured), "heads": ", ".join(heads)}


def best_head(taken: Floats) -> tuple[int, int]:
    """Layer and head, from 0, that are right most often; among equals, with the largest shift."""
    rights, shifts = right(taken).mean(axis=0), shift(taken).mean(axis=0)  # (layers, h)
    order = np.lexsort((shifts.ravel(), rights.ravel().round(9)))
    layer, head = np.unravel_index(order[-1], rights.shape)
    return int(layer), int(head)


def _taken(seen: Inside, reader: Span, read_: Span) -> Floats:
    return np.asarray(seen.weight(reader, read_).mean(dim=1).numpy(), np.float64)


def _unlike(words: Sequence[str]) -> list[str]:
    """Columns need names of their own: a word that came before is numbered."""
    counts: dict[str, int] = {}
    named = []
    for word in words:
        counts[word] = counts.get(word, 0) + 1
        named.append(word if counts[word] == 1 else f"{word} ({counts[word]})")
    return named
