"""Questions with the documents that answer them, asked of a library with and without these."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Literal

from benchmarks import grounded_sources
from index.analysis import content_words
from rag.confidence import is_relevant
from rag.declining import excluding
from rag.features import Features, features, swapped
from rag.judged import JudgedDocument
from rag.judging import judged_evidence
from rag.records import SearchResult
from rag.retrieve import retrieve
from rag.trial import Trial, library_of
from rag.unrelated import unrelated_cosine

if TYPE_CHECKING:
    from encoder import Embedder
    from encoder.judge import Judge

Manner = Literal["held", "left_out", "cut_out", "swapped"]

_HITS = 6
_KEPT_OF_PUBMED = 80  # questions at the end that nothing learned from
_KEPT_OF_SQUAD = 50  # documents at the end, likewise
_SENTENCES = 8  # of squad_nqg, which come in the order of their articles, in a document


@dataclass(frozen=True, slots=True)
class Case:
    question: str
    gold: frozenset[str]  # paths of all documents that hold its answer
    evidence: str | None = None  # the sentence of one of them that does, where it is known


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it was put, and what is known of its evidence."""

    source: str
    language: str
    manner: Manner
    features: Features
    by_rule: bool  # whether `is_relevant` would answer it

    @property
    def answerable(self) -> bool:
        return self.manner == "held"


@dataclass(frozen=True, slots=True)
class Questioned:
    name: str
    language: str
    documents: tuple[JudgedDocument, ...]
    cases: tuple[Case, ...]


def asked(
    given: Questioned, embedder: "Embedder", judge: "Judge | None", cache: Path | None
) -> Iterator[Asked]:
    """Each question with its answer in the library, and in every manner without it.

    Left out are questions whose evidence is not found while it is there: those judge retrieval.
    """
    unrelated = unrelated_cosine(embedder)
    with library_of(given.documents, embedder, "e5-small", cache=cache) as trial:
        for place, case in enumerate(given.cases):
            other = swapped(case.question, given.cases[place - 1].question)
            for manner, question, found in _manners(trial, case, other):
                evidence = judged_evidence(question, found, embedder=embedder, judge=judge)
                known = features(question, evidence, found, unrelated=unrelated)
                rule = is_relevant(evidence, found, unrelated)
                yield Asked(given.name, given.language, manner, known, rule)


def _manners(
    trial: Trial, case: Case, other: str | None
) -> Iterator[tuple[Manner, str, SearchResult]]:
    found = _search(trial, case.question)
    there = [hit.chunk for hit in found.hits if hit.chunk.document.path in case.gold]
    if any(case.evidence is None or case.evidence in chunk.text for chunk in there):
        yield "held", case.question, found
        if case.evidence is not None:
            yield "cut_out", case.question, _cut_out(found, case.evidence)
    rows = trial.collection.documents()
    gone = [row.id for row in rows if row.path in case.gold]
    left = _search(trial, case.question, [row.id for row in rows if row.path not in case.gold])
    words = [set(content_words(c.text)) for key in gone for c in trial.catalog.chunks_of(key)]
    yield "left_out", case.question, replace(left, words=excluding(left.words, words))
    if other is not None:
        yield "swapped", other, _search(trial, other)


def _search(trial: Trial, question: str, documents: Sequence[int] | None = None) -> SearchResult:
    return retrieve(
        question,
        collection=trial.collection,
        embedder=trial.embedder,
        k=_HITS,
        weight=trial.weight,
        documents=documents,
    )


def _cut_out(found: SearchResult, sentence: str) -> SearchResult:
    """The same passages without a sentence, which no hit is left to hold."""
    hits = tuple(
        replace(hit, chunk=replace(hit.chunk, text=hit.chunk.text.replace(sentence, "")))
        for hit in found.hits
    )
    return replace(found, hits=hits)


def covid(data: Path, part: Literal["dev", "judge"], questions: int) -> Questioned:
    """Long papers, from which nothing that ships has learned to answer."""
    papers = grounded_sources.covid(data)
    whole = papers.dev if part == "dev" else papers.judge
    rng = Random(0)
    names = list(dict.fromkeys(each.document for each in whole))
    chosen = set(rng.sample(names, min(len(names), 10)))
    file = data / "covid_qa" / "200423_covidQA.json"
    articles: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["data"]
    documents = []
    for name in sorted(chosen):
        text = articles[int(name.rsplit("/", 1)[1])]["paragraphs"][0]["context"]
        documents.append(JudgedDocument(name, text.split("\n", 1)[0][:100], text))
    cases = [
        Case(each.question, frozenset({each.document}), each.evidence)
        for each in whole
        if each.document in chosen
    ]
    return Questioned(f"covid_qa {part}", "en", tuple(documents), _some(cases, questions))


def pubmed(data: Path, questions: int) -> Questioned:
    """Abstracts, the questions of which are none that were learned from."""
    file = data / "pubmedqa" / "ori_pqal.json"
    rows: dict[str, dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    kept = list(rows)[-_KEPT_OF_PUBMED:]
    documents = [
        JudgedDocument(key, "", "\n".join([*rows[key]["CONTEXTS"], rows[key]["LONG_ANSWER"]]))
        for key in list(rows)[-3 * _KEPT_OF_PUBMED :]
    ]
    cases = [Case(rows[key]["QUESTION"], frozenset({key})) for key in kept[:questions]]
    return Questioned("pubmedqa", "en", tuple(documents), tuple(cases))


def squad(data: Path, questions: int) -> Questioned:
    """Sentences of articles put together again, of which nothing was learned from."""
    folder = data / "squad_nqg"
    source, target = (
        [_tidy(line) for line in (folder / name).read_text(encoding="utf-8").splitlines()]
        for name in ("src-test.txt", "tgt-test.txt")
    )
    sentences = [line.capitalize() for line in dict.fromkeys(source)]
    home = {line: str(place // _SENTENCES) for place, line in enumerate(sentences)}
    chosen = set(sorted(set(home.values()), key=int)[-_KEPT_OF_SQUAD:])
    documents = [
        JudgedDocument(key, "", " ".join(line for line in sentences if home[line] == key))
        for key in sorted(chosen, key=int)
    ]
    pairs = [(line.capitalize(), question) for line, question in zip(source, target, strict=True)]
    cases = [Case(q, frozenset({home[s]}), s) for s, q in pairs if home[s] in chosen]
    return Questioned("squad_nqg", "en", tuple(documents), _some(cases, questions))


def korquad(data: Path, questions: int) -> Questioned:
    """Articles 100 to 121 of a set that only measures."""
    file = data / "korquad_v1" / "KorQuAD_v1.0_dev.json"
    articles: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["data"]
    documents, cases = [], []
    for number, article in enumerate(articles[100:122]):
        parts = article["paragraphs"]
        text = "\n\n".join(part["context"] for part in parts)
        documents.append(JudgedDocument(str(number), article["title"], text))
        gold = frozenset({str(number)})
        cases += [Case(asking["question"], gold) for part in parts for asking in part["qas"]]
    return Questioned("korquad", "ko", tuple(documents), _some(cases, questions))


def _some(cases: Sequence[Case], most: int) -> tuple[Case, ...]:
    return tuple(Random(0).sample(cases, min(most, len(cases))))


def _lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _tidy(text: str) -> str:
    """As people write it: the set keeps a blank before each mark."""
    for apart, together in ((" ,", ","), (" .", "."), (" ?", "?"), (" 's", "'s"), ("`` ", '"')):
        text = text.replace(apart, together)
    return text.replace(" ''", '"').strip()
