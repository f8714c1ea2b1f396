"""Maps of attention: each weight in its cell, and what is barred as such."""

import re

from benchmarks.weights import Map, drawn

_SELF = Map("<self>", ("a", "b"), ("a", "b"), ((1.0, None), (0.25, 0.75)))
_CROSS = Map("cross", ("a",), ("x", "y", "z"), ((0.5, 0.3, 0.2),))


def _cells(svg: str) -> list[tuple[float, float, float]]:
    found = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)"[^>]*fill-opacity="([\d.]+)"', svg)
    return [(float(x), float(y), float(share)) for x, y, share in found]


def test_every_weight_has_a_cell_as_dark_as_it_is_large() -> None:
    svg = drawn([_SELF, _CROSS], "A & b")
    cells = _cells(svg)
    assert [share for *_, share in cells] == [1.0, 0.25, 0.75, 0.5, 0.3, 0.2]
    first, low, right = cells[:3]
    assert low[0] == first[0] < right[0]
    assert low[1] == right[1] > first[1]
    assert min(x for x, *_ in cells[3:]) > right[0], "the second map stands beside the first"
    assert svg.count('fill="#f2f2f2"') == 1, "one cell is barred"
    assert ">0.25</text>" in svg
    assert "&lt;self&gt;" in svg
    assert "<title>A &amp; b</title>" in svg


def test_everything_lies_within_the_drawing() -> None:
    svg = drawn([_SELF, _CROSS], "maps")
    width, height = map(float, re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)[0])
    assert all(x + 56 <= width and y + 32 <= height for x, y, _ in _cells(svg))
