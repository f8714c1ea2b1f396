"""BM25 over a list of texts in memory (Robertson & Zaragoza 2009, §3.5), for whoever makes data."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Protocol, TypeVar

from index.analysis import content_words

_K1, _B = 0.9, 0.4  # as Anserini has them


class _Texted(Protocol):
    @property
    def text(self) -> str: ...


T = TypeVar("T", bound=_Texted)


class Ranking:
    """Finds the texts that share words with a question."""

    def __init__(self, texts: Sequence[str]) -> None:
        counts = [Counter(content_words(text)) for text in texts]
        lengths = [count.total() for count in counts]
        mean = sum(lengths) / max(1, len(lengths)) or 1.0
        self._weights: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for i, count in enumerate(counts):
            slack = _K1 * (1 - _B + _B * lengths[i] / mean)
            for word, n in count.items():
                self._weights[word].append((i, n / (n + slack)))
        self._rarity = {
            word: math.log(1 + (len(texts) - len(rows) + 0.5) / (len(rows) + 0.5))
            for word, rows in self._weights.items()
        }

    def best(self, question: str, k: int) -> list[int]:
        """Places of the best texts, best first; fewer where fewer share a word."""
        scores: dict[int, float] = defaultdict(float)
        for word in dict.fromkeys(content_words(question)):  # in an order that is always the same
            for i, weight in self._weights.get(word, ()):
                scores[i] += self._rarity[word] * weight
        return sorted(scores, key=lambda i: (-scores[i], i))[:k]

    def sorted(self, question: str, some: Sequence[T]) -> list[T]:
        """Other texts by the rarity of the words that they share with the question."""
        asked = dict.fromkeys(content_words(question))
        held = [set(content_words(each.text)) for each in some]
        scores = [
            sum(self._rarity.get(word, 0.0) for word in asked if word in words) for words in held
        ]
        order = sorted(range(len(some)), key=lambda i: (-scores[i], i))
        return [some[i] for i in order]
