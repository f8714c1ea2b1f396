"""Public questions as questions with a passage and the sentence of it that answers them."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import torch

from encoder.questions import Question, read_squad
from index.analysis import content_words
from rag.sentences import sentences
from transformer.runtime import seeded

_PASSAGE = 460  # characters at most, unless one sentence is longer: about 110 tokens
_EVIDENCE = 420  # characters of what is quoted
_SHARED = 0.6  # of a question's words, with which a sentence may answer it
_DEV_PAPERS = 8


@dataclass(frozen=True, slots=True)
class Passage:
    document: str
    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and what answers it."""

    source: str
    question: str
    gold: Passage
    evidence: str  # a sentence of it, or two that stand together
    answers: tuple[str, ...] = ()  # strings of which one counts as right

    @property
    def document(self) -> str:
        return self.gold.document

    def may_answer(self, passage: Passage) -> bool:
        """Whether a passage is none to be shown as one that does not answer."""
        if self.evidence in passage.text or passage.text in self.gold.text:
            return True
        if any(len(a.split()) > 1 and a.lower() in passage.text.lower() for a in self.answers):
            return True
        if passage.document != self.document:
            return False
        if any(answer.lower() in passage.text.lower() for answer in self.answers):
            return True
        asked = set(content_words(self.question))
        parts = [set(content_words(passage.text[a:b])) for a, b in sentences(passage.text)]
        return any(len(asked & part) >= _SHARED * len(asked) for part in parts)


@dataclass(frozen=True, slots=True)
class Papers:
    """Long papers in three parts, by paper."""

    train: list[Asked]
    dev: list[Asked]
    judge: list[Asked]
    passages: dict[str, list[Passage]]  # by which part

    def pool(self, part: str) -> list[Passage]:
        return self.passages[part]


@dataclass(frozen=True, slots=True)
class Source:
    """Questions with one answer, those with two, and the passages of all documents."""

    asked: list[Asked]
    pool: list[Passage]
    pairs: list[tuple[Sequence[Asked], str]]


def covid(data: Path) -> Papers:
    """Papers with a place for each answer; the same fifth is kept out as of the reader's tests."""
    file = data / "covid_qa" / "200423_covidQA.json"
    articles: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["data"]
    order = torch.randperm(len(articles), generator=seeded(0)).tolist()
    n = len(articles) // 5
    parts = {
        "judge": sorted(order[:n]),
        "dev": sorted(order[n : n + _DEV_PAPERS]),
        "train": sorted(order[n + _DEV_PAPERS :]),
    }
    asked: dict[str, list[Asked]] = {part: [] for part in parts}
    passages: dict[str, list[Passage]] = {part: [] for part in parts}
    for part, numbers in parts.items():
        for number in numbers:
            questions, _ = read_squad([articles[number]])
            found, cut = _paper(f"covid_qa/{number}", questions)
            asked[part] += found
            passages[part] += cut
    return Papers(asked["train"], asked["dev"], asked["judge"], passages)


def _paper(document: str, questions: Sequence[Question]) -> tuple[list[Asked], list[Passage]]:
    if not questions:
        return [], []
    text = questions[0].passage
    title = text.split("\n", 1)[0].strip()[:100]
    spans = passage_spans(text)
    cut = [Passage(document, title, text[start:end]) for start, end in spans]
    found = []
    for question in questions:
        answer, start = question.answers[0]
        place = _whole(spans, start, start + len(answer))
        if place is None:
            continue
        begin, end = spans[place]
        evidence = _evidence(text[begin:end], start - begin, start - begin + len(answer))
        if evidence is not None:
            asked = _tidy(question.question)
            found.append(Asked("covid_qa", asked, cut[place], evidence, (answer.strip(" .,;"),)))
    return found, cut


def passage_spans(text: str, room: int = _PASSAGE) -> list[tuple[int, int]]:
    """Whole sentences up to `room` characters; what is no sentence by its length is left out."""
    spans: list[tuple[int, int]] = []
    for start, end in sentences(text):
        if end - start > room:
            continue
        near = spans and "\n\n" not in text[spans[-1][1] : start]
        if near and end - spans[-1][0] <= room:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return [(start, end) for start, end in spans if end - start >= 80]


def _whole(spans: Sequence[tuple[int, int]], start: int, end: int) -> int | None:
    return next((i for i, (a, b) in enumerate(spans) if a <= start and end <= b), None)


def _evidence(text: str, start: int, end: int) -> str | None:
    """The one or two sentences that an answer stands in."""
    inside = [(a, b) for a, b in sentences(text) if a < end and start < b]
    if not 1 <= len(inside) <= 2 or inside[-1][1] - inside[0][0] > _EVIDENCE:
        return None
    return text[inside[0][0] : inside[-1][1]]


def pubmed(data: Path) -> Source:
    """Abstracts by section; the conclusion that the question was made of answers it."""
    rows = json.loads((data / "pubmedqa" / "ori_pqal.json").read_text(encoding="utf-8"))
    asked, pool = [], []
    for number, row in rows.items():
        document = f"pubmedqa/{number}"
        for label, text in zip(row["LABELS"], row["CONTEXTS"], strict=True):
            if label not in ("RESULTS", "CONCLUSIONS", "FINDINGS"):  # these may answer it as well
                spans = passage_spans(text)
                pool += [Passage(document, label.capitalize(), text[a:b]) for a, b in spans]
        gold = Passage(document, "Conclusions", row["LONG_ANSWER"].strip())
        parts = [gold.text[a:b] for a, b in sentences(gold.text)]
        question = _tidy(row["QUESTION"])
        words = set(content_words(question))
        evidence = max(parts, key=lambda part: len(words & set(content_words(part))))
        if len(gold.text) <= 1000 and 20 <= len(evidence) <= _EVIDENCE:
            asked.append(Asked("pubmedqa", question, gold, evidence))
            pool.append(gold)
    return Source(asked, pool, [])


def hotpot(data: Path) -> Source:
    """Questions over two articles, with the sentence of each that they are about."""
    folder = data / "hotpotqa_sample"
    documents = {row["_id"]: row for row in _rows(folder / "corpus.jsonl")}
    questions = {row["_id"]: row["text"] for row in _rows(folder / "queries.jsonl")}
    answers = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    lines = (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]
    relevant = [line.split("\t")[:2] for line in lines]
    passages = {name: _article(row) for name, row in documents.items()}
    pairs: list[tuple[Sequence[Asked], str]] = []
    for query, group in groupby(relevant, key=lambda pair: pair[0]):
        question = questions[query]
        golds = tuple(answers[query])
        names = [name for _, name in group]
        if len(names) == 2 and all(name in passages for name in names):
            found = [_about(question, passages[name], golds) for name in names]
            pairs.append((found, question))
    return Source([], list(passages.values()), pairs)


def _article(row: dict[str, Any]) -> Passage:
    start, end = passage_spans(row["text"], 800)[0] if len(row["text"]) > 800 else (0, None)
    return Passage(f"hotpotqa/{row['_id']}", row["title"], row["text"][start:end].strip())


def _about(question: str, passage: Passage, answers: tuple[str, ...]) -> Asked:
    words = set(content_words(question)) - set(content_words(passage.heading))
    parts = [passage.text[a:b] for a, b in sentences(passage.text)]
    said = {answer for answer in answers if answer not in ("yes", "no")}

    def worth(part: str) -> tuple[bool, int]:
        holds = any(answer.lower() in part.lower() for answer in said)
        return holds, len(words & set(content_words(part)))

    return Asked("hotpotqa", question, passage, max(parts, key=worth), answers)


def squad(data: Path) -> Source:
    """Sentences with the questions that were asked of them, among their neighbours.

    They come in the order of their articles, in lower case and cut into words.
    """
    folder = data / "squad_nqg"
    sides = [
        (folder / name).read_text(encoding="utf-8").splitlines()
        for name in ("src-test.txt", "tgt-test.txt")
    ]
    said = [(plain(source), plain(target)) for source, target in zip(*sides, strict=True)]
    groups = [(text, [q for _, q in rows]) for text, rows in groupby(said, key=lambda row: row[0])]
    asked: list[Asked] = []
    pool: list[Passage] = []
    for number, window in enumerate(_windows(groups)):
        passage = Passage(f"squad_nqg/{number // 6}", "", " ".join(text for text, _ in window))
        pool.append(passage)
        for text, questions in window:
            if 40 <= len(text) <= _EVIDENCE:
                usable = (q for q in questions if 12 <= len(q) <= 180 and len(content_words(q)) > 2)
                asked += [Asked("squad_nqg", q, passage, text) for q in usable]
    return Source(asked, pool, [])


def _windows(
    groups: Sequence[tuple[str, list[str]]],
) -> Iterable[list[tuple[str, list[str]]]]:
    """Neighbouring sentences, three or four at a time, and whole ones only."""
    window: list[tuple[str, list[str]]] = []
    for group in groups:
        size = sum(len(text) for text, _ in window)
        if window and (size + len(group[0]) > _PASSAGE or len(window) == 4):
            yield window
            window = []
        if len(group[0]) <= _PASSAGE:
            window.append(group)
    if window:
        yield window


_MARKS = (
    ("-lrb-", "("),
    ("-rrb-", ")"),
    ("-lsb-", "["),
    ("-rsb-", "]"),
    (" n't", "n't"),
    ("( ", "("),
    (" )", ")"),
    ("[ ", "["),
    (" ]", "]"),
)


def plain(text: str) -> str:
    """Words that were cut apart, written as one writes them."""
    for cut, whole in _MARKS:
        text = text.replace(cut, whole)
    text = re.sub(r"``\s*(.*?)\s*''", r'"\1"', text).replace("``", '"').replace("''", '"')
    text = re.sub(r"\s+([,.;:?!%])", r"\1", text)
    text = re.sub(r"\s+('(?:s|re|ve|ll|d|m)?)(?=\s|$)", r"\1", text)
    text = re.sub(r"([$£€#])\s+(?=\d)", r"\1", text)
    text = " ".join(text.split())
    return text[:1].upper() + text[1:]


def _tidy(question: str) -> str:
    text = " ".join(question.split())
    return f"{text[:1].upper()}{text[1:].rstrip(' ?')}?"


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
