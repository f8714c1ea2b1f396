"""The reading order of a page set in two columns whose lines are drawn side by side.

Most files draw one column after the other. Some draw line by line across the page, and the text
layer then runs through both columns. Such a page shows a gutter: a strip that prose keeps clear.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

_FEWEST = 4  # pieces on each side of a gutter
_CLEAR = 6.0  # points; the least width of a gutter
_WIDE_GAP = 1.0  # of the type's height; a wider gap parts two pieces
_MOST_CROSSING = 0.4  # of all pieces
_FILLS = 0.55  # of its column's width, the median piece: prose does, cells of tables do not
_FEWEST_WORDS = 3  # in the median piece


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a line without a wide gap, in points from the lower left corner."""

    line: int  # index of the line that it belongs to
    left: float
    right: float
    bottom: float
    top: float


@dataclass(frozen=True, slots=True)
class Gutter:
    """Between two columns."""

    left: float  # where the left column ends
    right: float  # where the right column begins


def pieces_of(line: int, boxes: Sequence[tuple[float, float, float, float]]) -> list[Piece]:
    """Joins the boxes (left, bottom, right, top) of a line that stand close to each other."""
    pieces: list[Piece] = []
    for left, bottom, right, top in sorted(boxes):
        last = pieces[-1] if pieces else None
        if last and left - last.right <= _WIDE_GAP * (last.top - last.bottom):
            pieces[-1] = Piece(
                line,
                last.left,
                max(last.right, right),
                min(last.bottom, bottom),
                max(last.top, top),
            )
        else:
            pieces.append(Piece(line, left, right, bottom, top))
    return pieces


def find_gutter(pieces: Sequence[Piece], n_words: Sequence[int]) -> Gutter | None:
    """Finds the gutter of a page whose columns are drawn side by side, else gives None.

    Args:
        pieces: Of all lines, in the order of the file.
        n_words: Of each line.
    """
    if len(pieces) < 2 * _FEWEST:
        return None
    edges = Counter(round(piece.left) for piece in pieces)
    for edge, _ in edges.most_common(4):
        right = [piece for piece in pieces if piece.left >= edge - 2]
        left = [piece for piece in pieces if piece.right <= edge - _CLEAR]
        if _are_columns(left, right, len(pieces)) and _is_prose(pieces, n_words):
            gutter = Gutter(max(p.right for p in left), min(p.left for p in right))
            return gutter if _alternates(pieces, gutter) else None
    return None


def _are_columns(left: Sequence[Piece], right: Sequence[Piece], total: int) -> bool:
    if min(len(left), len(right)) < _FEWEST:
        return False
    if total - len(left) - len(right) > _MOST_CROSSING * total:
        return False
    beside = min(_top(left), _top(right)) - max(_bottom(left), _bottom(right))
    if beside < 0.5 * min(_top(left) - _bottom(left), _top(right) - _bottom(right)):
        return False
    return all(
        median(p.right - p.left for p in side)
        >= _FILLS * (max(p.right for p in side) - min(p.left for p in side))
        for side in (left, right)
    )


def _is_prose(pieces: Sequence[Piece], n_words: Sequence[int]) -> bool:
    parts = Counter(piece.line for piece in pieces)
    return median(n_words[piece.line] / parts[piece.line] for piece in pieces) >= _FEWEST_WORDS


def _alternates(pieces: Sequence[Piece], gutter: Gutter) -> bool:
    """Says whether the file goes from the right column back to the left one again and again."""
    sides = [
        piece.left >= gutter.right
        for piece in pieces
        if piece.left >= gutter.right or piece.right <= gutter.left
    ]
    returns = sum(before and not after for before, after in pairwise(sides))
    return returns >= max(2, 0.2 * len(sides) / 2)


def in_columns(pieces: Sequence[Piece], gutter: Gutter) -> list[int]:
    """Gives the indexes of pieces in reading order: the left column, then the right one.

    What runs across both, such as a title, parts the columns above it from those below.
    """
    order: list[int] = []
    left: list[int] = []
    right: list[int] = []
    for index in sorted(range(len(pieces)), key=lambda i: (-pieces[i].top, pieces[i].left)):
        piece = pieces[index]
        if piece.right <= gutter.left:
            left.append(index)
        elif piece.left >= gutter.right:
            right.append(index)
        else:
            order += [*left, *right, index]
            left, right = [], []
    return order + left + right


def _top(pieces: Sequence[Piece]) -> float:
    return max(piece.top for piece in pieces)


def _bottom(pieces: Sequence[Piece]) -> float:
    return min(piece.bottom for piece in pieces)
