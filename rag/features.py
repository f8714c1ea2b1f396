"""What tells whether an answer's evidence answers the question: figures of one question's hits.

Each is a pure function of the question, its hits and their sentences; shares of words are weighed
by how rare a word is in the library. What nobody could ask is None, never a guess.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from statistics import fmean

from index.analysis import content_words
from index.records import WordFrequencies
from rag.evidence import Evidence, share
from rag.quantities import asks_for, states
from rag.records import Hit, SearchResult
from rag.unrelated import above_unrelated

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
# A capital inside a sentence, capitals only, or a code: what names one thing and no other.
_NAME = re.compile(
    r"(?<=[\w,;:)] )[A-Z][\w-]*\w|\b[A-Z]{2,}[\w-]*|\b[A-Za-z]+[-_]?\d[\w-]*", re.ASCII
)
_LEAST = 1e-4  # of a probability, so that its log-odds stay finite
_FURTHER = 7  # years or whatever is counted: near enough to be taken for the right one


@dataclass(frozen=True, slots=True)
class Features:
    """Of one question with what was found for it."""

    near: float | None  # the higher of the next and `sentence`: what the passage says anywhere
    nearest: float | None  # best passage's cosine above what is unrelated; None without meaning
    lead: float | None  # of the best passage before the mean of those found
    sentence: float | None  # likewise of the best sentence
    words: float  # share of the question's words in the passage that has most of them
    sentence_words: float  # in the sentence that has most of them
    missing: float  # how rare the rarest word is that the nearest passage lacks: 1 is unheard of
    unknown: float  # share of the question's words that stand nowhere in the library
    numbers: float  # share of its numbers that no single passage has all of, 0 where it has none
    names: float  # likewise of its names and codes
    amount: float  # 1 where the best sentence lacks the kind of amount that is asked for, else 0
    bm25: float  # of the best passage, to what the question's words weigh together
    answers: float | None = None  # log-odds of the surest sentence, by the judge of evidence
    decline: float | None = None  # log-odds of a grounded generator declining
    log_probability: float | None = None  # of its answer, a token
    reader: float | None = None  # a span reader's margin of an answer over none
    certificate: float | None = None  # nats a token that the answer loses without its evidence


NAMES = tuple(field.name for field in fields(Features))


def features(
    question: str,
    evidence: Sequence[Evidence],
    found: SearchResult,
    *,
    unrelated: float,
    decline_probability: float | None = None,
) -> Features:
    """All that is known of a question before somebody reads an answer.

    Args:
        question: as it was looked for
        evidence: sentences of the hits
        found: the hits, and how common the question's words are
        unrelated: the encoder's cosine of what does not belong together
        decline_probability: a grounded generator's, of declining against quoting
    """
    texts = [passage_text(hit) for hit in found.hits]
    held = [set(content_words(text)) for text in texts]
    cosines = _cosines(found.hits, unrelated)
    similarities = [e.similarity for e in evidence if e.similarity is not None]
    return Features(
        near=max((*cosines, *similarities), default=None),
        nearest=max(cosines, default=None),
        lead=max(cosines) - fmean(cosines) if cosines else None,
        sentence=max(similarities, default=None),
        words=max((share(words, found.words) for words in held), default=0.0),
        sentence_words=_best_sentence(evidence, found.words),
        missing=min((rarest_missing(words, found.words) for words in held), default=1.0),
        unknown=unheard(found.words),
        numbers=lacking(numbers(question), [numbers(text) for text in texts]),
        names=lacking(names(question), held),
        amount=float(lacks_amount(question, evidence)),
        bm25=matched(found),
        answers=max((e.answers for e in evidence if e.answers is not None), default=None),
        decline=None if decline_probability is None else log_odds(decline_probability),
    )


def passage_text(hit: Hit) -> str:
    chunk = hit.chunk
    return " ".join((chunk.document.title, *chunk.heading, chunk.text))


def numbers(text: str) -> set[str]:
    """The numbers of a text; 1,234 and 1234 are the same."""
    return {number.replace(",", "") for number in _NUMBER.findall(text)}


def names(text: str) -> set[str]:
    """The words of a text's names and codes, as the index counts words."""
    return {word for name in _NAME.findall(text) for word in content_words(name)}


def lacking(wanted: set[str], held: Sequence[set[str]]) -> float:
    """The share of what is wanted that even the best holder lacks; 0 where nothing is."""
    if not wanted:
        return 0.0
    return min((len(wanted - each) / len(wanted) for each in held), default=1.0)


def lacks_amount(question: str, evidence: Sequence[Evidence]) -> bool:
    """Whether an amount is asked for, and the best of the evidence has none of its kind."""
    kinds = asks_for(question)
    return bool(kinds) and not (evidence and states(evidence[0].text, kinds))


def rarest_missing(held: set[str], asked: WordFrequencies) -> float:
    """The weight of the rarest word of the question that is not held, to that of an unheard one."""
    most = math.log1p((asked.chunks + 0.5) / 0.5)
    return max((asked.weight(word) for word in asked.counts if word not in held), default=0) / most


def unheard(asked: WordFrequencies) -> float:
    """The share of a question's words that no chunk of the library has."""
    return sum(count == 0 for count in asked.counts.values()) / max(1, len(asked.counts))


def matched(found: SearchResult) -> float:
    """The best BM25, to the sum of the words' weights: about 1 where all stand in one passage."""
    total = sum(map(found.words.weight, found.words.counts))
    return max((hit.lexical or 0.0 for hit in found.hits), default=0.0) / total if total else 0.0


def log_odds(probability: float) -> float:
    kept = min(max(probability, _LEAST), 1 - _LEAST)
    return math.log(kept / (1 - kept))


def _cosines(hits: Sequence[Hit], unrelated: float) -> list[float]:
    return [above_unrelated(hit.dense, unrelated) for hit in hits if hit.dense is not None]


def _best_sentence(evidence: Sequence[Evidence], asked: WordFrequencies) -> float:
    return max((share(set(content_words(e.text)), asked) for e in evidence), default=0.0)


def swapped(question: str, other: str) -> str | None:
    """The question with one number changed, else with a name of another question for its own.

    Returns:
        None where it has neither.
    """
    if found := max(_NUMBER.finditer(question), key=lambda m: len(m[0]), default=None):
        digits, *rest = re.split(r"(?=[.,:])", found[0], maxsplit=1)
        moved = str(int(digits) + _FURTHER).zfill(len(digits))
        return question[: found.start()] + "".join((moved, *rest)) + question[found.end() :]
    its, others = _NAME.search(question), [match[0] for match in _NAME.finditer(other)]
    fitting = [name for name in others if name.casefold() not in question.casefold()]
    if its is None or not fitting:
        return None
    return question[: its.start()] + fitting[0] + question[its.end() :]
