"""A measurement as JSON: written for programs, read again to be compared with a later one."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from rag.comparing import DIGITS, Changed, Compared, Comparison, Figures, Outcome, Relevance
from rag.errors import UsageError
from rag.metrics import METRICS
from rag.trial import Side

if TYPE_CHECKING:
    from rag.evaluate import Evaluation

Json = dict[str, Any]


def evaluation(made: "Evaluation", *, each: bool = False) -> Json:
    """The JSON of a measurement. Shares are per cent, ranks count from 1.

    Args:
        each: with every question's figures, so that it can be compared with later
    """
    measured = made.measured
    body: Json = {
        "data": made.data,
        "kind": made.kind,
        "collection": made.collection,
        "encoder": measured.encoder,
        "fingerprint": measured.fingerprint,
        "documents": measured.documents,
        "chunks": measured.chunks,
        "queries": made.queries,
        "fusion_weight": measured.weight,
        "sides": [_side(made, figures) for figures in measured.figures],
        "comparisons": [_comparison(one, made.expected) for one in made.comparisons],
        "notes": list(made.notes),
        "timings_ms": dict(measured.timings_ms),
    }
    if each:
        body["per_query"] = [row for figures in measured.figures for row in _rows(figures)]
    return body


def read_figures(file: Path) -> tuple[Figures, ...]:
    """The figures of an earlier measurement.

    Raises:
        UsageError: it is not there, no such file, or was written without every question.
    """
    try:
        body = json.loads(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as error:
        raise UsageError(f"{file}: no such file, to be compared with") from error
    except ValueError as error:
        raise UsageError(f"{file} is no JSON: {error}") from error
    rows = body.get("per_query") if isinstance(body, dict) else None
    if not rows:
        raise UsageError(
            f"{file} holds no figures of each question: write it with "
            "`attest eval retrieval … --json --per-query`"
        )
    try:
        return _figures(rows)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f"{file}: its per_query is not as `attest eval` writes it ({error!r}): measure again"
        ) from error


def _figures(rows: list[Json]) -> tuple[Figures, ...]:
    found: dict[tuple[Side, Relevance], dict[str, Outcome]] = {}
    for row in rows:
        if row["side"] not in get_args(Side) or row["relevance"] not in get_args(Relevance):
            raise ValueError(f"side {row['side']!r} by {row['relevance']!r}")
        values = {metric: round(row[f"{metric}_pct"] / 100, DIGITS) for metric in METRICS}
        outcome = Outcome(row["query"], row["rank"], values)
        found.setdefault((row["side"], row["relevance"]), {})[row["query_id"]] = outcome
    return tuple(Figures(*key, outcomes) for key, outcomes in found.items())


def _side(made: "Evaluation", figures: Figures) -> Json:
    body: Json = {
        "side": figures.side,
        "relevance": figures.relevance,
        "queries": len(figures.outcomes),
    }
    for metric, (low, high) in made.intervals[figures.side, figures.relevance].items():
        values = figures.values(metric)
        body[f"{metric}_pct"] = _pct(sum(values) / len(values))
        body[f"{metric}_low_pct"], body[f"{metric}_high_pct"] = _pct(low), _pct(high)
    return body


def _rows(figures: Figures) -> list[Json]:
    return [
        {
            "query_id": key,
            "query": outcome.query,
            "side": figures.side,
            "relevance": figures.relevance,
            "rank": outcome.rank,
            **{f"{metric}_pct": _pct(value) for metric, value in outcome.values.items()},
        }
        for key, outcome in figures.outcomes.items()
    ]


def _comparison(made: Comparison, expected: Mapping[str, str]) -> Json:
    return {
        "against": made.against,
        "sides": [_compared(side, expected) for side in made.sides],
        "notes": list(made.notes),
    }


def _compared(made: Compared, expected: Mapping[str, str]) -> Json:
    return {
        "side": made.side,
        "before_side": made.before,
        "relevance": made.relevance,
        "queries": made.queries,
        "differences": [
            {
                "metric": metric,
                "before_pct": _pct(made.means[metric][0]),
                "after_pct": _pct(made.means[metric][1]),
                "difference_pct": _pct(found.mean),
                "low_pct": _pct(found.low),
                "high_pct": _pct(found.high),
                "p": round(found.p, 5),
            }
            for metric, found in made.differences.items()
        ],
        "better": [_changed(one, expected) for one in made.better],
        "worse": [_changed(one, expected) for one in made.worse],
    }


def _changed(one: Changed, expected: Mapping[str, str]) -> Json:
    metric = METRICS[0]
    return {
        "query_id": one.query_id,
        "query": one.after.query,
        "expected": expected.get(one.query_id, ""),
        "before_rank": one.before.rank,
        "after_rank": one.after.rank,
        f"before_{metric}_pct": _pct(one.before.values[metric]),
        f"after_{metric}_pct": _pct(one.after.values[metric]),
    }


def _pct(share: float) -> float:
    return round(100 * share, DIGITS - 2)
