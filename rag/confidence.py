"""Whether the documents hold anything on a question: by raw similarity and words, never by rank.

A fused score says only which hit is the best; its top is high for any question.
"""

from collections.abc import Sequence

from index.analysis import content_words
from rag.evidence import Evidence, share
from rag.records import Hit, SearchResult
from rag.unrelated import above_unrelated

_NEAR_ENOUGH = 0.45  # of 0.7 x the best similarity + 0.3 x the best passage's share of the words
_WORDS_ENOUGH = 0.25  # of the words, where there is no similarity
_UNKNOWN = 0.25  # of the question's words may stand nowhere in the library, where words decide


def is_relevant(evidence: Sequence[Evidence], found: SearchResult, unrelated: float) -> bool:
    """Whether a passage comes near enough to the question to answer from it.

    Args:
        evidence: sentences of the hits
        found: the hits
        unrelated: the encoder's cosine of what does not belong together
    """
    if not evidence:
        return False
    overlap = max(_overlap(hit, found) for hit in found.hits)
    similarities = [e.similarity for e in evidence if e.similarity is not None]
    if not similarities:
        counts = found.words.counts
        unknown = sum(count == 0 for count in counts.values())
        return overlap >= _WORDS_ENOUGH and unknown <= _UNKNOWN * len(counts)
    cosines = [hit.dense for hit in found.hits if hit.dense is not None]
    similarities += [above_unrelated(cosine, unrelated) for cosine in cosines]
    return 0.7 * max(similarities) + 0.3 * overlap >= _NEAR_ENOUGH


def _overlap(hit: Hit, found: SearchResult) -> float:
    chunk = hit.chunk
    text = " ".join((chunk.document.title, *chunk.heading, chunk.text))
    return share(set(content_words(text)), found.words)
