"""How well the words of topics go together in a corpus, and how different the topics are."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, pairwise

WORDS = 10  # of a topic that count
_WINDOW = 10  # words, without empty ones
_EPSILON = 1e-12

Topics = Sequence[Sequence[str]]


def npmi(topics: Topics, texts: Iterable[Sequence[str]]) -> float:
    """Mean normalised pointwise mutual information of each topic's pairs, -1 … 1.

    Probabilities are shares of sliding windows (Röder et al. 2015, §3; Bouma 2009); a topic with
    fewer than two words counts -1.

    Args:
        topics: the first ten words of each count
        texts: the words of each document, in order
    """
    topics = [list(dict.fromkeys(topic))[:WORDS] for topic in topics]
    seen = _seen(frozenset(word for topic in topics for word in topic), texts)
    return sum(_coherence(topic, *seen) for topic in topics) / max(1, len(topics))


def diversity(topics: Topics) -> float:
    """The share of different words among the first ten of all topics (Dieng et al. 2020, §6)."""
    words = [word for topic in topics for word in topic[:WORDS]]
    return len(set(words)) / max(1, len(words))


def _coherence(
    topic: Sequence[str], n: int, single: Counter[str], both: Counter[tuple[str, str]]
) -> float:
    pairs = [tuple(sorted(pair)) for pair in combinations(topic, 2)]
    if not pairs:
        return -1.0
    total = 0.0
    for one, other in pairs:
        apart = single[one] * single[other] / n**2
        together = both[one, other] / n + _EPSILON
        total += math.log(together / apart) / -math.log(together) if apart else -1.0
    return total / len(pairs)


def _seen(
    words: frozenset[str], texts: Iterable[Sequence[str]]
) -> tuple[int, Counter[str], Counter[tuple[str, str]]]:
    """How many windows there are, and how many hold each word and each pair."""
    n = 0
    single: Counter[str] = Counter()
    both: Counter[tuple[str, str]] = Counter()
    for text in texts:
        n += max(1, len(text) - _WINDOW + 1)
        for held, times in _windows(text, words):
            for word in held:
                single[word] += times
            for pair in combinations(held, 2):
                both[pair] += times
    return n, single, both


def _windows(text: Sequence[str], words: frozenset[str]) -> Iterator[tuple[tuple[str, ...], int]]:
    """The words of interest in each window, sorted, and how many windows in a row hold them."""
    places = [(at, word) for at, word in enumerate(text) if word in words]
    last = max(0, len(text) - _WINDOW)  # where the last window begins
    edges = sorted(
        {min(max(0, edge), last + 1) for at, _ in places for edge in (at - _WINDOW + 1, at + 1)}
    )
    first = 0
    for begin, end in pairwise(edges):
        while first < len(places) and places[first][0] < begin:
            first += 1
        held = set()
        for at, word in places[first:]:
            if at >= begin + _WINDOW:
                break
            held.add(word)
        if held:
            yield tuple(sorted(held)), end - begin
