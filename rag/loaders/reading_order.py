"""The order in which people read what stands freely on a slide."""

from collections.abc import Callable, Iterable
from typing import TypeVar

Shape = TypeVar("Shape")


def in_reading_order(
    shapes: Iterable[Shape], place: Callable[[Shape], tuple[float, float]], *, line: float
) -> list[Shape]:
    """Sorts from top to bottom, and from left to right where tops are within `line` of each other.

    `place` gives a shape's left and top edge.
    """
    lines: list[list[tuple[float, int, Shape]]] = []
    first_top = 0.0
    places = ((*place(shape), number, shape) for number, shape in enumerate(shapes))
    for left, top, number, shape in sorted(places, key=lambda placed: (placed[1], placed[2])):
        if not lines or top - first_top > line:
            lines.append([])
            first_top = top
        lines[-1].append((left, number, shape))
    return [placed[2] for row in lines for placed in sorted(row, key=lambda placed: placed[:2])]
