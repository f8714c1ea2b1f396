"""The plan for large libraries says what follows from what was measured, and nothing else."""

from pathlib import Path

import pytest

from benchmarks import plan
from index import vector_layers, vectors

DOCS = Path(__file__).parents[2] / "docs"
PAGE = " ".join((DOCS / "scale.md").read_text(encoding="utf-8").split())


@pytest.mark.parametrize(("name", "table"), [*plan.tables()])
def test_a_table_is_the_one_that_the_formulas_make(name: str, table: str) -> None:
    told = f"{name}: print it with python -m benchmarks.plan"
    assert table in (DOCS / "scale.md").read_text(encoding="utf-8"), told


@pytest.mark.parametrize("known", plan.MEASURED, ids=lambda known: f"{known.value:g}")
def test_a_rate_that_was_measured_is_the_one_of_the_benchmarks(known: plan.Known) -> None:
    measured = (DOCS / "reference/benchmarks.md").read_text(encoding="utf-8")
    assert known.told in measured
    bytes_of_a_chunk = known is plan.DENSE  # the page has gigabytes of a million
    assert f"{known.value / 1000 if bytes_of_a_chunk else known.value:,g}" in known.told


def test_what_the_text_says_beside_the_tables_follows_too() -> None:
    assert plan.SAVED == vectors._UNSAVED
    assert f"{2 * 1000 + vector_layers._SPARE:,} of them (2 × 1,000 candidates" in PAGE
    pace = plan.written(10**7) * plan.E5.value / 1e6
    assert f"{pace:.0f} MB a second while two cores encode" in PAGE
    hours = plan.core_hours(10**7, plan.E5)
    assert (round(hours / 2 / 24, 1), round(hours / 16, 1)) == (2.5, 7.5)
    assert plan.hybrid_ms(38 * 10**6) < 300 < plan.hybrid_ms(39 * 10**6)
    assert f"up to {plan.ANSWER.value} s on two cores" in PAGE
    assert plan.rabitq_seconds(10**9) < 2 * plan.ANSWER.value
    nodes = [f"{plan.query_nodes(n)[0]} query nodes" for n in (10**8, 10**9)]
    assert all(said in PAGE for said in nodes)
