"""A report as the page shows it: the map, the groups, and the documents of one of them."""

from collections.abc import Callable, Sequence

from markupsafe import Markup

from index.records import StoredDocument
from rag.records import Comparison, Report, ReportCluster
from rag.report_page import bars
from rag.report_svg import hue
from rag.topics_labels import telling_sentence
from ui import map_picture, render
from ui.locale import Texts
from ui.markdown import marks_of, shown

_MEMBERS = 8  # of a group, shown before the others fold away: page.css says the same
_READ = 30  # documents whose telling sentence is looked for


def page(made: Report | None, words: Texts) -> Markup:
    """A report at a glance, or what to do to get one."""
    if made is None:
        return render.notice(words("report.empty.title"), words("report.empty.lead"))
    if not made.n_documents:
        return render.notice(words("report.nothing.title"), words("report.nothing.lead"))
    return Markup('<h2 class="a-found">{}</h2>{}{}{}{}').format(
        _summary(made, words),
        render.joined(
            Markup('<p class="a-notes">{}</p>').format(note) for note in _notes(made, words)
        ),
        _overview(made, words),
        _themes(made, words),
        "" if made.comparison is None else _compared(made.comparison, words),
    )


def _notes(made: Report, words: Texts) -> Markup:
    said = (words(f"report.note.{each.kind}", **each.values) for each in made.remarks)
    return render.joined(Markup('<p class="a-notes">{}</p>').format(note) for note in said)


def cards(made: Report | None, words: Texts) -> Markup:
    """The groups, each with its words and its documents."""
    if made is None:
        return Markup("")
    return Markup('<div class="a-groups">{}</div>').format(
        render.joined(_group(cluster, made, words) for cluster in made.clusters)
    )


def detail(made: Report, key: int, text_of: Callable[[int], str], words: Texts) -> Markup:
    """The documents of a group, nearest to its middle first, each with a sentence that tells.

    Args:
        made: the report
        key: id of the group; 0 for those in none
        text_of: of a document, by id
    """
    if key > len(made.clusters):
        return Markup("")
    group = made.clusters[key - 1] if key else None
    rows = made.outliers if group is None else group.documents
    named = () if group is None else group.words
    return Markup(
        '<section class="a-detail"><h2>{}</h2><p class="a-notes">{}</p><ol>{}</ol>{}</section>'
    ).format(
        words("report.outliers") if group is None else f"{group.id} · {group.label}",
        words("report.detail.lead"),
        render.joined(_member(row, text_of(row.id), named) for row in rows[:_READ]),
        Markup('<p class="a-notes">{}</p>').format(
            words("report.detail.more", n=f"{len(rows) - _READ:,}")
        )
        if len(rows) > _READ
        else "",
    )


def _member(row: StoredDocument, text: str, named: Sequence[str]) -> Markup:
    said = telling_sentence(text, named) if named else ""
    return Markup('<li><strong title="{}">{}</strong>{}</li>').format(
        row.path,
        row.title,
        Markup("<blockquote>{}</blockquote>").format(_unmarked(said, row.media_type))
        if said
        else "",
    )


def _summary(made: Report, words: Texts) -> str:
    said = words(
        "report.summary",
        documents=words.count("documents", made.n_documents),
        groups=words.count("groups", len(made.clusters)),
    )
    if made.unclustered:
        said += " · " + words("report.left_out", n=f"{made.unclustered:,}")
    if (separation := made.metrics.get("silhouette")) is not None:
        said += " · " + words("report.separation", value=f"{separation:.2f}")
    return said


def _overview(made: Report, words: Texts) -> Markup:
    """The map beside the list of groups."""
    picture = map_picture.drawn(made, words)
    if not picture:
        return Markup("")
    lines = [
        Markup(
            '<li><button type="button" data-pick="{id}" aria-pressed="false" title="{only}">'
            '<span class="m-swatch" style="--h:{hue}"></span><span class="a-cut">{id} · {label}'
            "</span><small>{share} %</small></button></li>"
        ).format(
            id=each.id,
            hue=hue(each.id),
            label=each.label,
            share=f"{each.share_pct:.1f}",
            only=words("report.only", n=each.id),
        )
        for each in made.clusters
    ]
    if made.unclustered:
        lines.append(
            Markup(
                '<li><button type="button" data-pick="0" aria-pressed="false">'
                '<span class="m-swatch a-none-swatch"></span><span class="a-cut">{}</span>'
                "<small>{} %</small></button></li>"
            ).format(words("report.outliers"), f"{made.unclustered_pct:.1f}")
        )
    return Markup('<div class="a-overview">{}<ol class="a-legend">{}</ol></div>').format(
        picture, render.joined(lines)
    )


def _themes(made: Report, words: Texts) -> Markup:
    if not made.themes:
        return Markup("")
    return Markup('<h3 class="a-small">{}</h3><ul class="a-themes">{}</ul>').format(
        words("report.themes"),
        render.joined(
            Markup("<li><strong>{}</strong><small>{}</small></li>").format(
                theme.label,
                words(
                    "report.theme",
                    share=f"{theme.share_pct:.1f}",
                    groups=", ".join(map(str, theme.clusters)),
                ),
            )
            for theme in made.themes
        ),
    )


def _compared(found: Comparison, words: Texts) -> Markup:
    changes = {
        "new": words("report.change.new"),
        "grown": words("report.change.grown"),
        "shrunk": words("report.change.shrunk"),
        "same": words("report.change.same"),
        "gone": words("report.change.gone"),
    }
    return Markup(
        '<h3 class="a-small">{}</h3><p class="a-notes">{}</p><ul class="a-changes">{}</ul>'
    ).format(
        words("report.compared"),
        words("report.compared.lead", added=f"{found.added:,}", removed=f"{found.removed:,}"),
        render.joined(
            Markup('<li><span class="a-badge">{}</span> {} <small>{} → {}</small></li>').format(
                changes[each.change], each.label, f"{each.old_size:,}", f"{each.size:,}"
            )
            for each in found.changes
        ),
    )


def _group(cluster: ReportCluster, made: Report, words: Texts) -> Markup:
    return Markup(
        '<section class="a-group"><header><h3>{}</h3><small>{}</small></header>'
        '<ul class="a-words">{}</ul>{}{}<ul class="a-members">{}</ul>{}{}</section>'
    ).format(
        cluster.label,
        words.count("documents", len(cluster.documents)),
        render.joined(Markup("<li>{}</li>").format(word) for word in cluster.words),
        render.joined(
            Markup("<blockquote>{}</blockquote>").format(_quoted(sentence, cluster))
            for sentence in cluster.representative[:1]
        ),
        _over_time(cluster, made, words),
        render.joined(
            Markup('<li class="a-cut" title="{path}">{title}</li>').format(
                path=row.path, title=row.title
            )
            for row in cluster.documents
        ),
        render.unfolding(words("more.documents", n=len(cluster.documents)), words)
        if len(cluster.documents) > _MEMBERS
        else "",
        Markup('<p><button type="button" class="a-link" data-send="{}">{}</button></p>').format(
            cluster.id, words("report.open")
        ),
    )


def _over_time(cluster: ReportCluster, made: Report, words: Texts) -> Markup:
    if not made.periods:
        return Markup("")
    return Markup('<p class="a-time" style="--h:{}">{}<small>{}</small></p>').format(
        hue(cluster.id),
        bars(cluster.over_time),
        words("report.time", first=made.periods[0], last=made.periods[-1]),
    )


def _quoted(sentence: str, cluster: ReportCluster) -> str:
    """A sentence of one of the documents, without marks where all of them are of the same kind."""
    kinds = {row.media_type for row in cluster.documents}
    return _unmarked(sentence, kinds.pop()) if len(kinds) == 1 else render.flowed(sentence)


def _unmarked(sentence: str, media_type: str) -> str:
    return shown(render.flowed(sentence), 0, len(sentence), marks_of(sentence, media_type))
