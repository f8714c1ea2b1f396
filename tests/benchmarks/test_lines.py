"""Where the lines of a drawing go."""

import re
from itertools import pairwise

import pytest

from benchmarks.lines import Line, drawn


def _points(svg: str) -> list[list[tuple[float, float]]]:
    lines = re.findall(r'<polyline points="([^"]*)"', svg)
    pairs = [[each.split(",") for each in line.split()] for line in lines]
    return [[(float(x), float(y)) for x, y in line] for line in pairs]


def test_points_lie_where_their_values_are() -> None:
    lines = [Line("a", ((0.0, 0.0), (50.0, 5.0), (100.0, 10.0))), Line("b<", ((25.0, 10.0),))]
    svg = drawn(lines, across="questions", up="gain & loss")
    (first, middle, last), (other,) = _points(svg)
    assert first[0] < middle[0] < last[0]
    assert first[1] > middle[1] > last[1]  # up is a smaller number
    assert middle == pytest.approx(((first[0] + last[0]) / 2, (first[1] + last[1]) / 2), abs=0.1)
    assert other[0] == pytest.approx((first[0] + middle[0]) / 2, abs=0.1)
    assert other[1] == last[1]
    assert "b&lt;</text>" in svg
    assert "gain &amp; loss" in svg


def test_on_logarithmic_axes_a_power_is_as_far_as_the_next() -> None:
    svg = drawn(
        [Line("a", ((10, 1), (100, 10), (1000, 100)))], across="x", up="y", logarithmic=True
    )
    ((one, two, three),) = _points(svg)
    assert two[0] - one[0] == pytest.approx(three[0] - two[0], abs=0.11)
    assert two[1] - one[1] == pytest.approx(three[1] - two[1], abs=0.11)
    assert ">1,000</text>" in svg


def test_a_line_of_one_value_is_drawn_and_nothing_is_not() -> None:
    assert _points(drawn([Line("a", ((3, 7),))], across="x", up="y"))
    with pytest.raises(ValueError, match="there is no line to draw"):
        drawn([Line("a", ())], across="x", up="y")


def test_names_of_lines_that_end_together_stand_below_one_another() -> None:
    lines = [Line(name, ((0.0, 0.0), (1.0, 1.0))) for name in ("a", "b", "c")]
    svg = drawn(lines, across="x", up="y")
    heights = [float(found) for found in re.findall(r'y="([\d.]+)" style="fill:#\w+">[abc]<', svg)]
    assert [low - high for high, low in pairwise(heights)] == [16, 16]
