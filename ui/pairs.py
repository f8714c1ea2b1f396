"""Documents that are alike, with the passages that match side by side, and duplicates."""

from collections.abc import Sequence

from markupsafe import Markup

from index import StoredChunk
from rag.duplicates import Copy, Duplicates, Group
from rag.similar import Aligned, Passage, Similar
from ui import render
from ui.locale import Texts
from ui.markdown import marks_of, shown

_SHORT = 700  # characters of a passage in a pair
_GROUPS = 100  # that are shown; the files have all
_DIFFERENCES = 6


def similar(title: str, found: Similar, words: Texts) -> Markup:
    """Each document with how alike it is, and which of its passages match which."""
    if not found.hits:
        return render.notice(words("search.none.title"), words("search.similar.none", title=title))
    cards = render.joined(
        _card(hit.chunk, hit.score, pairs, words)
        for hit, pairs in zip(found.hits, found.aligned, strict=True)
    )
    return Markup(
        '<h2 class="a-found">{}</h2><ol class="a-hits">{}</ol><p class="a-explained">{}</p>'
    ).format(
        words.count("search.similar", len(found.hits), title=title),
        cards,
        words("similar.explained"),
    )


def duplicates(found: Duplicates, words: Texts) -> Markup:
    """Groups of documents that say nearly the same, and what differs in them."""
    if not found.groups:
        return render.notice(
            words("similar.unique.title"),
            words("similar.unique.lead", documents=words.count("documents", found.compared)),
        )
    n = sum(len(group.copies) for group in found.groups)
    left = len(found.groups) - _GROUPS
    return Markup('<h2 class="a-found">{}</h2>{}<p class="a-notes">{}</p>').format(
        words.count("similar.copies", n, groups=words.count("groups", len(found.groups))),
        render.joined(_group(group, words) for group in found.groups[:_GROUPS]),
        words("every.more", n=f"{left:,}") if left > 0 else "",
    )


def _card(best: StoredChunk, score: float, pairs: Sequence[Aligned], words: Texts) -> Markup:
    document = best.document
    return Markup(
        '<li class="a-hit"><div class="a-pairs-head"><h3 class="a-cut" title="{title}">{title}</h3>'
        '<dl class="a-scores"><div><dt>{likeness}</dt><dd><i class="a-bar">'
        '<i style="width:{width}%"></i></i>{score}</dd></div></dl></div>{place}'
        '<div class="a-pairs">{pairs}</div></li>'
    ).format(
        title=document.title,
        likeness=words("search.likeness"),
        width=round(100 * min(1.0, max(0.0, score))),
        score=f"{score:.2f}",
        place=render.place(document, None, (), words),
        pairs=render.joined(_pair(pair, words) for pair in pairs),
    )


def _pair(pair: Aligned, words: Texts) -> Markup:
    return Markup('<div class="a-pair">{}{}</div>').format(
        _side(words("similar.here"), pair.asked, "", words, f"{pair.cosine:.2f}"),
        _side(words("similar.there"), pair.other, pair.other.document.media_type, words, ""),
    )


def _side(
    name: str, of: Passage | StoredChunk, media_type: str, words: Texts, score: str
) -> Markup:
    text = of.text.strip()
    flowed = render.flowed(text)
    plain = shown(flowed, 0, len(flowed), marks_of(text, media_type) if media_type else ())
    cut = plain if len(plain) <= _SHORT else plain[:_SHORT].rsplit(" ", 1)[0] + " …"
    parts = [name, *(() if of.page is None else (words("page", n=of.page),))]
    parts += [score] if score else []
    return Markup('<div><p class="a-small">{}</p><div class="a-pair-text">{}</div></div>').format(
        " · ".join(parts), render.spaced(cut)
    )


def _group(group: Group, words: Texts) -> Markup:
    return Markup(
        '<section class="a-twins"><h3 class="a-cut" title="{title}">{title}</h3>{place}'
        "<ul>{copies}</ul></section>"
    ).format(
        title=group.first.title,
        place=render.place(group.first, None, (), words),
        copies=render.joined(_copy(copy, words) for copy in group.copies),
    )


def _copy(copy: Copy, words: Texts) -> Markup:
    likeness = (
        words("similar.same") if copy.same_file else words("similar.share", share=_share(copy))
    )
    told = copy.differences[:_DIFFERENCES]
    more = len(copy.differences) - len(told) + copy.more
    differing = render.joined(
        Markup("<div>{}{}</div>").format(_removed(each.before, words), _added(each.after, words))
        for each in told
    )
    return Markup(
        '<li><p><strong class="a-cut">{}</strong> <span class="a-badge">{}</span></p>'
        '<small title="{}">{}</small>{}{}</li>'
    ).format(
        copy.document.title,
        likeness,
        copy.document.path,
        render.file_name(copy.document.path),
        Markup('<div class="a-edits">{}</div>').format(differing) if told else "",
        Markup('<p class="a-notes">{}</p>').format(words("similar.more", n=more)) if more else "",
    )


def _share(copy: Copy) -> str:
    """Never 100 % of what is not the same."""
    return f"{min(copy.likeness, 0.999):.1%}" if copy.differences else f"{copy.likeness:.0%}"


def _removed(sentence: str, words: Texts) -> Markup:
    if not sentence:
        return Markup("")
    return Markup('<p><span class="a-small">{}</span> <del>{}</del></p>').format(
        words("similar.first"), " ".join(sentence.split())
    )


def _added(sentence: str, words: Texts) -> Markup:
    if not sentence:
        return Markup("")
    return Markup('<p><span class="a-small">{}</span> <ins>{}</ins></p>').format(
        words("similar.copy"), " ".join(sentence.split())
    )
