"""`python -m benchmarks.curve FIGURES.json OUT.svg`: draws what `scale` has measured."""

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

_WIDTH, _HEIGHT = 640, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 150, 44, 52  # around the drawing itself
_COLOURS = {"dense, k=1000": "#1f6feb", "lexical, k=1000": "#8a6d00", "hybrid": "#b3261e"}

Points = Sequence[tuple[float, float]]


def curve(table: Mapping[str, list[dict[str, object]]]) -> str:
    """An SVG of the median milliseconds of a search by the number of chunks, both on log axes."""
    lines = {name: list(_points(table, name)) for name in _COLOURS}
    everything = [point for points in lines.values() for point in points]
    if not everything:
        raise ValueError("no search was measured: run `python -m benchmarks scale` first")
    sizes, times = zip(*everything, strict=True)
    across = _Axis(min(sizes), max(sizes), _LEFT, _WIDTH - _RIGHT)
    up = _Axis(min(times), max(times), _HEIGHT - _BOTTOM, _TOP)
    parts = [*_grid(across, up)]
    for name, points in lines.items():
        parts.extend(_line(name, [(across.at(n), up.at(ms)) for n, ms in points]))
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
    style = "text{font:13px sans-serif;fill:#333}.t{font-weight:600}"
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            "<title>Median milliseconds of a search by the number of chunks</title>",
            f"<style>{style}</style>",
            f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
            f'<text class="t" x="{_LEFT}" y="22">Search, median ms, one client, two cores</text>',
            *parts,
            "</svg>\n",
        )
    )


class _Axis:
    """A range of whole powers of ten, drawn between two places."""

    def __init__(self, least: float, most: float, start: float, end: float) -> None:
        self._low = math.floor(math.log10(least))
        self._high = max(self._low + 1, math.ceil(math.log10(most)))
        self._start, self._end = start, end

    def at(self, value: float) -> float:
        share = (math.log10(value) - self._low) / (self._high - self._low)
        return round(self._start + share * (self._end - self._start), 1)

    def ticks(self) -> list[float]:
        return [10.0**power for power in range(self._low, self._high + 1)]


def _points(
    table: Mapping[str, list[dict[str, object]]], name: str
) -> Iterator[tuple[float, float]]:
    for row in table["rows"]:
        size, _, search = str(row["name"]).partition(" ")
        p50 = row.get("p50_ms")
        if search == name and isinstance(p50, int | float):
            yield float(size.replace(",", "")), float(p50)


def _grid(across: _Axis, up: _Axis) -> Iterator[str]:
    right, low = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    for value in up.ticks():
        y = up.at(value)
        yield f'<path d="M{_LEFT} {y}H{right}" stroke="#ddd"/>'
        yield f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{value:g}</text>'
    for value in across.ticks():
        x = across.at(value)
        yield f'<path d="M{x} {_TOP}V{low}" stroke="#ddd"/>'
        yield f'<text x="{x}" y="{low + 20}" text-anchor="middle">{value:,.0f}</text>'
    middle = (_LEFT + right) / 2
    yield f'<text x="{middle}" y="{_HEIGHT - 10}" text-anchor="middle">chunks</text>'


def _line(name: str, points: Points) -> Iterator[str]:
    if not points:
        return
    colour = _COLOURS[name]
    path = " ".join(f"{x},{y}" for x, y in points)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for x, y in points:
        yield f'<circle cx="{x}" cy="{y}" r="3.5" fill="{colour}"/>'
    x, y = points[-1]
    yield f'<text x="{x + 10}" y="{y + 4}" style="fill:{colour}">{name}</text>'


if __name__ == "__main__":
    figures = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Path(sys.argv[2]).write_text(curve(figures["scale_search"]), encoding="utf-8")
