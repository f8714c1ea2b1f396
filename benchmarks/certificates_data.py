"""Questions whose evidence is one known sentence, each with others that do not hold the answer."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.kept import questions as covid_questions
from rag.sentences import sentences

_OTHERS = 3
_LONGEST = 300  # characters of a sentence
_SHORTEST = 40
_SHORT = 8  # words of an answer


@dataclass(frozen=True, slots=True)
class Gold:
    """A question, its short answer and the sentence that holds it, somewhere among others."""

    question: str
    answer: str
    sentence: str
    others: tuple[str, ...]
    place: int  # of the sentence among them
    counterfactual: tuple[str, str] | None = None  # the sentence and the answer of another world


def rgb(data: Path) -> list[Gold]:
    """Web snippets, with counterfactual ones and noise (Chen et al. 2024)."""
    file = data / "rgb" / "en_fact.json"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]
    return [gold for number, row in enumerate(rows) for gold in _of_rgb(row, number)]


def _of_rgb(row: dict[str, Any], number: int) -> Iterator[Gold]:
    answer, fake = row["answer"], row["fakeanswer"]
    if not isinstance(answer, str) or not isinstance(fake, str):
        return
    others = [_cut(text) for text in row["negative"] if not _holds(text, answer)][:_OTHERS]
    for right, wrong in zip(row["positive"], row["positive_wrong"], strict=False):
        pair = _cut(right), _cut(wrong)
        if _holds(pair[0], answer) and _holds(pair[1], fake) and not _holds(pair[1], answer):
            if len(others) == _OTHERS:
                yield _placed(row["query"], answer, pair[0], others, number, (pair[1], fake))
            return


def covid_qa(data: Path) -> list[Gold]:
    """Sentences of papers, the others from the same paper."""
    made = []
    for number, asked in enumerate(covid_questions(data / "covid_qa", 600)):
        pool = [text for passage in asked.passages for text in _sentences(passage)]
        others = [text for text in pool if not _holds(text, asked.answer) and text != asked.quote]
        if len(asked.answer.split()) <= _SHORT and len(others) >= _OTHERS:
            quote = " ".join(asked.quote.split())
            made.append(_placed(asked.question, asked.answer, quote, others, number))
    return made


def korquad(data: Path) -> list[Gold]:
    """Sentences of the Korean Wikipedia, the others from the same article."""
    (file,) = (data / "korquad_v1").glob("*dev.json")
    articles = json.loads(file.read_text(encoding="utf-8"))["data"]
    made = [gold for article in articles for gold in _of_article(article)]
    return [made[i] for i in np.random.default_rng(0).permutation(len(made))]


def _of_article(article: dict[str, Any]) -> Iterator[Gold]:
    pool = [text for part in article["paragraphs"] for text in _sentences(part["context"])]
    for part in article["paragraphs"]:
        for number, asked in enumerate(part["qas"][:1]):
            answer, start = asked["answers"][0]["text"], asked["answers"][0]["answer_start"]
            spans = sentences(part["context"])
            at = next(((a, b) for a, b in spans if a <= start < b), None)
            others = [text for text in pool if answer not in text]
            if at is not None and len(others) >= _OTHERS and at[1] - at[0] <= _LONGEST:
                gold = " ".join(part["context"][slice(*at)].split())
                if answer in gold:
                    yield _placed(asked["question"], answer, gold, others, start + number)


def _placed(
    question: str,
    answer: str,
    sentence: str,
    others: Sequence[str],
    seed: int,
    counterfactual: tuple[str, str] | None = None,
) -> Gold:
    rng = np.random.default_rng(seed)
    some = tuple(others[i] for i in rng.permutation(len(others))[:_OTHERS])
    place = int(rng.integers(_OTHERS + 1))
    return Gold(question, answer, sentence, some, place, counterfactual)


def _sentences(text: str) -> list[str]:
    found = (" ".join(text[start:end].split()) for start, end in sentences(text))
    return [each for each in found if _SHORTEST <= len(each) <= _LONGEST]


def _cut(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST else flat[:_LONGEST].rsplit(" ", 1)[0]


def _holds(text: str, answer: str) -> bool:
    return answer.casefold() in text.casefold()
