"""Whether answers follow the documents: facts swapped in all of them, and documents of noise alone.

    python -m benchmarks.rgb DATA/rgb [--mode extract --mode auto] [--questions 100]

Chen et al. 2023 (Benchmarking large language models in retrieval-augmented generation), its
counterfactual part. Every question is put to the whole product three times, each time over other
documents of its own: those that hold the right answer, the same with the answer swapped for another
one, and neither of them; noise stands beside them in all three.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, get_args

import numpy as np
from rich.console import Console

from benchmarks.table import Row, Table, as_json, show
from rag import Assistant, Settings
from rag.answer_marks import holds
from rag.metrics import bootstrap_interval
from rag.records import AnswerMode, Within
from rag.settings import load_settings

Kind = Literal["right", "swapped", "noise"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_FILE = "en_fact.json"
_KEYS: Mapping[Kind, str] = {"right": "positive", "swapped": "positive_wrong", "noise": "negative"}


@dataclass(frozen=True, slots=True)
class Case:
    """A question, its two answers, and its documents of each kind."""

    question: str
    right: tuple[str, ...]  # ways to write it
    swapped: tuple[str, ...]
    documents: Mapping[Kind, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Told:
    """An answer over documents of one kind and noise."""

    question: str
    kind: Kind
    mode: AnswerMode
    answer: str
    declined: bool
    holds_right: bool
    holds_swapped: bool
    quotes: tuple[str, ...]
    seconds: float

    @property
    def follows(self) -> bool:
        """Whether it says what its documents say: all of noise say nothing."""
        match self.kind:
            case "right":
                return self.holds_right
            case "swapped":
                return self.holds_swapped
            case "noise":
                return self.declined


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("data", type=Path, help=f"the folder of {_FILE}")
    parser.add_argument("--mode", action="append", choices=get_args(AnswerMode))
    parser.add_argument("--encoder", help="name or folder; that of the settings if not given")
    parser.add_argument("--generator", help="name, folder or .gguf file")
    parser.add_argument("--models", type=Path, help="folder of pulled models")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--answers", type=Path, help="where the answers are written, as JSON lines")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    named = {"encoder": given.encoder, "generator": given.generator, "models_dir": given.models}
    modes = given.mode or ["extract", "auto"]
    cases = read(given.data / _FILE)[: given.questions]
    told = list(asked(cases, modes, load_settings(named)))
    if given.answers:
        lines = (json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in told)
        given.answers.write_text("".join(lines), encoding="utf-8")
    table = measure(told)
    if given.json:
        print(json.dumps(as_json(table)))
    else:
        show(table, Console(width=None if Console().is_terminal else 160))


def read(file: Path) -> list[Case]:
    rows = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return [
        Case(
            row["query"],
            tuple(_flat(row["answer"])),
            tuple(_flat(row["fakeanswer"])),
            {kind: tuple(row[_KEYS[kind]]) for kind in KINDS},
        )
        for row in rows
    ]


def asked(cases: Sequence[Case], modes: Sequence[AnswerMode], settings: Settings) -> Iterator[Told]:
    """Every answer, out of one library in which each question sees its own documents only."""
    with TemporaryDirectory() as home, TemporaryDirectory() as shelf:
        own = settings.model_copy(update={"home": Path(home), "database_url": None})
        with Assistant.open(own) as attest:
            ids = _shelved(cases, Path(shelf), attest)
            for mode in modes:
                attest.ask(cases[-1].question, mode=mode, remember=False)  # loads what it needs
                for number, case in enumerate(cases):
                    for kind in KINDS:
                        within = ids[number, kind] + (
                            ids[number, "noise"] if kind != "noise" else ()
                        )
                        yield _told(case, kind, mode, within, attest)


def measure(told: Sequence[Told]) -> Table:
    """How often answers follow their documents, hold the one answer and the other, or decline."""
    groups = [(mode, kind) for mode in dict.fromkeys(one.mode for one in told) for kind in KINDS]
    rows = [
        _row(f"{mode}, {kind}", those)
        for mode, kind in groups
        if (those := [one for one in told if (one.mode, one.kind) == (mode, kind)])
    ]
    notes = (
        "follows: holds the right answer, the swapped one, or declines where all is noise; "
        "intervals are of 95 %",
    )
    return Table("rgb", "Answers that follow their documents", tuple(rows), notes)


def _row(name: str, told: Sequence[Told]) -> Row:
    follows = [100.0 * one.follows for one in told]
    low, high = bootstrap_interval(follows, rng=np.random.default_rng(0))
    return {
        "name": name,
        "questions": len(told),
        "follows_pct": _share(told, lambda one: one.follows),
        "follows_low_pct": low,
        "follows_high_pct": high,
        "declined_pct": _share(told, lambda one: one.declined),
        "holds_right_pct": _share(told, lambda one: one.holds_right),
        "holds_swapped_pct": _share(told, lambda one: one.holds_swapped),
        "p50_s": float(np.median([one.seconds for one in told])),
    }


def _share(told: Sequence[Told], held: Callable[[Told], bool]) -> float:
    return 100 * sum(map(held, told)) / len(told)


def _told(
    case: Case, kind: Kind, mode: AnswerMode, within: tuple[int, ...], attest: Assistant
) -> Told:
    began = time.perf_counter()
    given = attest.ask(case.question, mode=mode, within=Within(documents=within), remember=False)
    seconds = time.perf_counter() - began
    said = "" if given.abstained else given.answer
    return Told(
        case.question,
        kind,
        mode,
        given.answer,
        given.abstained,
        holds(said, case.right),
        holds(said, case.swapped),
        tuple(citation.quote for citation in given.citations),
        seconds,
    )


def _shelved(
    cases: Sequence[Case], shelf: Path, attest: Assistant
) -> dict[tuple[int, Kind], tuple[int, ...]]:
    """Adds every document; the ids of each question's documents of each kind."""
    seen: Counter[str] = Counter()
    for place, case in enumerate(cases):
        for kind, texts in case.documents.items():
            own = shelf / f"{place}" / kind
            own.mkdir(parents=True)
            for at, text in enumerate(texts):
                seen[text] += 1
                # The same text for two questions must not be taken for a copy.
                (own / f"{at}.txt").write_text(text + "\n" * seen[text], encoding="utf-8")
    ids: dict[tuple[int, Kind], tuple[int, ...]] = {}
    for outcome in attest.add(shelf):
        number, folder = Path(outcome.path).parts[-3:-1]
        if outcome.id is None or outcome.status != "added":
            raise SystemExit(f"{outcome.path} was not added: {outcome.reason or outcome.status}")
        key = int(number), next(kind for kind in KINDS if kind == folder)
        ids[key] = (*ids.get(key, ()), outcome.id)
    return ids


def _flat(answer: Any) -> Iterator[str]:
    """An answer is a text, or a list of the ways to write it, or of such lists."""
    if isinstance(answer, str):
        yield answer
    else:
        for one in answer:
            yield from _flat(one)


if __name__ == "__main__":
    main()
