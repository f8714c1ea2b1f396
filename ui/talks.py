"""The list of conversations beside the chat: found, opened, named, exported and deleted there."""

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby

from markupsafe import Markup

from index.records import StoredConversation
from rag.conversations import LONGEST_TITLE
from ui import render
from ui.locale import Texts

_WEEK = 7  # days
_BAR = Markup(
    '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M4 6h16M4 12h16M4 18h10"/></svg>'
)


def drawer_button(title: str, words: Texts) -> Markup:
    """What opens the list where it does not stand beside the chat, with the title of what is open.

    Args:
        title: of the conversation; "" before its first question
        words: of the page
    """
    return Markup(
        '<div class="a-talk-bar"><button type="button" class="a-quiet" data-drawer '
        'aria-expanded="false" aria-controls="a-talks">{icon}<span>{all}</span></button>'
        '<span class="a-cut" title="{title}">{title}</span></div>'
    ).format(icon=_BAR, all=words("talks.title"), title=title)


def listed(
    found: Sequence[StoredConversation],
    opened: str | None,
    words: Texts,
    *,
    wanted: str = "",
    kept: bool = True,
) -> Markup:
    """The conversations by when they last changed.

    Args:
        found: the last changed first
        opened: the uid of the one in the chat
        words: of the page
        wanted: what they were looked for by
        kept: whether new ones are stored
    """
    off = (
        Markup("") if kept else Markup('<p class="a-talks-note">{}</p>').format(words("talks.off"))
    )
    if not found:
        if kept or wanted.strip():
            said = words("talks.none", wanted=wanted.strip()) if wanted.strip() else ""
            said = said or words("talks.empty")
            return Markup('{}<p class="a-talks-note">{}</p>').format(off, said)
        return off
    groups = groupby(found, key=lambda each: _when(each.changed_at))
    lists = render.joined(
        Markup('<h3 class="a-small">{}</h3><ul>{}</ul>').format(
            words(f"talks.{when}"), render.joined(_row(each, opened, words) for each in some)
        )
        for when, some in groups
    )
    return Markup('<nav aria-label="{}">{}{}</nav>{}').format(
        words("talks.title"), off, lists, _clear(words)
    )


def _when(moment: str) -> str:
    changed = datetime.fromisoformat(moment).astimezone()
    days = (datetime.now().astimezone().date() - changed.date()).days
    return "today" if days <= 0 else "week" if days < _WEEK else "earlier"


def _row(each: StoredConversation, opened: str | None, words: Texts) -> Markup:
    current = Markup(' aria-current="true"') if each.uid == opened else ""
    return Markup(
        '<li class="a-talk"><button type="button" class="a-talk-open" data-send="{uid}" '
        'data-do="open" title="{title}"{current}><span class="a-cut">{title}</span></button>'
        '<input type="text" hidden value="{title}" data-send="{uid}" data-do="rename" '
        'maxlength="{longest}" aria-label="{name}" autocomplete="off">{menu}</li>'
    ).format(
        uid=each.uid,
        title=each.title,
        current=current,
        longest=LONGEST_TITLE,
        name=words("talks.name"),
        menu=_menu(each, words),
    )


def _menu(each: StoredConversation, words: Texts) -> Markup:
    """What can be done with a conversation; deleting it asks once more."""
    address = f"page/conversations/{each.uid}"
    return Markup(
        '<details class="a-menu"><summary aria-label="{more}" title="{more}"><i></i></summary>'
        '<div><button type="button" data-rename>{rename}</button>'
        '<a href="{address}.md" download>{markdown}</a><a href="{address}.json" download>{json}</a>'
        '<span class="a-first"><button type="button" data-confirm>{remove}</button></span>'
        '<span class="a-confirm" hidden>{sure}<button type="button" data-keep>{keep}</button>'
        '<button type="button" class="a-danger" data-send="{uid}" data-do="delete">{remove}'
        "</button></span></div></details>"
    ).format(
        more=words("talks.more", title=each.title),
        rename=words("talks.rename"),
        address=address,
        markdown=words("talks.markdown"),
        json=words("talks.json"),
        remove=words("talks.delete"),
        sure=words("talks.sure"),
        keep=words("library.keep"),
        uid=each.uid,
    )


def _clear(words: Texts) -> Markup:
    return Markup(
        '<div class="a-talks-all"><span class="a-first"><button type="button" class="a-link" '
        'data-confirm>{all}</button></span><span class="a-confirm" hidden>{sure} '
        '<button type="button" class="a-link" data-keep>{keep}</button> <button type="button" '
        'class="a-danger" data-send="*" data-do="clear">{remove}</button></span></div>'
    ).format(
        all=words("talks.clear"),
        sure=words("talks.clear.sure"),
        keep=words("library.keep"),
        remove=words("talks.delete"),
    )
