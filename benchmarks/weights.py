"""Maps of attention, as an SVG that needs nothing else: who asks down, who is asked across."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

_CELL_W, _CELL_H, _LEFT, _TOP, _GAP, _BELOW = 56, 32, 68, 58, 26, 12
_HOT, _LIGHT_FROM = "#b3261e", 0.6  # weights over it are written in white


@dataclass(frozen=True, slots=True)
class Map:
    """The weights of one attention."""

    title: str
    asking: tuple[str, ...]  # a row each
    asked: tuple[str, ...]  # a column each
    weights: tuple[tuple[float | None, ...], ...]  # None: barred, for it has not been written yet


def drawn(maps: Sequence[Map], title: str) -> str:
    """Maps side by side, each weight darker the nearer it is to one."""
    parts, x = list[str](), 8.0
    for each in maps:
        parts.extend(_map(each, x))
        x += _LEFT + _CELL_W * len(each.asked) + _GAP
    width = x - _GAP + 8
    height = _TOP + _CELL_H * max(len(each.asking) for each in maps) + _BELOW
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}" '
            f'width="{width:g}" height="{height}" role="img">',
            f"<title>{escape(title)}</title>",
            "<style>text{font:13px sans-serif;fill:#333}.t{font-weight:600}</style>",
            f'<rect width="{width:g}" height="{height}" fill="#fff"/>',
            *parts,
            "</svg>\n",
        )
    )


def _map(each: Map, left: float) -> Iterator[str]:
    yield f'<text class="t" x="{left:g}" y="20">{escape(each.title)}</text>'
    for place, name in enumerate(each.asked):
        x = left + _LEFT + _CELL_W * (place + 0.5)
        yield f'<text x="{x:g}" y="{_TOP - 9}" text-anchor="middle">{escape(name)}</text>'
    for row, (name, weights) in enumerate(zip(each.asking, each.weights, strict=True)):
        y = _TOP + _CELL_H * row
        yield f'<text x="{left + _LEFT - 8:g}" y="{y + 20}" text-anchor="end">{escape(name)}</text>'
        for place, weight in enumerate(weights):
            yield from _cell(left + _LEFT + _CELL_W * place, y, weight)


def _cell(x: float, y: float, weight: float | None) -> Iterator[str]:
    box = f'x="{x:g}" y="{y:g}" width="{_CELL_W - 2}" height="{_CELL_H - 2}"'
    if weight is None:
        yield f'<rect {box} fill="#f2f2f2"/>'
        yield f'<path d="M{x:g} {y + _CELL_H - 2:g}L{x + _CELL_W - 2:g} {y:g}" stroke="#ccc"/>'
        return
    ink = "#fff" if weight > _LIGHT_FROM else "#333"
    yield f'<rect {box} fill="{_HOT}" fill-opacity="{weight:.3f}" stroke="#ddd"/>'
    at = f'x="{x + _CELL_W / 2 - 1:g}" y="{y + 20:g}" text-anchor="middle"'
    yield f'<text {at} style="fill:{ink}">{weight:.2f}</text>'
