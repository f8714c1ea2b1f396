"""Questions with sentences that answer them and others that do not, for a judge of evidence.

Only data whose licences let the trained adapter be shipped, as in `benchmarks.grounded_data`.

    python -m benchmarks.evidence_data DATA OUTPUT
"""

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.grounded_data import write
from benchmarks.grounded_sources import Asked, Passage, covid, hotpot, pubmed, squad
from benchmarks.pool import Pool
from rag.features import swapped
from rag.judging import presented
from rag.sentences import sentences

_SQUAD = 9_000  # of its questions: it has many, and of one kind
_OWN, _OTHER = 2, 1  # sentences that do not answer, of the same document and of others
_HARDEST = 5  # of a document's sentences by shared words, among which those are drawn
_RANKED = 12  # passages of others, by shared words
_BARE = 0.3  # of the pairs, without what stands around the sentence
_SWAPPED = 0.25  # of the questions are also asked with another's number or name
_SHORTEST = 25  # characters of a sentence


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and what it stands behind."""

    text: str
    before: str
    heading: str


class Pairing:
    """Finds sentences for questions.

    Args:
        pool: passages of all documents
        rng: draws
    """

    def __init__(self, pool: Sequence[Passage], rng: random.Random) -> None:
        self.pool, self.rng = Pool(pool), rng

    def pairs(self, asked: Asked, other: Asked) -> Iterator[dict[str, str]]:
        """Rows of one question; `other` lends it a number or a name."""
        gold = next((s for s in _sentences(asked.gold) if s.text in asked.evidence), None)
        before = "" if gold is None else gold.before
        right = Sentence(asked.evidence, before, asked.gold.heading)
        yield self._row(asked.question, right, "yes")
        for wrong in [*self._own(asked), *self._others(asked)]:
            yield self._row(asked.question, wrong, "no")
        if self.rng.random() < _SWAPPED and (moved := swapped(asked.question, other.question)):
            yield self._row(moved, right, "no")

    def _own(self, asked: Asked) -> list[Sentence]:
        near = [s for p in self.pool.of_document[asked.document] for s in _sentences(p)]
        wrong = [s for s in near if not _may_answer(s, asked)]
        hard = self.pool.ranking.sorted(asked.question, wrong)[:_HARDEST]
        return self.rng.sample(hard, min(_OWN, len(hard)))

    def _others(self, asked: Asked) -> list[Sentence]:
        found = self.pool.misleading(asked.question, [asked], _RANKED)
        best = [self.pool.ranking.sorted(asked.question, _sentences(p))[:1] for p in found]
        hard = [s for each in best for s in each]
        return self.rng.sample(hard, min(_OTHER, len(hard)))

    def _row(self, question: str, sentence: Sentence, label: str) -> dict[str, str]:
        around = ("", "") if self.rng.random() < _BARE else (sentence.heading, sentence.before)
        return {"text": question, "second": presented(sentence.text, *around), "label": label}


def _sentences(passage: Passage) -> list[Sentence]:
    spans = sentences(passage.text)
    texts = [passage.text[start:end] for start, end in spans]
    befores = ["", *texts]
    return [
        Sentence(text, before, passage.heading)
        for text, before in zip(texts, befores, strict=False)
        if len(text) >= _SHORTEST
    ]


def _may_answer(sentence: Sentence, asked: Asked) -> bool:
    text = sentence.text
    if text in asked.evidence or asked.evidence in text:
        return True
    return any(answer.lower() in text.lower() for answer in asked.answers)


def build(data: Path) -> dict[str, list[dict[str, str]]]:
    """train and dev; no paper and no article stands in two of them."""
    rng = random.Random(0)
    papers, wide, medical, hops = covid(data), squad(data), pubmed(data), hotpot(data)
    chosen = rng.sample(wide.asked[:-800], _SQUAD)
    linked = [asked for pair, _ in hops.pairs for asked in pair]
    parts = {
        "train": [*papers.train, *chosen, *medical.asked[:-80], *linked],
        "dev": [*papers.dev, *rng.sample(wide.asked[-400:], 120), *medical.asked[-40:]],
    }
    pool = [*papers.pool("train"), *papers.pool("dev"), *wide.pool, *medical.pool, *hops.pool]
    pairing = Pairing(pool, rng)
    made = {}
    for part, asked in parts.items():
        rng.shuffle(asked)
        rows = [
            row for place, each in enumerate(asked) for row in pairing.pairs(each, asked[place - 1])
        ]
        rng.shuffle(rows)
        made[part] = rows
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("output", type=Path)
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    for part, rows in build(given.data).items():
        write(rows, given.output / f"{part}.jsonl")
        print(f"{part}: {dict(Counter(row['label'] for row in rows))}")


if __name__ == "__main__":
    main()
