"""The map of a report as a picture that is drawn without a script, and told more by one."""

import json
from collections.abc import Callable, Sequence
from importlib import resources

from markupsafe import Markup

from rag.records import Report, ReportPoint

WIDTH, HEIGHT, _MARGIN = 1000, 560, 26
_MANY = 400  # dots, above which they are drawn smaller
_GOLDEN = 137.508  # degrees between the hues of neighbours: no two of a few are alike

Words = Callable[..., str]

_FRAME = Markup(
    '<div class="m-map{many}" data-dots="{dots}">'
    '<svg viewBox="0 0 {w} {h}" data-whole="0 0 {w} {h}" role="img" aria-label="{about}">'
    '{paths}{names}<circle class="m-spot" r="0"/></svg>'
    '<div class="m-tip" hidden></div>'
    '<div class="m-tools">'
    '<button type="button" data-look="0.6" aria-label="{closer}">+</button>'
    '<button type="button" data-look="1.6667" aria-label="{further}">−</button>'
    '<button type="button" data-look="0">{whole}</button>{passages}<span>{hint}</span></div>'
    "<div hidden>{labels}</div></div>"
)


def script() -> str:
    """What makes maps answer: a function `attestMap(container)`."""
    return _template("report_map.js")


def style() -> str:
    """How maps look; colours are --m-ink, --m-soft, --m-line, --m-wash, --m-card, --m-accent."""
    return _template("report_map.css")


def hue(cluster: int) -> str:
    """The colour of a cluster, as degrees on the wheel."""
    return f"{(215 + (cluster - 1) * _GOLDEN) % 360:.0f}"


def drawn(report: Report, words: Words) -> Markup:
    """The map; nothing where there are too few dots for one.

    Args:
        report: with its points
        words: of the reader's language, by key
    """
    points = _scaled(report.points)
    if len(points) < 3:
        return Markup("")
    n_documents = sum(point.chunk_id is None for point in points)
    passages = len(points) - n_documents
    by_passages = not n_documents
    clusters = sorted({point.cluster for point in points})
    return _FRAME.format(
        many=(" m-many" if max(n_documents, passages * by_passages) > _MANY else "")
        + (" m-with-passages" if by_passages else ""),
        dots=json.dumps([_dot(point) for point in points], ensure_ascii=False),
        w=WIDTH,
        h=HEIGHT,
        about=words("map.about"),
        paths=Markup("").join(
            _path(points, cluster, kind) for kind in (True, False) for cluster in clusters
        ),
        names=Markup("").join(_number(points, cluster) for cluster in clusters if cluster),
        closer=words("map.closer"),
        further=words("map.further"),
        whole=words("map.whole"),
        passages=_switch(words) if passages and not by_passages else "",
        hint=words("map.hint"),
        labels=Markup("").join(_name(report, cluster, words) for cluster in clusters),
    )


def _dot(point: ReportPoint) -> list[object]:
    passage = int(point.chunk_id is not None)
    return [point.x, point.y, point.cluster, passage, point.text, point.document_id]


def _scaled(points: Sequence[ReportPoint]) -> list[ReportPoint]:
    """The same within the picture, in whole tenths."""
    if not points:
        return []
    xs, ys = [point.x for point in points], [point.y for point in points]
    wide, high = max(xs) - min(xs), max(ys) - min(ys)
    scale = min((WIDTH - 2 * _MARGIN) / max(wide, 1e-9), (HEIGHT - 2 * _MARGIN) / max(high, 1e-9))
    left, top = (WIDTH - wide * scale) / 2, (HEIGHT - high * scale) / 2
    return [
        ReportPoint(
            point.document_id,
            point.chunk_id,
            point.cluster,
            round(left + (point.x - min(xs)) * scale, 1),
            round(top + (point.y - min(ys)) * scale, 1),
            point.text,
        )
        for point in points
    ]


def _path(points: Sequence[ReportPoint], cluster: int, passages: bool) -> Markup:
    """All dots of a cluster as one line of no length each, which is round: light, however many."""
    own = [
        f"M{point.x:g} {point.y:g}h0"
        for point in points
        if point.cluster == cluster and (point.chunk_id is not None) == passages
    ]
    if not own:
        return Markup("")
    return Markup('<path class="{} {}" style="--h:{}" data-group="{}" d="{}"/>').format(
        "m-passages" if passages else "m-documents",
        "" if cluster else "m-none",
        hue(cluster),
        cluster,
        "".join(own),
    )


def _number(points: Sequence[ReportPoint], cluster: int) -> Markup:
    own = [point for point in points if point.cluster == cluster]
    x, y = (sum(getattr(point, axis) for point in own) / len(own) for axis in "xy")
    return Markup('<text x="{:.0f}" y="{:.0f}">{}</text>').format(x, y, cluster)


def _name(report: Report, cluster: int, words: Words) -> Markup:
    if not cluster:
        return Markup('<i data-name="0">{}</i>').format(words("outliers"))
    label = report.clusters[cluster - 1].label
    return Markup('<i data-name="{}">{} · {}</i>').format(cluster, cluster, label)


def _switch(words: Words) -> Markup:
    return Markup('<label><input type="checkbox" data-passages> {}</label>').format(
        words("map.passages")
    )


def _template(name: str) -> str:
    return resources.files("rag").joinpath(f"templates/{name}").read_text("utf-8")
