"""Every document asked: how many cells are right, of generated contracts and of papers.

    python -m benchmarks.every measure DATA [--contracts 25]
    python -m benchmarks.every fit DATA [--contracts 50]

`measure` asks as the product does, of wordings and papers that nothing was fitted to; `fit` prints
weights for `rag.every_judging`.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
from rich.console import Console

from benchmarks import grounded_sources
from benchmarks.contract_words import Half, Language
from benchmarks.contracts import contracts, facts
from benchmarks.table import Row, Table, show
from rag import Assistant, Settings
from rag.every import Every, Quote
from rag.every_judging import Counterparts, Figures, Others, figures

_LONGEST = 26_000  # characters of a paper: longer ones take their time
_PAPERS = 10
_EACH = 4  # questions of a paper
_SAFE = 0.5  # log-odds, taken off for precision
_BESIDE = ("score", "standing_out", "own", "kind", "counterpart", "ahead")


@dataclass(frozen=True, slots=True)
class Truth:
    """What one cell should quote."""

    sentence: str
    value: str
    manner: str

    def is_met(self, quote: str) -> bool:
        plain = " ".join(quote.split())
        return self.value in plain or plain in self.sentence or self.sentence in plain


@dataclass(frozen=True, slots=True)
class Case:
    """Documents, questions, and what stands where; a cell without a truth is not stated."""

    name: str
    texts: Mapping[str, str]  # by file name
    questions: tuple[str, ...]
    truths: Mapping[tuple[int, str], Truth]  # by question and file name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("what", choices=("measure", "fit"))
    parser.add_argument("data", type=Path, help="folder of public corpora")
    parser.add_argument("--contracts", type=int, default=25, help="of each language")
    given = parser.parse_args()
    half: Half = "judge" if given.what == "measure" else "fit"
    cases = [contract_case(given.contracts, language, half) for language in ("en", "ko")]
    cases.append(papers(given.data, "judge" if half == "judge" else "train"))
    if given.what == "fit":
        print(fit([filled(case) for case in cases]))
        return
    show(Table("every", "Cells of a table of every document", tuple(measured(cases)), _NOTES),
         Console(width=160))  # fmt: skip


_NOTES = (
    "precision: right quotations of those given; recall: of the facts that are there; not stated: "
    "of the cells without a fact, how many are left empty",
    "alone: before the documents are compared with each other",
    "papers: a question belongs to one paper; what another one states on it counts as wrong",
)


def contract_case(n: int, language: Language, half: Half) -> Case:
    """Generated contracts with every question that the language has."""
    made = contracts(n, language, half, Random(11 if half == "judge" else 7))
    asked = facts(language)
    truths = {
        (place, contract.name): Truth(found.sentence, found.value, found.manner)
        for contract in made
        for place, fact in enumerate(asked)
        if (found := contract.planted.get(fact.name)) is not None
    }
    texts = {contract.name: contract.text for contract in made}
    return Case(f"contracts {language}", texts, tuple(f.question for f in asked), truths)


def papers(data: Path, part: Literal["train", "judge"]) -> Case:
    """Papers of covid_qa, and some questions of each."""
    source = grounded_sources.covid(data)
    whole = source.train if part == "train" else source.judge
    file = data / "covid_qa" / "200423_covidQA.json"
    articles: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["data"]
    names = sorted({each.document for each in whole})
    texts = {
        name: articles[int(name.rsplit("/", 1)[1])]["paragraphs"][0]["context"] for name in names
    }
    short = [name for name in names if len(texts[name]) < _LONGEST]
    chosen = Random(3).sample(short, min(_PAPERS, len(short)))
    truths, questions = dict[tuple[int, str], Truth](), list[str]()
    for name in chosen:
        own = [each for each in whole if each.document == name]
        for each in Random(5).sample(own, min(_EACH, len(own))):
            truths[len(questions), _file(name)] = Truth(
                " ".join(each.evidence.split()), each.answers[0], "plain"
            )
            questions.append(each.question)
    return Case("covid_qa", {_file(n): texts[n] for n in chosen}, tuple(questions), truths)


def _file(document: str) -> str:
    return f"{document.replace('/', '-')}.txt"


def filled(case: Case) -> tuple[Case, Every]:
    """The table of a case, filled by the product in a library of its own."""
    with TemporaryDirectory() as folder:
        for name, text in case.texts.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        settings = Settings(home=Path(folder) / "home", threads=1)
        with Assistant.open(settings) as attest:
            attest.add(*(Path(folder) / name for name in case.texts))
            table = attest.every(case.questions)
            for _ in table.fill():
                pass
        return case, table


def measured(cases: Sequence[Case]) -> Iterator[Row]:
    """A row a case, and for contracts one for each manner of planting."""
    for case in cases:
        _, every = filled(case)
        quotes = {(c.question, c.document): c.quote for c in every.table.cells}
        alone = {key: every.alone(*key) for key in quotes}
        for stage, given in (("", quotes), (" (alone)", alone)):
            yield scored(case, every, given, stage)


def scored(
    case: Case, every: Every, given: Mapping[tuple[int, int], Quote | None], stage: str
) -> Row:
    """Precision, recall and the share of empty cells that stay empty."""
    names = {row.id: Path(row.path).name for row in every.documents}
    right = wrong = empty = blank = 0
    by_manner: dict[str, list[bool]] = {}
    for (place, document), quote in given.items():
        truth = case.truths.get((place, names[document]))
        met = quote is not None and truth is not None and truth.is_met(quote.text)
        right += met
        wrong += quote is not None and not met
        if truth is None:
            blank += 1
            empty += quote is None
        else:
            by_manner.setdefault(truth.manner, []).append(met)
    return {
        "set": case.name + stage,
        "documents": len(every.documents),
        "questions": len(every.questions),
        "facts": len(case.truths),
        "precision_pct": 100 * right / max(1, right + wrong),
        "recall_pct": 100 * right / max(1, len(case.truths)),
        "not_stated_pct": 100 * empty / max(1, blank),
        **{f"recall_{name}_pct": 100 * float(np.mean(met)) for name, met in by_manner.items()},
    }


def fit(tables: Sequence[tuple[Case, Every]]) -> str:
    """Logistic regressions of the figures; every set and each side of it counts alike."""
    from sklearn.linear_model import LogisticRegression

    lines = []
    for name, used in (("ALONE", _BESIDE[:4]), ("BESIDE", _BESIDE)):
        inputs, right, counts = list[list[float]](), list[bool](), list[float]()
        for case, every in tables:
            rows = list(_examples(case, every, beside=name == "BESIDE"))
            share = (3 if case.name == "covid_qa" else 1) * 500
            for figure, met in rows:
                inputs.append([getattr(figure, key) for key in used])
                right.append(met)
                counts.append(share / sum(each == met for _, each in rows))
        table = np.asarray(inputs)
        spread = table.std(0) + 1e-9
        fitted = LogisticRegression(C=0.1).fit(table / spread, right, sample_weight=counts)
        weights = fitted.coef_[0] / spread
        told = ", ".join(f"{key}={w:.2f}" for key, w in zip(used, weights, strict=True))
        lines.append(f"{name} = Weights(bias={fitted.intercept_[0] - _SAFE:.2f}, {told})")
    return "\n".join(lines)


def _examples(case: Case, every: Every, *, beside: bool) -> Iterator[tuple[Figures, bool]]:
    """The figures of each cell's best sentence by evidence, and whether it is the answer."""
    names = {row.id: Path(row.path).name for row in every.documents}
    for place in range(len(every.questions)):
        found = {row.id: every.found(place, row.id) for row in every.documents}
        together = Counterparts(list(found.values()))
        for key, each in found.items():
            if each.vectors is None:
                continue
            others: Others | None = together.besides(each) if beside else None
            first = figures(place, each, every.asking, others)[0]
            truth = case.truths.get((place, names[key]))
            yield first, truth is not None and truth.is_met(each.offered[0].text)


if __name__ == "__main__":
    main()
