"""Whether certificates say what is so: gold sentences among others, and facts that are changed.

    python -m benchmarks.certificates MODEL [--adapter FILE|packaged] [--questions 60] [--prose 220]

gold     questions whose sentence is known, among three sentences that do not hold the answer: how
         often the gold one is judged necessary and sufficient, how often another one is, and
         whether the answer follows where the fact in the gold one is changed
margins  the same at several margins, on the half of the questions that the figures leave out
prose    sentences of written answers with two relevant passages or more: how often a cheap score
         names the passage that leaving out names
"""

import argparse
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from benchmarks.certificates_data import Gold, covid_qa, korquad, rgb
from benchmarks.certificates_prose import prose
from benchmarks.passages import SAMPLES
from benchmarks.table import Row, Table, as_json, show
from generator import Writer, checkpoint
from generator.blocks import PassageCaches, caches_of
from rag import prompts, quoting
from rag.examining import Case, Changed, Claim, examine
from rag.records import Certificate
from rag.swaps import find_swap
from transformer import runtime

_DATA = SAMPLES.parent.parent / "shared" / "data"
_MARGINS = (0.1, 0.2, 0.3, 0.5, 1.0, 1.5)
_FOLLOWED = "followed: of those with a fact to change; rgb has counterfactual documents of its own"
_SOURCES = 4  # the gold sentence and three others: every subset of them is scored


@dataclass(frozen=True, slots=True)
class Judged:
    """Certificates of one answer at the gold sentence, and at each of the others."""

    gold: Certificate
    others: tuple[Certificate, ...]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("model", type=Path, help="a generator's folder or .gguf file")
    parser.add_argument("--adapter", help="an adapter's file, or: packaged")
    parser.add_argument("--precision", choices=("fp32", "int8", "int4"), default="int8")
    parser.add_argument("--questions", type=int, default=60, help="of each set")
    parser.add_argument("--prose", type=int, default=220, help="sentences; 0 leaves them out")
    parser.add_argument("--data", type=Path, default=_DATA, help="folder of public corpora")
    parser.add_argument("--encoder", type=Path, help="whose similarity stands beside, for prose")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    runtime.set_threads(1)
    adapter = given.adapter if given.adapter in (None, "packaged") else Path(given.adapter)
    writer = Writer(checkpoint.load(given.model, given.precision, adapter=adapter))
    console = Console(width=None if Console().is_terminal else 160)
    for table in measured(writer, given.data, given.questions, given.prose, given.encoder):
        if given.json:
            print(json.dumps(as_json(table), ensure_ascii=False))
        else:
            show(table, console)


def measured(
    writer: Writer, data: Path, questions: int, sentences: int, encoder: Path | None
) -> Iterable[Table]:
    """Each table as soon as it is there."""
    caches = caches_of(writer, prompts.system(writer))
    rows: list[Row] = []
    apart: list[Judged] = []
    for name, read in (("rgb", rgb), ("covid_qa", covid_qa), ("korquad (ko)", korquad)):
        some = read(data)[: questions if name != "korquad (ko)" else questions // 2]
        judged = [judge(gold, caches, grounded=writer.grounded) for gold in some]
        if name != "korquad (ko)":  # the model does not speak it: for the record only
            apart += judged[::2]
            judged = judged[1::2]
        rows.append(figures(name, judged))
    said = "the gold sentence quoted" if writer.grounded else "the short answer"
    notes = (f"the claim is {said}; margins as shipped; odd questions", _FOLLOWED)
    yield Table("certificates_margins", "Margins, on the even questions", margins(apart))
    yield Table("certificates_gold", "Gold sentences among others", tuple(rows), notes)
    if sentences:
        yield prose(caches, data / "asqa_sample", sentences, encoder)


def judge(gold: Gold, caches: PassageCaches, *, grounded: bool) -> Judged:
    """The gold sentence's certificate, and those of the others for the same claim."""
    place = gold.place
    claim, changed = _said(gold.sentence, gold.answer, place, grounded), _changed(gold, grounded)
    texts = [*gold.others[:place], gold.sentence, *gold.others[place:]]
    sources = tuple(_written(i, text, grounded) for i, text in enumerate(texts))
    claims = tuple(Claim(claim, i, changed if i == place else None) for i in range(len(texts)))
    case = Case(gold.question, claims, sources, tuple((i,) for i in range(len(texts))))
    declined = quoting.DECLINED if grounded else ""
    found = examine(case, caches, declined=declined, most=1 << 20, few=_SOURCES)
    return Judged(found[place], tuple(each for i, each in enumerate(found) if i != place))


def _said(sentence: str, answer: str, place: int, grounded: bool) -> str:
    return quoting.quotation(place + 1, sentence) if grounded else answer


def _written(place: int, text: str, grounded: bool) -> str:
    return quoting.passage(place + 1, "", text)


def _changed(gold: Gold, grounded: bool) -> Changed | None:
    """By the set's own counterfactual, else by our rules."""
    if gold.counterfactual is not None:
        sentence, answer = gold.counterfactual
    else:
        swap = find_swap(
            gold.answer, gold.sentence, question=gold.question, others="\n".join(gold.others)
        )
        if swap is None:
            return None
        sentence, answer = swap(gold.sentence), swap(gold.answer)
    line = _said(sentence, answer, gold.place, grounded)
    return Changed(line, (_written(gold.place, sentence, grounded),))


def figures(name: str, judged: Sequence[Judged]) -> Row:
    """Shares at the margins that ship."""
    others = [each for one in judged for each in one.others]
    golds = [one.gold for one in judged]
    facts = [each for each in golds if each.follows is not None]
    return {
        "name": name,
        "questions": len(judged),
        "gold_necessary_pct": _share(golds, lambda c: c.necessary),
        "gold_sufficient_pct": _share(golds, lambda c: c.sufficient),
        "others_necessary_pct": _share(others, lambda c: c.necessary),
        "others_sufficient_pct": _share(others, lambda c: c.sufficient),
        "facts": len(facts),
        "followed_pct": _share(facts, lambda c: bool(c.follows)),
        "drop": _mean([each.drop for each in golds]),
        "alone": _mean([each.alone for each in golds]),
    }


def margins(judged: Sequence[Judged]) -> tuple[Row, ...]:
    """Shares of the drops alone at each margin, whatever is declined."""
    golds = [one.gold for one in judged]
    others = [each for one in judged for each in one.others]
    return tuple(_at(margin, golds, others) for margin in _MARGINS)


def _at(margin: float, golds: Sequence[Certificate], others: Sequence[Certificate]) -> Row:
    return {
        "margin": f"{margin:g}",
        "gold_necessary_pct": _share(golds, lambda c: c.drop > margin),
        "others_necessary_pct": _share(others, lambda c: c.drop > margin),
        "gold_sufficient_pct": _share(golds, lambda c: c.alone <= margin),
        "others_sufficient_pct": _share(others, lambda c: c.alone <= margin),
    }


def _share(items: Sequence[Certificate], holds: Callable[[Certificate], bool]) -> float | None:
    return _mean([100.0 * holds(item) for item in items])


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


if __name__ == "__main__":
    main()
