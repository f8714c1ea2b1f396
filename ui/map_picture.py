"""The map of a report on the page: the same picture and script as in the report's file."""

from markupsafe import Markup

from rag import report_svg
from rag.records import Report
from ui.locale import Texts
from ui.theme import CLICKS

_WORDS = {
    "map.about": "report.map.about",
    "map.closer": "report.map.closer",
    "map.further": "report.map.further",
    "map.whole": "report.map.whole",
    "map.passages": "report.map.passages",
    "map.hint": "report.map.hint",
    "outliers": "report.outliers",
}


def answering() -> str:
    """The script of the component that a map stands in: a dot sends its group, as a button does."""
    return (
        f"{CLICKS}{report_svg.script()}"
        "attestMap(element);"
        "element.addEventListener('dot', (event) => "
        "trigger('click', {title: '', value: String(event.detail.cluster)}));"
    )


def looks() -> str:
    """What the page's head needs for maps."""
    return f"<style>{report_svg.style()}</style>"


def drawn(report: Report, words: Texts) -> Markup:
    """The map; nothing where there are too few dots."""
    return report_svg.drawn(report, lambda key: words(_WORDS[key]))
