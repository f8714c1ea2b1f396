"""The documents of the library as a list: names, state and tags, and what can be done to them."""

from collections.abc import Sequence

from markupsafe import Markup

from index.records import StoredDocument
from ui import render
from ui.locale import Texts
from ui.progress import badge, notes

_MOST_ROWS = 100  # what a browser lays out at each letter typed without a wait
_MOST_TAGS = 8  # of a document, before the others fold away
_KNOWN = "a-known-tags"
_COLUMNS = ("document", "status", "passages", "size", "date")


def listing(documents: Sequence[StoredDocument], wanted: str, words: Texts) -> Markup:
    """The documents that are wanted, the newest first."""
    if not documents:
        return render.notice(words("library.empty.title"), words("library.empty.lead"))
    found = matching(documents, wanted)
    if not found:
        return Markup('<p class="a-none">{}</p>').format(words("library.none", name=wanted.strip()))
    heads = render.joined(
        Markup('<th scope="col">{}</th>').format(words(f"library.{column}")) for column in _COLUMNS
    )
    count = ""
    if len(found) > _MOST_ROWS:
        shown, total = f"{_MOST_ROWS:,}", f"{len(found):,}"
        count = Markup('<p class="a-none">{}</p>').format(
            words("library.more", shown=shown, total=total)
        )
    return Markup(
        '{}<table class="a-table"><thead><tr>{}<th></th></tr></thead><tbody>{}</tbody></table>{}'
    ).format(
        count, heads, render.joined(_row(row, words) for row in found[:_MOST_ROWS]),
        _known(documents),
    )  # fmt: skip


def matching(documents: Sequence[StoredDocument], wanted: str) -> list[StoredDocument]:
    """Those with the words in their title or file name, and with a tag for each #word."""
    terms = render.folded(wanted).split()
    tags = [term for term in terms if term.startswith("#")]
    name = " ".join(term for term in terms if not term.startswith("#"))
    found = [row for row in documents if _is_named(row, name) and _is_tagged(row, tags)]
    return sorted(found, key=lambda row: row.id, reverse=True)


def _is_named(row: StoredDocument, name: str) -> bool:
    return not name or any(
        name in render.folded(each) for each in (row.title, render.file_name(row.path))
    )


def _is_tagged(row: StoredDocument, begun: Sequence[str]) -> bool:
    """Whether each #word begins a tag, or a word of one; a name may have a # too."""
    held = [f" {render.folded(tag)}".replace(" ", " #") for tag in row.tags] if begun else []
    return all(any(f" {start}" in tag for tag in held) or _is_named(row, start) for start in begun)


def _known(documents: Sequence[StoredDocument]) -> Markup:
    """What a new tag may be completed to."""
    tags = sorted({tag for row in documents for tag in row.tags}, key=render.folded)
    options = (Markup('<option value="{}"></option>').format(tag) for tag in tags)
    return Markup('<datalist id="{}">{}</datalist>').format(_KNOWN, render.joined(options))


def _row(row: StoredDocument, words: Texts) -> Markup:
    said = [note for note in (row.reason, *row.warnings) if note]
    state = badge(row.status, words(f"status.{row.status}"))
    waiting = Markup("")
    if row.pending:
        state = badge("pending", words("status.pending"))
        waiting = Markup(" <small>{}</small>").format(words("library.wait", n=f"{row.pending:,}"))
    return Markup(
        '<tr><td class="a-name">{name}'
        '<small class="a-cut" title="{path}">{file}</small>{said}{tags}</td>'
        '<td>{state}</td><td data-label="{passages}">{chunks}{waiting}</td>'
        '<td data-label="{bytes}">{size}</td><td data-label="{dated}">{day}</td>'
        '<td class="a-act">{acts}</td></tr>'
    ).format(
        name=_name(row, words),
        path=row.path,
        file=render.file_name(row.path),
        said=Markup('<small class="a-why">{}</small>').format(notes(said, words)) if said else "",
        tags=_tags(row, words),
        state=state,
        passages=words("library.passages"),
        chunks=f"{row.chunks:,}",
        waiting=waiting,
        bytes=words("library.size"),
        size=render.size(row.size),
        dated=words("library.date"),
        day=render.day(row.modified or row.added),
        acts=_acts(row, words),
    )


def _name(row: StoredDocument, words: Texts) -> Markup:
    """The title; of what could be read, a button that opens it."""
    if row.status not in ("indexed", "duplicate"):
        return Markup('<strong class="a-cut" title="{0}">{0}</strong>').format(row.title)
    return Markup(
        '<button type="button" class="a-open" data-open="{}" aria-label="{}">'
        '<strong class="a-cut" title="{}">{}</strong></button>'
    ).format(row.id, words("library.open.label", title=row.title), row.title, row.title)


def _tags(row: StoredDocument, words: Texts) -> Markup:
    """A document's tags, each with a button that takes it off, and a field for another."""
    tags = [_tag(row, tag, words) for tag in sorted(row.tags, key=render.folded)]
    first, rest = render.joined(tags[:_MOST_TAGS]), Markup("")
    if len(tags) > _MOST_TAGS:
        rest = Markup(
            '<li class="a-rest"><details data-key="tags-{}"><summary>{}</summary>'
            '<ul class="a-tags">{}</ul></details></li>'
        ).format(
            row.id,
            words("library.tags.more", n=len(tags) - _MOST_TAGS),
            render.joined(tags[_MOST_TAGS:]),
        )
    return Markup(
        '<ul class="a-tags" aria-label="{}">{}<li><input type="text" hidden data-send="{}" '
        'data-do="tag" list="{}" maxlength="100" autocomplete="off" aria-label="{}" '
        'placeholder="{}"></li>{}</ul>'
    ).format(
        words("library.tags"),
        first,
        row.id,
        _KNOWN,
        words("library.tag.label", title=row.title),
        words("library.tag.hint"),
        rest,
    )


def _tag(row: StoredDocument, tag: str, words: Texts) -> Markup:
    label = words("library.untag.label", tag=tag, title=row.title)
    return Markup(
        '<li class="a-tag"><span class="a-cut" title="{tag}">{tag}</span><button type="button" '
        'data-send="{id}" data-do="untag" data-tag="{tag}" aria-label="{label}" title="{label}">'
        "</button></li>"
    ).format(tag=tag, id=row.id, label=label)


def _acts(row: StoredDocument, words: Texts) -> Markup:
    """A button that opens the field for a tag, and one that asks once more before it removes."""
    return Markup(
        '<span class="a-first"><button type="button" class="a-link" data-tagging="{id}" '
        'aria-label="{tags}">{tag}</button> '
        '<button type="button" class="a-link" data-send="{id}" data-do="reread" '
        'aria-label="{rereads}">{reread}</button> '
        '<button type="button" class="a-link" data-confirm '
        'aria-label="{removes}">{remove}</button></span>'
        '<span class="a-confirm" hidden>{sure} '
        '<button type="button" class="a-link" data-keep>{keep}</button>'
        '<button type="button" class="a-danger" data-send="{id}" data-do="remove">{remove}</button>'
        "</span>"
    ).format(
        id=row.id,
        tags=words("library.tag.label", title=row.title),
        tag=words("library.tag"),
        reread=words("library.reread"),
        rereads=words("library.reread.label", title=row.title),
        removes=words("library.remove.label", title=row.title),
        remove=words("library.remove"),
        sure=words("library.confirm"),
        keep=words("library.keep"),
    )
