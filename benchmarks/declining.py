"""What is declined: how well evidence tells answerable questions from others, and at what price.

    python -m benchmarks.declining measure DATA [--cache DIR] [--questions 60] [--plot OUT.svg]
    python -m benchmarks.declining fit DATA [--cache DIR] [--questions 100]

`measure` asks the sample questions, a fifth of covid_qa that is kept out of training, and Korean
articles; `fit` prints weights for `rag.confidence`, from data that what ships may learn from.
"""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks import unanswerable
from benchmarks.lines import Line, drawn
from benchmarks.passages import SAMPLES
from benchmarks.table import Row, Table, show
from benchmarks.unanswerable import Asked
from rag import Assistant, Settings
from rag.answer_questions import read_questions
from rag.confidence import Weights, is_relevant, log_odds
from rag.declining import auroc, calibrate
from rag.features import features
from rag.judging import judged_evidence
from rag.loaded import LoadedModels
from rag.unrelated import unrelated_cosine

if TYPE_CHECKING:
    from encoder import Embedder
    from encoder.judge import Judge

_HITS = 6
_FALSE = 0.05  # of answerable questions, that the weights that ship may decline
_AGAINST = (
    "missing",
    "unknown",
    "numbers",
    "names",
    "amount",
)  # the more of it, the less likely an answer
_FITTED = (
    "near",
    "words",
    "numbers",
    "names",
    "amount",
    "answers",
)  # what took part in the weights that ship
_PRIOR = 2.0  # pull of each weight towards 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("what", choices=("measure", "fit"))
    parser.add_argument("data", type=Path, help="folder of public corpora")
    parser.add_argument("--cache", type=Path, help="keeps vectors and libraries")
    parser.add_argument("--questions", type=int, default=60, help="of each corpus")
    parser.add_argument("--plot", type=Path, help="where risk against coverage is drawn")
    given = parser.parse_args()
    models = LoadedModels(Settings())
    if given.what == "fit":
        asked = learned_from(given.data, given.questions, models, given.cache)
        print("without a judge:", fit(asked, _FITTED[:-1]))
        print("with one:", fit(asked))
        return
    asked, thresholds = samples()
    for each in (unanswerable.covid(given.data, "judge", given.questions),
                 unanswerable.korquad(given.data, given.questions)):  # fmt: skip
        asked += unanswerable.asked(each, *_encoders(models), given.cache)
    console = Console(width=160)
    show(measure(asked, thresholds), console)
    if given.plot:
        given.plot.write_text(risk_plot(asked), encoding="utf-8")


def samples() -> tuple[list[Asked], dict[str, float]]:
    """The sample questions, and the threshold of their library once it is calibrated."""
    rows = []
    with TemporaryDirectory() as home, Assistant.open(Settings(home=Path(home))) as attest:
        attest.add(SAMPLES / "library")
        embedder, judge = attest.encoders.asking("default"), attest.models.judge("e5-small")
        unrelated = unrelated_cosine(embedder)
        for each in read_questions(SAMPLES / "questions.jsonl"):
            found = attest.search(each.question, k=_HITS, remember=False)
            evidence = judged_evidence(each.question, found, embedder=embedder, judge=judge)
            known = features(each.question, evidence, found, unrelated=unrelated)
            rule = is_relevant(evidence, found, unrelated)
            manner: unanswerable.Manner = "held" if each.answerable else "left_out"
            rows.append(Asked("samples", each.language, manner, known, rule))
        fitted = calibrate(attest).calibration
    return rows, {"samples": fitted.threshold}


def learned_from(
    data: Path, questions: int, models: LoadedModels, cache: Path | None
) -> list[Asked]:
    """Questions of sets that may train what ships, kept from all that was learned before."""
    sources = (
        unanswerable.covid(data, "dev", questions),
        unanswerable.squad(data, questions),
        unanswerable.pubmed(data, questions),
    )
    return [row for each in sources for row in unanswerable.asked(each, *_encoders(models), cache)]


def _encoders(models: LoadedModels) -> "tuple[Embedder, Judge | None]":
    return models.embedder("e5-small"), models.judge("e5-small")


def fit(asked: Sequence[Asked], names: Sequence[str] = _FITTED) -> Weights:
    """A logistic regression whose weights have the sign that they must have, or are 0.

    Each set and each side of it counts alike. The bias is such that half of the sets decline more
    than one in twenty answerable questions, and half fewer.
    """
    from scipy.optimize import minimize

    inputs = np.array([[getattr(row.features, name) or 0.0 for name in names] for row in asked])
    spread = inputs.std(0) + 1e-9
    scaled = (inputs - inputs.mean(0)) / spread
    right = np.array([row.answerable for row in asked], np.float64)
    counts = _balanced(asked)

    def loss(at: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        odds = scaled @ at[:-1] + at[-1]
        value = (counts * np.logaddexp(0, np.where(right == 1, -odds, odds))).sum()
        slope = counts * (1 / (1 + np.exp(-odds)) - right)
        pulled = np.append(scaled.T @ slope + _PRIOR * at[:-1], slope.sum())
        return float(value + _PRIOR * (at[:-1] ** 2).sum() / 2), pulled

    signs = [(None, 0) if name in _AGAINST else (0, None) for name in names]
    start = np.zeros(len(names) + 1)
    found = minimize(loss, start, jac=True, bounds=[*signs, (None, None)], method="L-BFGS-B")
    raw = (found.x[:-1] / spread).tolist()
    weights = {name: round(w, 2) for name, w in zip(names, raw, strict=True) if abs(w) > 5e-3}
    plain = Weights(0.0, weights)
    sources = sorted({row.source for row in asked})
    lows = [
        np.quantile([plain.log_odds(r.features) for r in asked if _held(r, source)], _FALSE)
        for source in sources
    ]
    return replace(plain, bias=round(-float(np.median(lows)), 2))


def measure(asked: Sequence[Asked], thresholds: dict[str, float]) -> Table:
    """By set, language and what was done to the question, beside the rule by similarity."""
    groups = sorted({(r.source, r.language, r.manner) for r in asked if not r.answerable})
    rows = []
    for source, language, manner in groups:
        mine = [
            row
            for row in asked
            if (row.source, row.language) == (source, language) and row.manner in ("held", manner)
        ]
        rows.append(_row(f"{source} {language} {manner}", mine, thresholds.get(source)))
    title = f"Declining: {len(asked)} questions by e5-small, no generator"
    return Table("declining", title, tuple(rows), ("rule: similarity and shared words, as before",))


def risk_plot(asked: Iterable[Asked]) -> str:
    """An SVG: of the surest share of questions, how many are unanswerable."""
    rows = [row for row in asked if row.manner in ("held", "left_out")]
    groups = sorted({(row.source, row.language) for row in rows})
    lines = [
        Line(f"{group[0]} {group[1]}", tuple(risks([r for r in rows if _of(r) == group])))
        for group in groups
    ]
    return drawn(lines, across="answered, % of all questions", up="of them unanswerable, %")


def risks(rows: Sequence[Asked], points: int = 20) -> list[tuple[float, float]]:
    """Coverage and risk in percent, the surest questions first."""
    surest = sorted(rows, key=lambda row: -log_odds(row.features))
    wrong = np.cumsum([not row.answerable for row in surest])
    found = []
    for point in range(1, points + 1):
        n = max(1, round(point * len(surest) / points))
        found.append((100 * n / len(surest), 100 * float(wrong[n - 1]) / n))
    return found


def _row(name: str, rows: Sequence[Asked], threshold: float | None) -> Row:
    held = [row for row in rows if row.answerable]
    rest = [row for row in rows if not row.answerable]
    odds = {id(row): log_odds(row.features) for row in rows}
    low = np.quantile([odds[id(row)] for row in held], 0.1)
    figures: dict[str, str | float | int | None] = {
        "name": name,
        "answerable": len(held),
        "unanswerable": len(rest),
        "auroc": auroc([odds[id(r)] for r in held], [odds[id(r)] for r in rest]),
        "declined_at_10_pct_false": _percent(odds[id(r)] < low for r in rest),
        "declined_pct": _percent(odds[id(r)] < 0 for r in rest),
        "false_pct": _percent(odds[id(r)] < 0 for r in held),
        "rule_declined_pct": _percent(not r.by_rule for r in rest),
        "rule_false_pct": _percent(not r.by_rule for r in held),
    }
    if threshold is not None:
        figures["calibrated_declined_pct"] = _percent(odds[id(r)] < threshold for r in rest)
        figures["calibrated_false_pct"] = _percent(odds[id(r)] < threshold for r in held)
    return figures


def _balanced(asked: Sequence[Asked]) -> NDArray[np.float64]:
    """Weights by which each side of each set has the same sum."""
    keys = [(row.source, row.answerable) for row in asked]
    counts = np.array([1 / keys.count(key) for key in keys])
    return np.asarray(counts / counts.mean(), np.float64)


def _held(row: Asked, source: str) -> bool:
    return row.answerable and row.source == source


def _of(row: Asked) -> tuple[str, str]:
    return row.source, row.language


def _percent(hits: Iterable[bool | np.bool_]) -> float:
    values = [bool(hit) for hit in hits]
    return 100 * sum(values) / len(values) if values else 0.0


if __name__ == "__main__":
    main()
