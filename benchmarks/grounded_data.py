"""Examples that teach a generator to quote its evidence or to decline, from public questions.

Only data whose licences let the trained adapter be shipped: covid_qa, pubmedqa, hotpotqa_sample and
the test half of squad_nqg. A fifth of covid_qa's papers is kept out, to be judged on.

    python -m benchmarks.grounded_data DATA MODEL OUTPUT
"""

import argparse
import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.grounded_chat import CHATS
from benchmarks.grounded_sources import Asked, Passage, covid, hotpot, pubmed, squad
from benchmarks.pool import Pool
from generator import checkpoint
from generator.data import Example, Writing
from generator.prompts import Prompts, grounded
from rag import quoting

_SHARES = {"answerable": 0.55, "unanswerable": 0.30, "several": 0.10, "chat": 0.05}
_HARD = 0.6  # share of the unanswerable whose passages are of the gold one's own document
_ROOM = 1_450  # characters of the passages together: about 350 tokens
_TOKENS = 512  # of prompt and answer together
_FEWEST, _MOST = 1, 5  # passages of a prompt
_RANKED = 12  # a distractor is one of so many best
_TRAINED, _DEV = 9_000, 140


@dataclass(frozen=True, slots=True)
class Made:
    """An example as its file has it."""

    kind: str
    source: str
    passages: tuple[str, ...]
    question: str
    answer: str
    gold: tuple[str, ...] = ()  # what counts as right, for who judges by words

    def row(self) -> dict[str, Any]:
        asked = quoting.question(self.question) if self.passages else self.question
        return {
            "system": quoting.SYSTEM,
            "passages": list(self.passages),
            "question": asked,
            "answer": self.answer,
            "kind": self.kind,
            "source": self.source,
            "gold": list(self.gold),
        }


class Making:
    """Puts passages around questions.

    Args:
        pool: passages that distractors are drawn from
        rng: draws
    """

    def __init__(self, pool: Sequence[Passage], rng: random.Random) -> None:
        self.pool, self.rng = Pool(pool), rng

    def answerable(self, asked: Asked) -> Made:
        others = self._distractors(asked, asked.question)
        return self._with_gold("answerable", [asked], others, asked.question)

    def several(self, asked: Sequence[Asked], question: str) -> Made:
        others = self._distractors(asked[0], question, without=asked)
        return self._with_gold("several", asked, others, question)

    def unanswerable(self, asked: Asked) -> Made:
        """The evidence is taken away; what is left is of the same document, or much like it."""
        hard = self.rng.random() < _HARD
        own = [p for p in self.pool.of_document[asked.document] if not asked.may_answer(p)]
        others = self.pool.ranking.sorted(asked.question, own)[:4] if hard else []
        others += self._distractors(asked, asked.question)
        chosen = self._fitting([], others)
        self.rng.shuffle(chosen)
        return Made(
            "unanswerable", asked.source, _numbered(chosen), asked.question, quoting.DECLINED
        )

    def _with_gold(
        self, kind: str, asked: Sequence[Asked], others: Sequence[Passage], question: str
    ) -> Made:
        golds = list(dict.fromkeys(each.gold for each in asked))
        chosen = self._fitting(golds, others)
        self.rng.shuffle(chosen)
        lines = sorted({(chosen.index(each.gold) + 1, each.evidence) for each in asked})
        answer = "\n".join(quoting.quotation(number, text) for number, text in lines)
        gold = tuple(text for each in asked for text in each.answers)
        return Made(kind, asked[0].source, _numbered(chosen), question, answer, gold)

    def _fitting(self, golds: Sequence[Passage], others: Sequence[Passage]) -> list[Passage]:
        """The gold passages, and as many others as are drawn and have room."""
        wanted = self.rng.randint(max(_FEWEST, len(golds)), _MOST)
        chosen = list(golds)
        room = _ROOM - sum(len(each.text) + len(each.heading) for each in golds)
        for other in others:
            if len(chosen) >= wanted:
                break
            if len(other.text) + len(other.heading) <= room and other not in chosen:
                chosen.append(other)
                room -= len(other.text) + len(other.heading)
        return chosen

    def _distractors(
        self, asked: Asked, question: str, *, without: Sequence[Asked] = ()
    ) -> list[Passage]:
        """What the words of the question find, but for what may answer it, in a drawn order."""
        kept = self.pool.misleading(question, [asked, *without], _RANKED + 8)[:_RANKED]
        self.rng.shuffle(kept)
        return kept


def _numbered(passages: Sequence[Passage]) -> tuple[str, ...]:
    return tuple(
        quoting.passage(number, each.heading, each.text)
        for number, each in enumerate(passages, start=1)
    )


def make(
    asked: Sequence[Asked],
    pairs: Sequence[tuple[Sequence[Asked], str]],
    pool: Sequence[Passage],
    count: int,
    *,
    seed: int,
    chats: Sequence[tuple[str, str]] = CHATS,
) -> list[Made]:
    """So many examples, in the shares of the recipe.

    Args:
        asked: questions with their evidence, most wanted first
        pairs: questions that two passages answer
        pool: distractors
        count: of the examples, fewer where questions run out
        seed: of what is drawn
        chats: what is said without passages, and the reply
    """
    rng = random.Random(seed)
    making = Making(pool, rng)
    n = {kind: round(share * count) for kind, share in _SHARES.items()}
    made = [making.answerable(each) for each in asked[: n["answerable"]]]
    made += [making.unanswerable(each) for each in _spread(asked, n["unanswerable"], rng)]
    made += [making.several(each, question) for each, question in pairs[: n["several"]]]
    for said, reply in rng.choices(chats, k=n["chat"]) if chats else ():
        made.append(Made("chat", "project", (), said, reply))
    rng.shuffle(made)
    return made


def _spread(asked: Sequence[Asked], count: int, rng: random.Random) -> list[Asked]:
    """So many questions, of each source about as many, where it has them."""
    drawn = rng.sample(list(asked), len(asked))
    turns: Counter[str] = Counter()
    numbered = []
    for each in drawn:
        numbered.append((turns[each.source], each))
        turns[each.source] += 1
    return [each for _, each in sorted(numbered, key=lambda turn: turn[0])[:count]]


def joined(asked: Sequence[Asked], rng: random.Random) -> list[tuple[Sequence[Asked], str]]:
    """Two questions of one document asked at once."""
    by_document: dict[str, list[Asked]] = {}
    for each in asked:
        by_document.setdefault(each.document, []).append(each)
    pairs: list[tuple[Sequence[Asked], str]] = []
    for group in by_document.values():
        for left, right in zip(group[::2], group[1::2], strict=False):
            if left.gold != right.gold and len(left.gold.text + right.gold.text) < _ROOM:
                second = right.question[0].lower() + right.question[1:]
                pairs.append(((left, right), f"{left.question.rstrip(' ?')}, and {second}"))
    rng.shuffle(pairs)
    return pairs


def write(rows: Iterable[Mapping[str, Any]], file: Path) -> None:
    lines = (json.dumps(row, ensure_ascii=False) for row in rows)
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("model", type=Path, help="the generator whose tokens are counted")
    parser.add_argument("output", type=Path)
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    fits = fitting(given.model)
    for name, made in build(given.data).items():
        rows = [row for row in (each.row() for each in made) if fits(row)]
        write(rows, given.output / f"{name}.jsonl")
        print(f"{name}: {len(rows)} of {len(made)}")


def fitting(model: Path) -> Callable[[Mapping[str, Any]], bool]:
    """Whether an example has no more tokens than are learned in a row."""
    loaded = checkpoint.load(model, "int4")
    prompts = Prompts(loaded.chat, loaded.tokenizer)
    writing = Writing(prompts, loaded.tokenizer, loaded.chat.ends)

    def fits(row: Mapping[str, Any]) -> bool:
        messages = grounded(row["system"], row["question"], row["passages"])
        return len(writing.encode(Example(messages, row["answer"])).ids) <= _TOKENS

    return fits


def build(data: Path) -> dict[str, list[Made]]:
    """train, dev and judge; no paper and no article stands in two of them."""
    rng = random.Random(0)
    papers = covid(data)  # train, dev, judge
    wide, narrow = squad(data), 400
    medical, hops = pubmed(data), hotpot(data)
    dev = [*papers.dev, *wide.asked[-narrow:], *medical.asked[-40:]]
    train = [*papers.train, *wide.asked[: -2 * narrow], *medical.asked[:-80]]
    rng.shuffle(train)
    # What has a place for each answer is worth most, and there is little of it.
    train.sort(key=lambda each: each.source == "squad_nqg" and rng.random() < 0.75)
    rng.shuffle(dev)
    pool = [*papers.pool("train"), *wide.pool, *medical.pool, *hops.pool]
    pairs = [*hops.pairs[:-10], *joined(wide.asked[: -2 * narrow], rng)]
    rng.shuffle(pairs)
    judge = [*papers.judge]
    judging = Making(papers.pool("judge"), random.Random(2))
    judged = [judging.answerable(each) for each in judge]
    judged += [judging.unanswerable(each) for each in judge]
    random.Random(3).shuffle(judged)
    dev_pairs = hops.pairs[-10:]
    return {
        "train": make(train, pairs, pool, _TRAINED, seed=1),
        "dev": make(dev, dev_pairs, [*papers.pool("dev"), *wide.pool, *medical.pool], _DEV, seed=2),
        "judge": judged,
    }


if __name__ == "__main__":
    main()
