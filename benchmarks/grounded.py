"""How a generator answers from passages: what it quotes, and what it declines.

    python -m benchmarks.grounded JUDGE.jsonl MODEL [--adapter FILE|packaged] [--questions 100]

The questions are those that `benchmarks.grounded_data` keeps out of training.
"""

import argparse
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.table import Row, Table, as_json, show
from encoder.answer_scores import exact_match, f1
from generator import Sampling, checkpoint
from generator.checkpoint import GeneratorCheckpoint
from generator.prompts import Prompts, grounded
from generator.together import decode_together
from rag import quoting
from transformer import runtime

_TOKENS = 60
# How a model declines that was not taught our sentence.
_NO = re.compile(
    r"(?:do(?:es)? not|don't|doesn't|cannot|can't|unable|no) (?:\w+ ){0,4}?"
    r"(?:hold|contain|provide|mention|answer|information|passage)"
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one question."""

    answerable: bool
    answer: str
    gold: tuple[str, ...]
    passages: tuple[str, ...]

    @property
    def declined(self) -> bool:
        return quoting.declines(self.answer) or bool(_NO.search(self.answer.lower()[:200]))

    @property
    def said(self) -> str:
        """What it quotes, or all that it says where it quotes nothing."""
        quotes = [each.quote for each in quoting.quotations(self.answer)]
        return " ".join(quotes) or self.answer

    @property
    def holds_gold(self) -> bool:
        return not self.declined and _holds(self.said, self.gold)

    @property
    def quoted(self) -> list[quoting.Quotation]:
        return list(quoting.quotations(self.answer))

    @property
    def verbatim(self) -> bool:
        """Whether each quotation stands letter for letter in the passage that it names."""
        passages = [" ".join(text.split()) for text in self.passages]
        return all(
            1 <= each.number <= len(passages) and each.quote in passages[each.number - 1]
            for each in self.quoted
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("judge", type=Path, help="what benchmarks.grounded_data keeps out")
    parser.add_argument("model", type=Path, help="a generator's folder or .gguf file")
    parser.add_argument("--adapter", help="an adapter's file, or: packaged")
    parser.add_argument("--precision", choices=("fp32", "int8", "int4"), default="int4")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--answers", type=Path, help="where the answers are written, as JSON lines")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    adapter = given.adapter if given.adapter in (None, "packaged") else Path(given.adapter)
    loaded = checkpoint.load(given.model, given.precision, adapter=adapter)
    rows = [json.loads(line) for line in given.judge.read_text(encoding="utf-8").splitlines()]
    outcomes = answered(rows[: given.questions], loaded)
    if given.answers:
        lines = (json.dumps(_told(outcome), ensure_ascii=False) for outcome in outcomes)
        given.answers.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    name = f"{given.model.name}, {given.precision}, adapter {given.adapter or 'none'}"
    table = measure(name, outcomes)
    if given.json:
        print(json.dumps(as_json(table)))
    else:
        show(table, Console())


def answered(rows: Sequence[dict[str, Any]], loaded: GeneratorCheckpoint) -> list[Outcome]:
    """All questions, answered greedily and several at once."""
    prompts = Prompts(loaded.chat, loaded.tokenizer)
    decoded = decode_together(
        loaded.model,
        [prompts.encode(grounded(r["system"], r["question"], r["passages"])) for r in rows],
        Sampling(max_tokens=_TOKENS),
        ends=loaded.chat.ends,
        rngs=[runtime.seeded(0) for _ in rows],
    )
    return [
        Outcome(
            row["kind"] != "unanswerable",
            loaded.tokenizer.decode(each.tokens),
            tuple(row["gold"]),
            tuple(row["passages"]),
        )
        for row, each in zip(rows, decoded, strict=True)
    ]


def measure(name: str, outcomes: Sequence[Outcome]) -> Table:
    """Shares of the questions that have an answer, and of those that have none."""
    answerable = [outcome for outcome in outcomes if outcome.answerable]
    rest = [outcome for outcome in outcomes if not outcome.answerable]
    quoting_ones = [outcome for outcome in outcomes if outcome.quoted]
    row: Row = {
        "name": name,
        "answerable": len(answerable),
        "em": _mean(answerable, lambda o: exact_match(o.said, o.gold)),
        "f1": _mean(answerable, lambda o: f1(o.said, o.gold, by="words")),
        "gold_contained_pct": _mean(answerable, lambda o: o.holds_gold),
        "declined_wrongly_pct": _mean(answerable, lambda o: o.declined),
        "unanswerable": len(rest),
        "declined_rightly_pct": _mean(rest, lambda o: o.declined),
        "quoting_pct": _mean(outcomes, lambda o: bool(o.quoted)),
        "verbatim_pct": _mean(quoting_ones, lambda o: o.verbatim),
    }
    return Table("grounded", f"Grounded answers, greedy, {_TOKENS} tokens at most", (row,))


def _mean(outcomes: Iterable[Outcome], value: Callable[[Outcome], float]) -> float | None:
    values = [100 * float(value(outcome)) for outcome in outcomes]
    return sum(values) / len(values) if values else None


def _holds(text: str, golds: Iterable[str]) -> bool:
    folded = " ".join(text.lower().split())
    return any(" ".join(gold.lower().split()) in folded for gold in golds)


def _told(outcome: Outcome) -> dict[str, Any]:
    return {
        "answerable": outcome.answerable,
        "answer": outcome.answer,
        "gold": list(outcome.gold),
        "declined": outcome.declined,
        "verbatim": outcome.verbatim,
    }


if __name__ == "__main__":
    main()
