"""What a group of texts is about, in words: class-based TF-IDF, then those that go together.

A word counts by the documents that use it, damped where one repeats it, so that no single document
speaks for its group (Grootendorst 2022, §3.3, with logarithmic counts). Forms of one stem count as
one word, shown as the library mostly writes it. Of a group's best words those are taken that stand
together in the texts: normalised pointwise mutual information (Bouma 2009) within ten words.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from index.analysis import is_korean, terms, tokens
from rag.senders import without_senders

WORDS = 10  # of a topic, at most

_READ = 50_000  # characters of a document: more would say no more
_CANDIDATES = 40  # words of a group that are weighed against each other
_TOGETHER = 3.0  # how much going together counts beside the logarithm of a word's weight
_LIFT = 1.5  # times as common as in the library: a word below says nothing about the group
_SHARED = 0.25  # how much a word loses that other groups use as well: an exponent of its share here
_FEW = 8  # documents; in a smaller group each word of one document may speak for it
_SUPPORT = 0.02  # of a larger group's documents that use the word
_SPAN, _STEP = 10, 5  # words
_ALIKE, _MOST = 5, 0.7  # letters at the beginning, that many of the longer word: one family
_LONGEST = 30  # letters; what is longer is encoded
_JOINTS = frozenset("._/")  # of addresses, which name a sender and not a subject
_CONTRACTED = ("n't", "'m", "'re", "'ve", "'ll", "'d")
_NEVER = 1e-12
# Words of talk, which search does well to look for and which name no subject.
# fmt: off
_TALK = frozenset((
    "bit", "going", "got", "knew", "know", "known", "knows", "lot", "okay", "please", "really",
    "said", "saw", "say", "saying", "says", "seem", "seems", "sure", "thanks", "thing",
    "things", "think", "thinks", "thought", "tried", "trying", "wanted", "wants", "wrote",
    "yeah",
))
# fmt: on

Weights = dict[str, float]


def words_of(text: str) -> list[str]:
    """The words of a text that can name its subject, in order, repeated as often as they occur."""
    return [word for word in terms(without_senders(text[:_READ])) if _is_telling(word)]


@lru_cache(maxsize=65536)
def _is_telling(word: str) -> bool:
    if len(word) > _LONGEST or word.endswith(_CONTRACTED) or not _JOINTS.isdisjoint(word):
        return False
    if word in _TALK:
        return False
    # A Korean noun of one syllable (곳, 날, 판) is rarely a subject.
    return len(word) > 1 and sum(map(str.isalpha, word)) * 2 > len(word)


def topic_words(
    texts: Sequence[Sequence[str]], groups: Sequence[Sequence[int]], *, limit: int = WORDS
) -> list[tuple[str, ...]]:
    """Words that a group uses more than the others, the most telling first.

    Args:
        texts: the words of each document, as `words_of` gives them
        groups: the places of each group's documents
        limit: words of a group at most
    """
    forms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    counted = [_counted([texts[i] for i in group], forms) for group in groups]
    everywhere: Counter[str] = Counter()
    for weights, _ in counted:
        everywhere.update(weights)
    written = {stem: _written(found) for stem, found in forms.items()}
    candidates = [
        _candidates(_scored(weights, used, len(group), everywhere, len(groups)), written)
        for (weights, used), group in zip(counted, groups, strict=True)
    ]
    together = _Together([text for group in groups for text in _of(texts, group)], candidates)
    return [tuple(_chosen(own, together, limit)) for own in candidates]


def _of(texts: Sequence[Sequence[str]], group: Sequence[int]) -> list[list[str]]:
    return [[stem_of(word) for word in texts[i]] for i in group]


def _counted(
    texts: Sequence[Sequence[str]], forms: dict[str, Counter[str]]
) -> tuple[Counter[str], Counter[str]]:
    """The weight of each stem in a group, and how many documents use it; its forms to `forms`."""
    weights: Counter[str] = Counter()
    used: Counter[str] = Counter()
    for text in texts:
        stems: Counter[str] = Counter()
        for word, count in Counter(text).items():
            stem = stem_of(word)
            stems[stem] += count
            forms[stem][word] += count
        used.update(stems.keys())
        for stem, count in stems.items():
            weights[stem] += 1 + math.log(count)  # type: ignore[assignment]  # no count any more
    return weights, used


def _scored(
    own: Counter[str], used: Counter[str], n: int, everywhere: Counter[str], n_groups: int
) -> Weights:
    size, total = sum(own.values()), sum(everywhere.values())
    average = total / max(1, n_groups)
    least = 1 if n < _FEW else max(2, math.ceil(_SUPPORT * n))
    lift = min(_LIFT, 0.9 * total / max(1, size))  # of the whole library nothing stands out
    scored = {}
    for stem, weight in own.items():
        share = weight / everywhere[stem]
        if used[stem] >= least and share * total >= lift * size:
            rare = math.log(1 + average / everywhere[stem])
            scored[stem] = weight / size * rare * share**_SHARED
    return scored


def _candidates(scored: Weights, written: dict[str, str]) -> dict[str, tuple[str, float]]:
    """Each stem with its word and score, the best first, none akin to a better one."""
    found: dict[str, tuple[str, float]] = {}
    for stem in sorted(scored, key=lambda stem: (-scored[stem], stem)):
        if len(found) == _CANDIDATES:
            break
        if not any(akin(written[stem], word) for word, _ in found.values()):
            found[stem] = written[stem], scored[stem]
    return found


def _chosen(own: dict[str, tuple[str, float]], together: "_Together", limit: int) -> list[str]:
    stems = list(own)
    if not stems:
        return []
    scores = np.log([own[stem][1] for stem in stems])
    mutual = together.mutual(stems)
    chosen = [0]
    while len(chosen) < min(limit, len(stems)):
        worth = scores + _TOGETHER * mutual[:, chosen].mean(axis=1)
        worth[chosen] = -np.inf
        chosen.append(int(worth.argmax()))
    return [own[stems[i]][0] for i in sorted(chosen)]


class _Together:
    """How often words stand near each other: in spans of ten, of which each begins in the middle
    of the one before."""

    def __init__(
        self, texts: Sequence[Sequence[str]], candidates: Sequence[dict[str, tuple[str, float]]]
    ) -> None:
        from scipy.sparse import csr_matrix

        stems = dict.fromkeys(stem for own in candidates for stem in own)
        self._places = {stem: at for at, stem in enumerate(stems)}
        rows, columns, n = _spans(texts, self._places)
        held = csr_matrix(
            (np.ones(len(rows), np.float32), (rows, columns)), shape=(max(1, n), len(stems))
        )
        held.data[:] = 1  # twice in a span is once
        self._shares = (held.T @ held).toarray() / max(1, n)

    def mutual(self, stems: Sequence[str]) -> NDArray[np.float64]:
        """Normalised pointwise mutual information of each with each, -1 … 1."""
        at = [self._places[stem] for stem in stems]
        both = self._shares[np.ix_(at, at)].astype(np.float64) + _NEVER
        alone = np.diag(both)
        return np.asarray(np.log(both / np.outer(alone, alone)) / -np.log(both))


def _spans(
    texts: Sequence[Sequence[str]], places: dict[str, int]
) -> tuple[list[int], list[int], int]:
    """The (span, word) pairs, each once, and how many spans there are."""
    held: set[tuple[int, int]] = set()
    n = 0
    for text in texts:
        last = max(1, math.ceil((len(text) - _STEP) / _STEP))
        for at, stem in enumerate(text):
            if (word := places.get(stem)) is not None:
                span = at // _STEP
                held.update((n + i, word) for i in (span - 1, span) if 0 <= i < last)
        n += last
    pairs = sorted(held)
    return [row for row, _ in pairs], [word for _, word in pairs], n


def _written(forms: Counter[str]) -> str:
    return min(forms, key=lambda word: (-forms[word], word))


@lru_cache(maxsize=262144)
def stem_of(word: str) -> str:
    """What the forms of one word have in common."""
    found = tokens(word)
    return found[0] if len(found) == 1 else word


def akin(one: str, other: str) -> bool:
    """Whether two words say nearly the same: one stem, or most of their letters from the first."""
    if stem_of(one) == stem_of(other):
        return True
    if is_korean(one) and is_korean(other):
        return one in other or other in one
    pairs = enumerate(zip(one, other, strict=False))
    alike = next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))
    return alike >= _ALIKE and alike >= _MOST * max(len(one), len(other))
