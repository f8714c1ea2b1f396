"""What a trained encoder must beat: character n-grams, and static vectors of words."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Words = Callable[[str], list[str]]

_WINDOW = 5  # words to each side, the nearer the heavier (1 / distance)
_SMOOTHING = 0.75  # of the frequency of contexts (Levy et al. 2015, §3.2)
_RARE = 1e-4  # a word of this frequency weighs half (Arora et al. 2017, §3)


def character_cosines(left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
    """Cosines of TF-IDF vectors of one to three characters: nothing is trained, texts are counted.

    Returns:
        (n,), of the i-th text on the left and the i-th on the right
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    counter = TfidfVectorizer(analyzer="char", ngram_range=(1, 3)).fit([*left, *right])
    products = counter.transform(left).multiply(counter.transform(right))
    cosines: NDArray[np.float64] = np.asarray(products.sum(axis=1)).ravel()
    return cosines


class StaticVectors:
    """One vector a word whatever stands around it: the truncated SVD of PPMI counts.

    It factorises what word2vec's negative sampling does (Levy & Goldberg 2014), on small texts as
    well as it (Levy et al. 2015, §6), the same each time, and without a library of its own.

    Args:
        texts: to learn from
        words: of a text
        dimensions: of a vector, fewer where there are fewer words
        vocabulary: most frequent words at most; those that occur once are left out
    """

    def __init__(
        self, texts: Iterable[str], words: Words, *, dimensions: int = 300, vocabulary: int = 30_000
    ) -> None:
        self.words = words
        found = [words(text) for text in texts]
        counts = Counter(word for text in found for word in text)
        known = [(word, n) for word, n in counts.most_common(vocabulary) if n > 1]
        self.rows = {word: row for row, (word, _) in enumerate(known)}
        frequency = np.array([n for _, n in known]) / sum(counts.values())
        self.weights = _RARE / (_RARE + frequency)
        ids = [np.array([self.rows[w] for w in text if w in self.rows]) for text in found]
        self.vectors = _factorised(ids, len(known), dimensions)  # (v, d)

    def mean(self, texts: Sequence[str]) -> Floats:
        """The mean over the words of each text: (n, d), of no particular length."""
        return self._pooled(texts, np.ones_like(self.weights))

    def weighted(self, texts: Sequence[str]) -> Floats:
        """Frequent words count less, and the mean of all texts is taken off (Arora et al. 2017)."""
        pooled = self._pooled(texts, self.weights)
        return np.asarray(pooled - pooled.mean(axis=0))

    def _pooled(self, texts: Sequence[str], weights: NDArray[np.float64]) -> Floats:
        pooled = np.zeros((len(texts), self.vectors.shape[1]), np.float32)
        for row, text in enumerate(texts):
            ids = [self.rows[word] for word in self.words(text) if word in self.rows]
            if ids:
                pooled[row] = weights[ids] @ self.vectors[ids] / len(ids)
        return pooled


def _factorised(ids: Sequence[NDArray[np.int_]], size: int, dimensions: int) -> Floats:
    """Left singular vectors without their lengths (Levy et al. 2015, §3.3, p = 0): (v, d)."""
    from scipy.sparse import csr_matrix
    from sklearn.decomposition import TruncatedSVD

    counts = csr_matrix((size, size))
    for distance in range(1, _WINDOW + 1):
        pairs = [(text[:-distance], text[distance:]) for text in ids if len(text) > distance]
        if pairs:
            left, right = (np.concatenate(side) for side in zip(*pairs, strict=True))
            share = np.full(len(left), 1 / distance)
            counts += csr_matrix((share, (left, right)), shape=(size, size))
    both = (counts + counts.T).tocoo()
    of_word = np.asarray(both.sum(axis=1)).ravel()
    of_context = of_word**_SMOOTHING / (of_word**_SMOOTHING).sum()
    information = np.log(both.data / of_word[both.row] / of_context[both.col])
    kept = information > 0
    positive = csr_matrix((information[kept], (both.row[kept], both.col[kept])), shape=(size, size))
    svd = TruncatedSVD(min(dimensions, size - 1), random_state=0).fit(positive)
    vectors: Floats = (positive @ svd.components_.T / svd.singular_values_).astype(np.float32)
    return vectors
