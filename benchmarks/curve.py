"""`python -m benchmarks.curve FIGURES.json OUT.svg`: draws what `scale` has measured."""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.lines import Line, drawn

_SEARCHES = ("dense, k=1000", "lexical, k=1000", "hybrid")


def curve(table: Mapping[str, list[dict[str, object]]]) -> str:
    """An SVG of the median milliseconds of a search by the number of chunks."""
    lines = [Line(name, tuple(_points(table, name))) for name in _SEARCHES]
    if not any(line.points for line in lines):
        raise ValueError("no search was measured: run `python -m benchmarks scale` first")
    return drawn(lines, across="chunks", up="ms of a search, one client", logarithmic=True)


def _points(
    table: Mapping[str, list[dict[str, object]]], name: str
) -> Iterator[tuple[float, float]]:
    for row in table["rows"]:
        size, _, search = str(row["name"]).partition(" ")
        p50 = row.get("p50_ms")
        if search == name and isinstance(p50, int | float):
            yield float(size.replace(",", "")), float(p50)


if __name__ == "__main__":
    figures = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Path(sys.argv[2]).write_text(curve(figures["scale_search"]), encoding="utf-8")
