"""A report as one page that needs nothing else: it opens offline, prints, and follows the dark."""

from importlib import resources

import jinja2
from markupsafe import Markup

from rag import report_svg
from rag.records import Report
from rag.report_words import said, words_in

_LISTED = 12  # documents of a group before the others fold away


def page(report: Report) -> str:
    """The HTML."""
    words = words_in(report.language)
    source = resources.files("rag").joinpath("templates/report.html").read_text("utf-8")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(source).render(
        report=report,
        words=words,
        notes=said(report.remarks, words) or report.notes,
        map=report_svg.drawn(report, words),
        style=report_svg.style(),
        script=report_svg.script(),
        hue=report_svg.hue,
        bars=bars,
        listed=_LISTED,
        n_items=report.n_passages if report.by == "passages" else report.n_documents,
    )


def bars(counts: tuple[int, ...]) -> Markup:
    """How many of each period, as a small picture; the tallest bar is full."""
    tallest = max(counts, default=0)
    if not tallest:
        return Markup("")
    drawn = Markup("").join(
        Markup('<rect x="{}" y="{:.1f}" width="7" height="{:.1f}"><title>{}</title></rect>').format(
            at * 9, 30 - 30 * count / tallest, max(30 * count / tallest, 0.6), count
        )
        for at, count in enumerate(counts)
    )
    width = 9 * len(counts) - 2
    return Markup(
        '<svg class="bars" viewBox="0 0 {w} 30" width="{w}" height="30" role="img" '
        'aria-label="{said}">{bars}</svg>'
    ).format(w=width, said=", ".join(map(str, counts)), bars=drawn)
