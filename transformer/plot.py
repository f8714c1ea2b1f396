"""The curve of a run, drawn from its metrics.jsonl: a small SVG, and a page to look closer at."""

import html
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from transformer import journal

SVG, PAGE = "curve.svg", "curve.html"
_WIDTH, _HEIGHT = 640, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 64, 34, 46  # around the drawing itself
_LOSS, _HELD_OUT = "#1f6feb", "#b3261e"
_MOST = 400  # points of the loss that the SVG shows, each the mean of its stretch

Points = Sequence[tuple[float, float]]


def draw(folder: Path) -> None:
    """Write curve.svg and curve.html beside the metrics.jsonl of a run."""
    lines = journal.read(folder / journal.LINES)
    loss = [(float(line["step"]), float(line["loss"])) for line in lines]
    if not loss:
        return
    name, held_out = _held_out(lines)
    (folder / SVG).write_text(svg(loss, held_out, name), encoding="utf-8")
    (folder / PAGE).write_text(_page(loss, held_out, name), encoding="utf-8")


def _held_out(lines: Sequence[dict[str, Any]]) -> tuple[str, Points]:
    measured = [line for line in lines if line["metrics"]]
    if not measured:
        return "", []
    name = next(iter(measured[0]["metrics"]))
    return name, [(float(line["step"]), float(line["metrics"][name])) for line in measured]


def svg(loss: Points, held_out: Points, name: str) -> str:
    """The loss against the left axis, and the first held-out metric against the right one."""
    across = _Axis([x for x, _ in [*loss, *held_out]], _LEFT, _WIDTH - _RIGHT)
    loss = _thinned(loss)
    parts = [*_grid(across, loss, "end", _LEFT - 8), *_line(across, loss, _LOSS)]
    if held_out:
        parts += _scale(held_out, "start", _WIDTH - _RIGHT + 8, _HELD_OUT)
        parts += _line(across, held_out, _HELD_OUT)
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
    right = f'<text x="{_WIDTH - _RIGHT}" y="20" text-anchor="end" fill="{_HELD_OUT}">'
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            "<title>Loss by step</title>",
            "<style>text{font:12px sans-serif}</style>",
            f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
            f'<text x="{_LEFT}" y="20" fill="{_LOSS}">loss</text>',
            f"{right}{html.escape(name)}</text>",
            *parts,
            "</svg>\n",
        )
    )


class _Axis:
    """A range of numbers, drawn between two places."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        finite = [value for value in values if math.isfinite(value)] or [0.0]
        self._low, self._high = min(finite), max(finite)
        self._start, self._end = start, end

    def at(self, value: float) -> float:
        share = (value - self._low) / ((self._high - self._low) or 1)
        return round(self._start + share * (self._end - self._start), 1)

    def ticks(self) -> list[float]:
        return sorted({self._low + (self._high - self._low) * i / 4 for i in range(5)})


def _up(points: Points) -> _Axis:
    return _Axis([y for _, y in points], _HEIGHT - _BOTTOM, _TOP)


def _thinned(points: Points) -> Points:
    stretch = math.ceil(len(points) / _MOST)
    parts = [points[i : i + stretch] for i in range(0, len(points), stretch)]
    return [(part[-1][0], sum(y for _, y in part) / len(part)) for part in parts]


def _grid(across: _Axis, points: Points, anchor: str, x: int) -> Iterator[str]:
    for value in _up(points).ticks():
        y = _up(points).at(value)
        yield f'<path d="M{_LEFT} {y}H{_WIDTH - _RIGHT}" stroke="#ddd"/>'
    yield from _scale(points, anchor, x, _LOSS)
    for value in across.ticks():
        place = across.at(value)
        yield f'<text x="{place}" y="{_HEIGHT - 24}" text-anchor="middle">{value:,.0f}</text>'
    middle = _WIDTH / 2
    yield f'<text x="{middle}" y="{_HEIGHT - 6}" text-anchor="middle">step</text>'


def _scale(points: Points, anchor: str, x: int, colour: str) -> Iterator[str]:
    axis = _up(points)
    for value in axis.ticks():
        y = axis.at(value) + 4
        yield f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{colour}">{value:.3g}</text>'


def _line(across: _Axis, points: Points, colour: str) -> Iterator[str]:
    up = _up(points)
    places = [(across.at(x), up.at(y)) for x, y in points if math.isfinite(y)]
    path = " ".join(f"{x},{y}" for x, y in places)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
    if len(places) <= 50:
        for x, y in places:
            yield f'<circle cx="{x}" cy="{y}" r="2.5" fill="{colour}"/>'


def _page(loss: Points, held_out: Points, name: str) -> str:
    """A page that needs nothing else: the drawing script stands in it."""
    from plotly.offline import get_plotlyjs

    traces = [_trace("loss", loss, "y", _LOSS)]
    if held_out:
        traces.append(_trace(name, held_out, "y2", _HELD_OUT))
    layout = {
        "xaxis": {"title": {"text": "step"}},
        "yaxis": {"title": {"text": "loss"}},
        "yaxis2": {"title": {"text": name}, "overlaying": "y", "side": "right"},
        "legend": {"orientation": "h"},
    }
    # "</" would end the script; json leaves it as it is.
    figure = json.dumps([traces, layout]).replace("</", "<\\/")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Loss by step</title>'
        f"<script>{get_plotlyjs()}</script></head>\n"
        '<body><div id="curve" style="height:90vh"></div>\n'
        f'<script>Plotly.newPlot("curve", ...{figure}, {{displaylogo: false}})</script>\n'
        "</body></html>\n"
    )


def _trace(name: str, points: Points, axis: str, colour: str) -> dict[str, Any]:
    finite = [(x, y) for x, y in points if math.isfinite(y)]
    return {
        "type": "scatter",
        "name": name,
        "x": [x for x, _ in finite],
        "y": [y for _, y in finite],
        "yaxis": axis,
        "line": {"color": colour},
    }
