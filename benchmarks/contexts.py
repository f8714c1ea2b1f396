"""Words as they stand in a text: how often, and in which sentences."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.inside import Span
from encoder.pairs import sentences

Place = tuple[str, Span]  # a sentence, and where in it

MOST, FEWEST = 10, 3  # sentences of a word that are kept; a word that has fewer is left out
_WORDS = (4, 40)  # of a sentence
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Contexts:
    counts: Mapping[str, int]
    of: Mapping[str, Sequence[Place]]


def gather(texts: Sequence[str], fits: Callable[[str], bool], rng: np.random.Generator) -> Contexts:
    """Every word in lower case, with sentences drawn at random.

    Args:
        fits: whether a sentence can be read by those who are to read it
    """
    found = [
        sentence
        for text in texts
        for sentence in sentences(text)
        if _WORDS[0] <= len(sentence.split()) <= _WORDS[1] and fits(sentence)
    ]
    counts = Counter(word.lower() for sentence in found for word in _WORD.findall(sentence))
    places: dict[str, list[Place]] = defaultdict(list)
    for i in rng.permutation(len(found)).tolist():
        for match in _WORD.finditer(found[i]):
            of_word = places[match[0].lower()]
            if len(of_word) < MOST:
                of_word.append((found[i], match.span()))
    return Contexts(counts, {word: some for word, some in places.items() if len(some) >= FEWEST})
