"""How a calibration looks: its figures, and the curve of risk by coverage."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from markupsafe import Markup

from index.records import StoredCalibration
from rag.assistant import Assistant
from ui import render
from ui.locale import Texts

Fit = StoredCalibration

_WIDTH, _HEIGHT = 520, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 26, 32, 44  # around the drawing itself
_STEPS = (1, 2, 5, 10, 20, 25)  # per cent between two lines of the grid
_LINES = 5  # of them, at most


def kept(attest: Assistant) -> list[Fit]:
    """What was fitted for the encoder of today: by evidence alone, and with a generator."""
    name = attest.settings.collection
    if not attest.exists(name):
        return []
    adapter = attest.catalog.active_adapter(name)
    encoder = attest.catalog.collection(name).model.fingerprint
    encoder = adapter.fingerprint if adapter else encoder
    # A judge that comes with the encoder is named behind it: see rag.declining.encoder_of.
    mine = [
        fit for fit in attest.catalog.calibrations(name) if fit.encoder.partition("+")[0] == encoder
    ]
    newest = {bool(fit.generator): fit for fit in reversed(mine)}
    return [newest[key] for key in sorted(newest)]


def shown(fits: Sequence[Fit], words: Texts) -> Markup:
    """What a calibration found; of one from before its figures were kept, that there is one."""
    if not fits:
        return Markup('<p class="a-none">{}</p>').format(words("models.uncalibrated"))
    parts = list[Markup]()
    for fit in fits:
        # Before the figures were kept there was less; an archive may have brought anything.
        with suppress(AttributeError, KeyError, TypeError, ValueError):
            parts.append(_shown(fit, words))
    head = Markup('<p class="a-none" role="status">{} {}</p>').format(
        words("models.calibrated"), render.day(fits[0].made_at)
    )
    return head + Markup('<div class="a-fits">{}</div>').format(render.joined(parts))


def _shown(fit: Fit, words: Texts) -> Markup:
    figures = fit.fitted
    by = words("models.fit.writer" if fit.generator else "models.fit.evidence")
    facts = render.joined(
        Markup("<div><dt>{}</dt><dd>{}</dd></div>").format(*fact) for fact in _facts(figures, words)
    )
    chosen = figures["chosen"]
    told = words(
        "models.risk.chosen",
        answered=f"{chosen['answered_pct']:g}",
        wrong=f"{chosen['wrong_pct']:g}",
    )
    about = words("models.risk.about", held=figures["questions"], left=figures["left_out"])
    return Markup(
        '<section class="a-fit"><h3 class="a-small">{}</h3><dl class="a-facts">{}</dl>'
        '<figure class="a-risk">{}<figcaption>{} {}</figcaption></figure></section>'
    ).format(by, facts, picture(figures["curve"], chosen, words), told, about)


def _facts(figures: Mapping[str, Any], words: Texts) -> Iterator[tuple[str, str]]:
    answered = words("models.fit.answered", n=figures["questions"])
    yield answered, f"{figures['held_answered_pct']:g} %"
    declined = words("models.fit.declined", n=figures["left_out"])
    yield declined, f"{figures['left_out_declined_pct']:g} %"
    if figures["swapped_declined_pct"] is not None:
        swapped = words("models.fit.swapped", n=figures["swapped"])
        yield swapped, f"{figures['swapped_declined_pct']:g} %"
    yield words("models.fit.auroc"), f"{figures['auroc']:.2f}"


def picture(
    curve: Sequence[Mapping[str, float]], chosen: Mapping[str, float], words: Texts
) -> Markup:
    """Risk by coverage as a drawing of our own, in the colours of the page.

    Args:
        curve: points of {"answered_pct", "wrong_pct"}, by the first
        chosen: the point where the threshold is
        words: of the page
    """
    points = [(each["answered_pct"], each["wrong_pct"]) for each in curve]
    at = (chosen["answered_pct"], chosen["wrong_pct"])
    most = max(4.0, *(wrong for _, wrong in (*points, at)))
    step = next(each for each in _STEPS if each * _LINES >= most)
    top = step * math.ceil(most / step)
    places = [_place(point, top) for point in points]
    line = " ".join(f"{x},{y}" for x, y in places)
    x, y = _place(at, top)
    side, end = ("start", 10) if x < _WIDTH * 0.7 else ("end", -10)
    return Markup(
        '<svg viewBox="0 0 {w} {h}" role="img" aria-label="{about}">{grid}'
        '<polyline class="r-line" points="{line}"/>'
        '<path class="r-chosen" d="M{x} {top}V{bottom}"/><circle class="r-dot" cx="{x}" cy="{y}" '
        'r="6"/><text class="r-name" x="{label}" y="{above}" text-anchor="{side}">{name}</text>'
        "</svg>"
    ).format(
        w=_WIDTH,
        h=_HEIGHT,
        about=words("models.risk.picture"),
        grid=render.joined(_grid(top, step, words)),
        line=line,
        x=x,
        y=y,
        top=_TOP,
        bottom=_HEIGHT - _BOTTOM,
        label=x + end,
        above=_TOP + 12,
        side=side,
        name=words("models.risk.threshold"),
    )


def _place(point: tuple[float, float], top: float) -> tuple[float, float]:
    answered, wrong = point
    across = _LEFT + answered / 100 * (_WIDTH - _LEFT - _RIGHT)
    down = _HEIGHT - _BOTTOM - wrong / top * (_HEIGHT - _TOP - _BOTTOM)
    return round(across, 1), round(down, 1)


def _grid(top: int, step: int, words: Texts) -> Iterator[Markup]:
    for share in range(0, 101, 25):
        x, bottom = _place((share, 0.0), top)
        yield Markup('<text x="{}" y="{}" text-anchor="middle">{} %</text>').format(
            x, bottom + 18, share
        )
    for wrong in range(0, top + 1, step):
        x, y = _place((0.0, wrong), top)
        yield Markup('<path class="r-grid" d="M{} {}H{}"/>').format(x, y, _WIDTH - _RIGHT)
        yield Markup('<text x="{}" y="{}" text-anchor="end">{} %</text>').format(
            x - 8, y + 4, wrong
        )
    yield Markup('<text x="{}" y="{}" text-anchor="middle">{}</text>').format(
        (_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 6, words("models.risk.answered")
    )
    yield Markup('<text x="2" y="14">{}</text>').format(words("models.risk.wrong"))
