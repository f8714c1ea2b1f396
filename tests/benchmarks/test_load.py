"""The load at its smallest: tiny models, few clients, seconds. What it counts, it counts right."""

import sys
from pathlib import Path

import pytest

from benchmarks.load import Result, measure, table
from benchmarks.load_clients import Sample
from benchmarks.table import as_json
from rag import Assistant, Settings
from tests.acceptance import served


def test_refusals_are_no_faults_and_errors_are() -> None:
    samples = (
        Sample("search", 0.0, 0.1, 200, asks=1),
        Sample("search", 0.0, 0.2, 200),
        Sample("search", 1.0, 0.9, 429, error="later"),
        Sample("ask", 0.0, 4.0, 200, first_s=1.5),
        Sample("ask", 0.0, 4.0, 503, error="later"),
        Sample("upload", 0.0, 1.0, 500, error="the server failed"),
    )
    memory = tuple((float(second), 1_000_000 * (100 + second)) for second in range(11))
    result = Result(10.0, samples, memory)
    assert [each.status for each in result.faults] == [500]
    assert (result.resident(0.0), result.resident(1.0)) == (102_000_000, 108_000_000)
    told = as_json(table(result))
    rows = {row["name"]: row for row in told["rows"]}
    assert rows["search"]["requests"] == 3
    assert rows["search"]["refused"] == "1 × 429"
    assert rows["search"]["p95_ms"] == pytest.approx(200)
    assert rows["search while an ask runs"]["p50_ms"] == pytest.approx(100)
    assert rows["ask, to its first words"]["p50_ms"] == pytest.approx(1500)
    assert "1 × upload 500: the server failed" in told["notes"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_many_clients_at_once_meet_no_error_and_leave_no_memory(tmp_path: Path) -> None:
    environment = served.models(tmp_path) | {"ATTEST_THREADS": "1"}
    home = tmp_path / "home"
    encoder = environment["ATTEST_ENCODER"]
    with Assistant.open(Settings(home=home, encoder=encoder, threads=1)) as attest:
        for number in range(5):
            attest.upload(f"note-{number}.md", served.page(number))
    result = measure(
        environment | {"ATTEST_HOME": str(home)},
        clients=6,
        seconds=30,
        questions=["When is the lamp lit?", "Which colour is the lamp number 3?", "bench"],
        texts=[served.PAGE.format(number) for number in range(50)],
    )
    assert not result.faults, result.faults[0]
    assert {each.kind for each in result.samples} == {"search", "ask", "upload"}
    start, end = result.resident(0.4), result.resident(1.0)
    assert end < 1.15 * start, f"{start} bytes, then {end}"
