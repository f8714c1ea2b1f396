"""Heat maps and strips as small SVGs: one path a shade, however many cells; a script tells cells.

The darkest shade is the largest weight between two tokens that are shown, and shades follow the
square root: most of what attention does lies far below its peaks.
"""

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from ui import render

_SHADES = 16
_TOP, _LEFT = 108, 136  # room for labels
_LABEL = 14  # characters of one
_BETWEEN = 8  # from the column of what is not shown to the others


@dataclass(frozen=True, slots=True)
class Axis:
    """A token on both axes of a map."""

    text: str
    position: int
    kind: str = ""  # of its label: a class


def darkest(weights: NDArray[np.float32]) -> float:
    """The weight of the darkest shade of a map (m, 1 + m)."""
    return float(weights[:, 1:].max(initial=0)) or 1.0


_FRAME = Markup(
    '<div class="i-map" data-weights="{weights}" data-tokens="{tokens}" data-said="{said}" '
    'data-rest="{rest}" data-left="{left}" data-top="{top}" data-cell="{cell}" data-gap="{gap}">'
    '<div class="i-scroll" tabindex="0" role="group" aria-label="{about}">'
    '<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" aria-hidden="true">'
    '{barred}{shades}{lines}{labels}<rect class="i-spot" width="{cell}" height="{cell}" x="-99"/>'
    '</svg></div><p class="i-told" role="status">{hint}</p></div>'
)


def drawn(
    weights: NDArray[np.float32],
    axis: Sequence[Axis],
    *,
    causal: bool,
    about: str,
    hint: str,
    said: str,
    rest: str,
) -> Markup:
    """Rows look at columns.

    Args:
        weights: (m, 1 + m), the first column what is not shown; it is drawn where there is any
        axis: the m tokens
        causal: nothing may look at what stands behind it
        about: name of the map
        hint: told until a cell is pointed at
        said: told of a cell, with {row}, {column} and {share} in it
        rest: name of the first column
    """
    m = len(axis)
    cell = min(26, max(13, 860 // max(1, m)))
    gap = cell + _BETWEEN if bool(weights[:, 0].max(initial=0) >= 0.005) else 0
    left = _LEFT + gap
    width, height = left + cell * m + 40, _TOP + cell * m + 6
    return _FRAME.format(
        weights=_packed(weights),
        tokens=json.dumps([f"{each.position} {each.text}" for each in axis], ensure_ascii=False),
        said=said,
        rest=rest,
        left=left,
        top=_TOP,
        cell=cell,
        gap=gap,
        about=about,
        width=width,
        height=height,
        barred=_barred(m, cell, left) if causal else "",
        shades=render.joined(_shades(weights, cell, left, gap)),
        lines=render.joined(_lines(axis, cell, left, width, height)),
        labels=render.joined(_labels(axis, cell, left, gap, rest)),
        hint=hint,
    )


def strip(values: NDArray[np.float32], about: str, dimension: str) -> Markup:
    """A vector as a row of cells, blue over 0 and orange below; the darkest is the largest.

    Args:
        values: (d,)
        about: name of the strip
        dimension: told of a cell, with {n} and {value} in it
    """
    most = float(np.abs(values).max(initial=0)) or 1.0
    levels = np.ceil(np.sqrt(np.abs(values) / most) * _SHADES).astype(int)
    paths = (
        Markup('<path class="{}" opacity="{:.3g}" d="{}"/>').format(
            name, level / _SHADES, "".join(f"M{at} 0h1v1h-1z" for at in np.flatnonzero(chosen))
        )
        for name, side in (("i-up", values > 0), ("i-down", values < 0))
        for level in range(1, _SHADES + 1)
        if (chosen := side & (levels == level)).any()
    )
    return Markup(
        '<div class="i-strip" data-values="{}" data-said="{}" tabindex="0" role="group" '
        'aria-label="{}"><svg viewBox="0 0 {} 1" preserveAspectRatio="none" aria-hidden="true">{}'
        "</svg></div>"
    ).format(
        json.dumps([round(float(value), 4) for value in values]),
        dimension,
        about,
        len(values),
        render.joined(paths),
    )


def _packed(weights: NDArray[np.float32]) -> str:
    """Shares of 65,535, little-endian, row after row."""
    shares = np.round(weights.clip(0, 1) * 65_535).astype("<u2")
    return base64.b64encode(shares.tobytes()).decode("ascii")


def _shades(weights: NDArray[np.float32], cell: int, left: int, gap: int) -> Iterator[Markup]:
    shares = (weights / darkest(weights)).clip(0, 1)
    levels = np.ceil(np.sqrt(shares) * _SHADES - 0.5).astype(int)
    if not gap:
        levels[:, 0] = 0
    side = cell - 1
    for level in range(1, _SHADES + 1):
        places = np.argwhere(levels == level).tolist()
        if places:
            moves = "".join(
                f"M{left + cell * (column - 1) if column else left - gap} {_TOP + cell * row}"
                f"h{side}v{side}h-{side}z"
                for row, column in places
            )
            yield Markup('<path class="i-hot" opacity="{:.3g}" d="{}"/>').format(
                level / _SHADES, moves
            )


def _barred(m: int, cell: int, left: int) -> Markup:
    """Steps over the diagonal: what a token may not look at."""
    steps = "".join(f"v{cell}h{cell}" for _ in range(m - 1))
    return Markup(
        '<defs><pattern id="i-hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><path class="i-stripe" d="M0 0V6"/></pattern></defs>'
        '<path class="i-barred" d="M{} {}{}V{}z"/>'
    ).format(left + cell, _TOP, steps, _TOP)


def _lines(axis: Sequence[Axis], cell: int, left: int, width: int, height: int) -> Iterator[Markup]:
    """Where one stretch of the text ends and the next begins."""
    for at in range(1, len(axis)):
        if axis[at].kind != axis[at - 1].kind:
            x, y = left + cell * at - 0.5, _TOP + cell * at - 0.5
            yield Markup('<path class="i-line" d="M{} {}V{}M{} {}H{}"/>').format(
                x, 6, height - 6, 6, y, width - 40
            )


def _labels(axis: Sequence[Axis], cell: int, left: int, gap: int, rest: str) -> Iterator[Markup]:
    for at, each in enumerate(axis):
        text = each.text if len(each.text) <= _LABEL else each.text[: _LABEL - 1] + "…"
        x, y = left + cell * (at + 0.5) + 4, _TOP + cell * (at + 0.5) + 4
        yield Markup(
            '<text class="{kind}" x="{end}" y="{y}" text-anchor="end">{text} '
            '<tspan class="i-at">{n}</tspan></text>'
            '<text class="{kind}" transform="translate({x} {top}) rotate(-64)">'
            '<tspan class="i-at">{n}</tspan> {text}</text>'
        ).format(
            kind=each.kind, end=left - gap - 6, y=y, text=text, n=each.position, x=x, top=_TOP - 6
        )
    if gap:
        yield Markup(
            '<text class="i-at" transform="translate({} {}) rotate(-64)">{}</text>'
        ).format(left - gap + cell / 2 + 4, _TOP - 6, rest)
