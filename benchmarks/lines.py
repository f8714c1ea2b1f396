"""Lines over a linear axis, as an SVG that needs nothing else."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 640, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 190, 24, 52  # around the drawing itself
_COLOURS = ("#1f6feb", "#b3261e", "#8a6d00", "#1a7f37")
_TICKS = 5


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    points: tuple[tuple[float, float], ...]  # from left to right


def drawn(lines: Sequence[Line], *, across: str, up: str) -> str:
    """An SVG of these lines, each named at its end."""
    everything = [point for line in lines for point in line.points]
    if not everything:
        raise ValueError("there is no line to draw: measure something first")
    xs, ys = zip(*everything, strict=True)
    x, y = (min(xs), max(xs)), (min(ys), max(ys))
    parts = [*_grid(x, y, across, up)]
    for number, line in enumerate(lines):
        parts.extend(_line(line, x, y, _COLOURS[number % len(_COLOURS)]))
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


def _at(value: float, span: tuple[float, float], start: float, end: float) -> float:
    low, high = span
    return round(start + (value - low) / ((high - low) or 1.0) * (end - start), 1)


def _across(value: float, span: tuple[float, float]) -> float:
    return _at(value, span, _LEFT, _WIDTH - _RIGHT)


def _up(value: float, span: tuple[float, float]) -> float:
    return _at(value, span, _HEIGHT - _BOTTOM, _TOP)


def _grid(x: tuple[float, float], y: tuple[float, float], across: str, up: str) -> Iterator[str]:
    right, low = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    for step in range(_TICKS):
        share = step / (_TICKS - 1)
        value = y[0] + share * (y[1] - y[0])
        yield f'<path d="M{_LEFT} {_up(value, y)}H{right}" stroke="#ddd"/>'
        yield f'<text x="{_LEFT - 6}" y="{_up(value, y) + 4}" text-anchor="end">{value:.1f}</text>'
        value = x[0] + share * (x[1] - x[0])
        yield _centred(_across(value, x), low + 20, f"{value:,.0f}")
    yield _centred((_LEFT + right) / 2, _HEIGHT - 10, across)
    yield f'<text x="{_LEFT}" y="14">{escape(up)}</text>'


def _centred(x: float, y: float, text: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="middle">{escape(text)}</text>'


def _line(line: Line, x: tuple[float, float], y: tuple[float, float], colour: str) -> Iterator[str]:
    points = [(_across(a, x), _up(b, y)) for a, b in line.points]
    path = " ".join(f"{a},{b}" for a, b in points)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for a, b in points:
        yield f'<circle cx="{a}" cy="{b}" r="3.5" fill="{colour}"/>'
    a, b = points[-1]
    yield f'<text x="{a + 8}" y="{b + 4}" style="fill:{colour}">{escape(line.name)}</text>'
