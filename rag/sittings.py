"""Questions that were not learned from, before the judge: what they found before and after."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rag import jury
from rag.gate import LEAST, Kind
from rag.jury import Values
from rag.outcome import Example
from rag.practice import Found, Question, Shelf
from rag.questions import Gathered

if TYPE_CHECKING:
    from encoder import Embedder
    from generator import Writer

Again = Callable[[Sequence[Found], Sequence[str]], Sequence[Found]]

_SHOWN = 5  # examples of either kind
_SNIPPET = 160  # characters of a passage


@dataclass(frozen=True, slots=True)
class Sitting:
    """Questions of one kind of evidence, with their nDCG (0 to 1), dense and fused."""

    kind: Kind
    questions: tuple[Question, ...]
    found_before: Sequence[Found]
    found_after: Sequence[Found]
    before: Values
    after: Values

    def undone(self) -> "Sitting":
        """As if nothing had been learned."""
        return replace(self, found_after=self.found_before, after=self.before)


def hold(
    shelf: Shelf,
    gathered: Gathered,
    now: "Embedder",
    again: Again,
    writer: "Writer | None",
    *,
    rows: NDArray[np.float32] | None = None,
) -> list[Sitting]:
    """Every kind of evidence that there is, in the order in which it counts.

    Args:
        shelf: the passages
        gathered: the questions
        now: what encodes questions today
        again: what questions find by what was learned
        writer: the judge of questions of which nobody knows what is right
        rows: of the passages today, where `again` looks at every one of them: so does what it is
            compared with, which an index of many passages would not
    """
    held: list[Sitting] = []
    asked = gathered.open if writer is not None else ()
    kinds: tuple[tuple[Kind, tuple[Question, ...]], ...] = (
        ("judged", gathered.judged),
        ("likelihood", asked if len(asked) >= LEAST else ()),
        ("known items", gathered.probes),
    )
    for kind, questions in kinds:
        if not questions:
            continue
        texts = [each.text for each in questions]
        before = shelf.find(texts, now, rows)
        after = again(before, texts)
        held.append(sitting(shelf, kind, questions, before, after, writer))
    return held


def sitting(
    shelf: Shelf,
    kind: Kind,
    questions: tuple[Question, ...],
    before: Sequence[Found],
    after: Sequence[Found],
    writer: "Writer | None",
) -> Sitting:
    """Judged by the documents that are right, or by the writer where nobody knows."""
    if kind == "likelihood":
        assert writer is not None
        old, new = jury.explained(shelf, questions, before, after, writer)
    else:
        old, new = _judged(shelf, questions, before), _judged(shelf, questions, after)
    return Sitting(kind, questions, before, after, old, new)


def examples(
    shelf: Shelf, held: Sequence[Sitting]
) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """Of the evidence that decided: the questions that gained most by meaning, and lost most."""
    if not held:
        return (), ()
    changes = 100 * (held[0].after[0] - held[0].before[0])
    order = np.argsort(-changes, kind="stable")
    best = [int(i) for i in order[:_SHOWN] if changes[i] > 0]
    worst = [int(i) for i in order[::-1][:_SHOWN] if changes[i] < 0]
    return _shown(shelf, held[0], best, changes), _shown(shelf, held[0], worst, changes)


def _shown(
    shelf: Shelf, held: Sitting, places: Sequence[int], changes: NDArray[np.float64]
) -> tuple[Example, ...]:
    return tuple(
        Example(
            held.questions[i].text,
            _first(shelf, held.found_before[i]),
            _first(shelf, held.found_after[i]),
            round(float(changes[i]), 1),
        )
        for i in places
    )


def _first(shelf: Shelf, found: Found) -> str:
    chunks = shelf.collection.chunks(found.dense.ids[:1].tolist())
    text = " ".join(chunks[0].text.split()) if chunks else ""
    return f"{text[:_SNIPPET]}…" if len(text) > _SNIPPET else text


def _judged(shelf: Shelf, questions: Sequence[Question], found: Sequence[Found]) -> Values:
    return shelf.ndcg(questions, found, "dense"), shelf.ndcg(questions, found, "fused")
