"""Marked answers as a person reads them in a terminal."""

from collections.abc import Iterator, Sequence
from itertools import takewhile

from rag.answer_evaluation import AnswerEvaluation
from rag.answer_figures import Changed, Compared, Comparison, Figure, Group
from rag.answer_marks import LESS_IS_BETTER, MARKS, Mark

_NAMES: dict[Mark, str] = {
    "right": "right",
    "gold_contained": "holds a right answer",
    "exact_match": "exact match",
    "f1": "F1",
    "f1_morphemes": "F1 by morphemes",
    "gold_in_passages": "passages hold one",
    "citation_precision": "citation precision",
    "citation_recall": "citation recall",
    "document_precision": "cites right document",
    "supported": "sentences supported",
    "misquoted": "misquoted",
    "declining": "declining right",
    "false_declines": "false declines",
    "missed_declines": "missed declines",
    "seconds": "seconds a question",
}
_HEAD = 22  # width of the names
_WIDTH = 30  # of a column
_SHOWN = 100  # characters of a question or an answer
_FAILED = 10  # questions that are named


def evaluation(made: AnswerEvaluation) -> str:
    return "\n".join(_lines(made))


def _lines(made: AnswerEvaluation) -> Iterator[str]:
    yield (
        f"{made.data}: {len(made.outcomes):,} questions to the library {made.collection!r}, "
        f"{made.encoder}, {made.setting}"
    )
    yield "per cent, with 95 % intervals; n: the questions that a figure counts"
    yield ""
    yield _row("", [group.language for group in made.groups])
    yield _row("questions", [_counts(group) for group in made.groups])
    for mark in MARKS:
        if any(mark in group.figures for group in made.groups):
            cells = [_figure(mark, group.figures.get(mark)) for group in made.groups]
            yield _row(_NAMES[mark], cells)
    if any(group.auroc for group in made.groups):
        yield _row("AUROC of confidence", [_area(group.auroc) for group in made.groups])
    quoted = [f"{group.misquotes:,} of {group.citations:,}" for group in made.groups]
    yield _row("misquotes", quoted)
    if made.comparison is not None:
        yield from _comparison(made.comparison)
    yield from _failed(made)
    yield from [""] * bool(made.notes)
    yield from (f"note: {note}" for note in made.notes)


def _row(name: str, cells: Sequence[str]) -> str:
    return (f"{name:<{_HEAD}}" + "".join(f"{cell:<{_WIDTH}}" for cell in cells)).rstrip()


def _counts(group: Group) -> str:
    return f"{group.questions:,} ({group.answerable:,} + {group.unanswerable:,} not there)"


def _figure(mark: Mark, figure: Figure | None) -> str:
    if figure is None:
        return "–"
    digits, scale = _scale(mark)
    mean, low, high = (
        f"{scale * value:.{digits}f}" for value in (figure.mean, figure.low, figure.high)
    )
    return f"{mean} [{low}, {high}]  n {figure.n:,}"


def _area(figure: Figure | None) -> str:
    if figure is None:
        return "–"
    return f"{figure.mean:.3f} [{figure.low:.3f}, {figure.high:.3f}]  n {figure.n:,}"


def _scale(mark: Mark) -> tuple[int, int]:
    """Digits behind the point, and what a value is multiplied by."""
    return (3, 1) if mark == "seconds" else (1, 100)


def _comparison(made: Comparison) -> Iterator[str]:
    yield ""
    yield f"against {made.against} (now minus then; p by swapping at random; ↓ less is better)"
    for group in made.groups:
        yield f"  {group.language}"
        yield from _differences(group)
    yield from _examples("better", made.better)
    yield from _examples("worse", made.worse)
    yield from (f"note: {note}" for note in made.notes)


def _differences(group: Compared) -> Iterator[str]:
    for mark, found in group.differences.items():
        n, before, after = group.means[mark]
        digits, scale = _scale(mark)
        name = _NAMES[mark] + (" ↓" if mark in LESS_IS_BETTER else "")
        then, now = (f"{scale * mean:{5 + digits}.{digits}f}" for mean in (before, after))
        change = " ".join(
            (
                f"{scale * found.mean:+.{digits}f}",
                f"[{scale * found.low:+.{digits}f}, {scale * found.high:+.{digits}f}]",
                f" p {found.p:.4f}",
                f" n {n:,}",
            )
        )
        sure = "" if found.certain or not found.mean else "  (not certain)"
        yield f"    {name:<{_HEAD}}{then} → {now}   {change}{sure}"


def _examples(word: str, pairs: Sequence[Changed]) -> Iterator[str]:
    if pairs:
        yield f"  {word} most:"
    for pair in pairs:
        question = pair.after.question
        right = " | ".join(question.answers) if question.answers else "(not there)"
        yield f"    line {question.id}: {_short(question.question)}  [{_short(right)}]"
        then, now = _apart(pair.before.answer, pair.after.answer)
        yield f"      then: {then}"
        yield f"      now:  {now}"


def _apart(then: str, now: str) -> tuple[str, str]:
    """Both in short, from a little before where they part."""
    then, now = (" ".join(text.split()) for text in (then, now))
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(then, now, strict=False)))
    skipped = max(0, same - _SHOWN // 4) if same > _SHOWN // 2 else 0
    dots = "…" if skipped else ""
    return dots + _short(then[skipped:]), dots + _short(now[skipped:])


def _failed(made: AnswerEvaluation) -> Iterator[str]:
    if made.failed:
        yield ""
        yield f"{len(made.failed):,} of {len(made.outcomes):,} questions failed:"
    for one in made.failed[:_FAILED]:
        yield f"  line {one.question.id}: {_short(one.question.question)}  [{one.error}]"
    if (rest := len(made.failed) - _FAILED) > 0:
        yield f"  and {rest:,} more: --json or --out name them all"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
