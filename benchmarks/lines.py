"""Lines over linear or logarithmic axes, as an SVG that needs nothing else."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 640, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 190, 24, 52  # around the drawing itself
_COLOURS = ("#1f6feb", "#b3261e", "#8a6d00", "#1a7f37")
_TICKS = 5  # about so many
_LETTERS = 16  # high, with the space between two lines of them


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    points: tuple[tuple[float, float], ...]  # from left to right


def drawn(lines: Sequence[Line], *, across: str, up: str, logarithmic: bool = False) -> str:
    """An SVG of these lines, each named at its end.

    Args:
        lines: at least one point in all
        across: what the axis below counts
        up: what the left axis counts
        logarithmic: both axes, for values over 0
    """
    everything = [point for line in lines for point in line.points]
    if not everything:
        raise ValueError("there is no line to draw: measure something first")
    xs, ys = zip(*everything, strict=True)
    axis = _powers if logarithmic else _round
    x, y = axis(min(xs), max(xs)), axis(min(ys), max(ys))
    parts = [*_grid(x, y, across, up)]
    there = [line for line in lines if line.points]
    heights = _apart([_up(line.points[-1][1], y) for line in there])
    for number, (line, height) in enumerate(zip(there, heights, strict=True)):
        parts.extend(_line(line, x, y, _COLOURS[number % len(_COLOURS)], height))
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            f"<title>{escape(up)} by {escape(across)}</title>",
            "<style>text{font:13px sans-serif;fill:#333}</style>",
            f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
            *parts,
            "</svg>\n",
        )
    )


@dataclass(frozen=True, slots=True)
class _Axis:
    """Round numbers, the first and the last of which are its ends."""

    ticks: tuple[float, ...]
    logarithmic: bool

    def at(self, value: float, start: float, end: float) -> float:
        low, high, here = self.ticks[0], self.ticks[-1], value
        if self.logarithmic:
            low, high, here = math.log10(low), math.log10(high), math.log10(value)
        return round(start + (here - low) / (high - low) * (end - start), 1)


def _round(least: float, most: float) -> _Axis:
    rough = ((most - least) or 1.0) / (_TICKS - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(each * power for each in (1, 2, 5, 10) if each * power >= 0.999 * rough)
    first = math.floor(least / step + 1e-9)
    last = max(math.ceil(most / step - 1e-9), first + 1)
    return _Axis(tuple(step * i for i in range(first, last + 1)), logarithmic=False)


def _powers(least: float, most: float) -> _Axis:
    first = math.floor(math.log10(least))
    last = max(math.ceil(math.log10(most)), first + 1)
    return _Axis(tuple(10.0**power for power in range(first, last + 1)), logarithmic=True)


def _across(value: float, axis: _Axis) -> float:
    return axis.at(value, _LEFT, _WIDTH - _RIGHT)


def _up(value: float, axis: _Axis) -> float:
    return axis.at(value, _HEIGHT - _BOTTOM, _TOP)


def _grid(x: _Axis, y: _Axis, across: str, up: str) -> Iterator[str]:
    right, low = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    for value in y.ticks:
        at = _up(value, y)
        yield f'<path d="M{_LEFT} {at}H{right}" stroke="#ddd"/>'
        yield f'<text x="{_LEFT - 6}" y="{at + 4}" text-anchor="end">{value:,.10g}</text>'
    for value in x.ticks:
        yield _centred(_across(value, x), low + 20, f"{value:,.10g}")
    yield _centred((_LEFT + right) / 2, _HEIGHT - 10, across)
    yield f'<text x="{_LEFT}" y="14">{escape(up)}</text>'


def _centred(x: float, y: float, text: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="middle">{escape(text)}</text>'


def _apart(ends: Sequence[float]) -> list[float]:
    """Where names stand: beside their lines' ends, and below what would be written over."""
    heights, lowest = list(ends), -math.inf
    for place in sorted(range(len(ends)), key=ends.__getitem__):
        heights[place] = lowest = max(ends[place], lowest + _LETTERS)
    return heights


def _line(line: Line, x: _Axis, y: _Axis, colour: str, height: float) -> Iterator[str]:
    points = [(_across(a, x), _up(b, y)) for a, b in line.points]
    path = " ".join(f"{a},{b}" for a, b in points)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for a, b in points:
        yield f'<circle cx="{a}" cy="{b}" r="3.5" fill="{colour}"/>'
    name = escape(line.name)
    yield f'<text x="{points[-1][0] + 8}" y="{height + 4:g}" style="fill:{colour}">{name}</text>'
