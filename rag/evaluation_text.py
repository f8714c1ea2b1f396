"""A measurement as a person reads it in a terminal."""

from collections.abc import Iterator, Mapping

from rag.comparing import Changed, Compared, Comparison, Figures
from rag.evaluate import Evaluation
from rag.metrics import METRICS, Interval, Metric

_HEADS: dict[Metric, str] = {
    "ndcg_at_10": "nDCG@10",
    "recall_at_10": "recall@10",
    "recall_at_100": "recall@100",
    "mrr_at_10": "MRR@10",
    "map_at_100": "MAP@100",
}
_WIDTH = 20  # of a column
_SHOWN = 100  # characters of a question


def evaluation(made: Evaluation) -> str:
    return "\n".join(_lines(made))


def _lines(made: Evaluation) -> Iterator[str]:
    measured = made.measured
    yield (
        f"{made.data}: {made.queries:,} questions; {measured.documents:,} documents "
        f"in {measured.chunks:,} passages"
    )
    yield (
        f"encoder {measured.encoder}, meaning counts {measured.weight:.0%} in fused; "
        "per cent, with 95 % intervals"
    )
    for relevance in dict.fromkeys(figures.relevance for figures in measured.figures):
        yield ""
        yield f"{'by ' + relevance:<12}" + "".join(f"{_HEADS[m]:<{_WIDTH}}" for m in METRICS)
        for figures in measured.figures:
            if figures.relevance == relevance:
                yield _row(figures, made.intervals[figures.side, relevance])
    for comparison in made.comparisons:
        yield from _comparison(comparison, made.expected)
    yield from [""] * bool(made.notes)
    yield from (f"note: {note}" for note in made.notes)


def _row(figures: Figures, intervals: Mapping[Metric, Interval]) -> str:
    cells = [f"{figures.side:<12}"]
    for metric in METRICS:
        values = figures.values(metric)
        low, high = intervals[metric]
        mean = 100 * sum(values) / len(values)
        cells.append(f"{f'{mean:.1f} [{100 * low:.1f}, {100 * high:.1f}]':<{_WIDTH}}")
    return "".join(cells).rstrip()


def _comparison(made: Comparison, expected: Mapping[str, str]) -> Iterator[str]:
    yield ""
    yield f"against {made.against} (+ is better now; p by swapping at random)"
    for side in made.sides:
        yield from _compared(side)
    yield from _examples(made.sides[-1], expected)
    yield from (f"note: {note}" for note in made.notes)


def _compared(side: Compared) -> Iterator[str]:
    name = side.side if side.side == side.before else f"{side.side} − {side.before}"
    yield f"  {name}, by {side.relevance}, {side.queries:,} questions"
    for metric, found in side.differences.items():
        before, after = (100 * mean for mean in side.means[metric])
        sure = "" if found.certain else "  (not certain)"
        yield (
            f"    {_HEADS[metric]:<11}{before:5.1f} → {after:5.1f}   {100 * found.mean:+.1f} "
            f"[{100 * found.low:+.1f}, {100 * found.high:+.1f}]  p {found.p:.4f}{sure}"
        )


def _examples(side: Compared, expected: Mapping[str, str]) -> Iterator[str]:
    """The questions that changed most, of the side that a search is nearest to."""
    for word, changed in (("better", side.better), ("worse", side.worse)):
        if changed:
            yield f"  {word} most, {side.side}, by {side.relevance}:"
        for one in changed:
            yield f"    {_rank(one)}  {' '.join(one.after.query.split())[:_SHOWN]}"
            yield f"    {'':13}{expected.get(one.query_id, '')}"


def _rank(one: Changed) -> str:
    before, after = (str(outcome.rank or "–") for outcome in (one.before, one.after))
    return f"{f'rank {before} → {after}':<13}"
