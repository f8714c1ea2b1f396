"""Words of a kind ("great" and "awesome"): whether their vectors lie near one another.

The vector of a word is the mean over sentences that it stands in. Nearness alone tells nothing, for
the vectors of an encoder share a direction; so each pair is set beside the same first word with
random words as frequent as the second, and with the second words of other pairs of its part of
speech.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from benchmarks.contexts import FEWEST, MOST, Contexts, Place, gather
from benchmarks.inside import Language, cosines, find, layer_name, look
from benchmarks.table import Row, Table
from encoder.checkpoint import EncoderCheckpoint
from rag.metrics import paired

FILE = Path(__file__).with_name("kinds.jsonl")
_RANDOM = 5  # words a pair
_LIKE = 1.5  # times as frequent, or as rare, at most
_SHORTEST = {"en": 3, "ko": 2}  # letters of a random word
# The pair that everybody gives as the example, in sentences that are the same for all words.
_EXAMPLES: dict[Language, tuple[str, str]] = {"en": ("great", "awesome"), "ko": ("훌륭한", "멋진")}
_FRAMES: dict[Language, tuple[str, ...]] = {
    "en": ("The pizza was {}.", "We had a {} evening.", "Her new song is {}.", "A {} film, I say."),
    "ko": ("어제 {} 영화를 봤다.", "그는 {} 사람이다.", "참 {} 노래였다.", "여기는 {} 도시다."),
}
_NOTES = (
    f"100 times cosine of the mean vectors of two words, each over at most {MOST} sentences",
    f"random: the first word with {_RANDOM} words about as frequent as the second; part: with the "
    "second words of the other pairs of its part of speech",
    "over …: by how much the pair is nearer, with the bootstrap's 95 % interval over pairs",
    "the example is one pair, in sentences that are the same for all words; part: the adjectives "
    "of the other pairs",
)

Floats = NDArray[np.float64]


class Pair(NamedTuple):
    part: str  # of speech
    first: str
    second: str


class Case(NamedTuple):
    """A pair, and the words that its second one is held against."""

    pair: Pair
    random: tuple[str, ...]  # about as frequent
    part: tuple[str, ...]  # second words of other pairs, of the same part of speech

    @property
    def words(self) -> set[str]:
        return {self.pair.first, self.pair.second, *self.random, *self.part}


def read(language: Language) -> list[Pair]:
    rows = map(json.loads, FILE.read_text(encoding="utf-8").splitlines())
    return [Pair(row["part"], *row["words"]) for row in rows if row["language"] == language]


def measure(models: Mapping[str, EncoderCheckpoint], texts: Path, language: Language) -> Table:
    """A row a model and layer, and the example in sentences of ours, in the last layer.

    Args:
        texts: a text a line, where words are looked up
    """

    def fits(sentence: str) -> bool:
        return all(
            m.tokenizer.count(sentence) <= m.model.config.max_tokens for m in models.values()
        )

    pairs, rng = read(language), np.random.default_rng(0)
    contexts = gather(texts.read_text(encoding="utf-8").splitlines(), fits, rng)
    usable = cases(contexts, pairs, _SHORTEST[language], rng)
    rows: list[Row] = []
    for name, loaded in models.items():
        if usable:
            rows += _rows(name, loaded, contexts, usable)
        rows.append(_example(name, loaded, pairs, language))
    notes = [*_NOTES, f"looked up in {texts.name}: {len(usable)} of {len(pairs)} pairs"]
    known = {case.pair for case in usable}
    if left_out := [f"{pair.first}/{pair.second}" for pair in pairs if pair not in known]:
        why = f"a word stands there under {FEWEST} times, or none like it does"
        notes.append(f"left out, for {why}: {', '.join(left_out)}")
    return Table("kinds", "Words of a kind", tuple(rows), tuple(notes))


def cases(
    contexts: Contexts, pairs: Sequence[Pair], shortest: int, rng: np.random.Generator
) -> list[Case]:
    """The pairs that stand in the text, each with what it can be held against.

    Args:
        shortest: letters that a random word has at least
    """
    taken = {word for pair in pairs for word in pair[1:]}
    free = sorted(word for word in contexts.of if word not in taken and len(word) >= shortest)
    found = []
    for pair in pairs:
        if all(word in contexts.of for word in pair[1:]):
            alike = _as_frequent(contexts, pair.second, free)
            drawn = rng.permutation(len(alike))[:_RANDOM].tolist()
            found.append(Case(pair, tuple(alike[i] for i in drawn), ()))
    found = [case for case in found if case.random]
    held = [case._replace(part=_others(case.pair, found)) for case in found]
    return [case for case in held if case.part]


def _as_frequent(contexts: Contexts, word: str, free: Sequence[str]) -> list[str]:
    count = contexts.counts[word]
    return [other for other in free if count / _LIKE <= contexts.counts[other] <= count * _LIKE]


def _others(pair: Pair, found: Sequence[Case]) -> tuple[str, ...]:
    same = (case.pair for case in found if case.pair.part == pair.part and case.pair != pair)
    return tuple(other.second for other in same)


def _rows(
    name: str, loaded: EncoderCheckpoint, contexts: Contexts, usable: Sequence[Case]
) -> Iterator[Row]:
    words = sorted(set().union(*(case.words for case in usable)))
    vectors = {word: _mean(loaded, contexts.of[word]) for word in words}

    def near(first: str, others: Sequence[str]) -> Floats:
        return _nearness(vectors[first], [vectors[word] for word in others])

    sides = [
        [near(pair.first, group) for group in ((pair.second,), random, part)]
        for pair, random, part in usable
    ]
    alike, random, part = np.array(sides).swapaxes(0, 1)  # (pairs, 1 + layers) each
    for layer in range(alike.shape[1]):
        columns = (side[:, layer] for side in (alike, random, part))
        yield _row(f"{name}, {layer_name(layer)}", *columns)


def _mean(loaded: EncoderCheckpoint, places: Sequence[Place]) -> Tensor:
    """A word's mean direction over sentences: (1 + layers, d)."""
    vectors = torch.stack([look(loaded, text).word(span) for text, span in places])
    return F.normalize(vectors, dim=-1).mean(dim=0)


def _nearness(first: Tensor, others: Sequence[Tensor]) -> Floats:
    """Mean cosine of one word to others: (1 + layers,)."""
    return torch.stack([100 * cosines(first, other) for other in others]).mean(dim=0).numpy()


def _row(name: str, alike: Floats, random: Floats, part: Floats) -> Row:
    rng = np.random.default_rng(0)
    row: dict[str, str | int | float] = {
        "name": name,
        "pairs": len(alike),
        "alike": float(alike.mean()),
        "random": float(random.mean()),
        "part": float(part.mean()),
    }
    for against, values in (("random", random), ("part", part)):
        found = paired(values, alike, rng=rng)
        row |= {
            f"over_{against}": found.mean,
            f"{against}_low": found.low,
            f"{against}_high": found.high,
        }
    return row


def _example(
    name: str, loaded: EncoderCheckpoint, pairs: Sequence[Pair], language: Language
) -> Row:
    """One pair beside the adjectives of the others, all in the same sentences."""
    first, second = _EXAMPLES[language]
    others = sorted({word for pair in pairs if pair.part == "adjective" for word in pair[1:]})

    def framed(word: str) -> Tensor:
        texts = [frame.format(word) for frame in _FRAMES[language]]
        return _mean(loaded, [(text, find(text, word)) for text in texts])

    others = [word for word in others if word not in (first, second)]
    to_second = _nearness(framed(first), [framed(second)])[-1]
    to_others = _nearness(framed(first), [framed(word) for word in others])[-1]
    return {
        "name": f"{name}, output, {first}/{second}",
        "pairs": 1,
        "alike": float(to_second),
        "part": float(to_others),
        "over_part": float(to_second - to_others),
    }
