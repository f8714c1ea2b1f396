"""Thumbs under an answer: what page.js sends to the service of the passages that it cites."""

import json

from markupsafe import Markup

from rag.conversations import LONGEST_NOTE, Thumb
from rag.records import Answer
from ui import render
from ui.locale import Texts

_THUMB = Markup(
    '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M7 10.5v9M7 10.5l4.2-7.1a1.9 1.9 0 0 1 '
    "3.5 1.4L13.9 9h4.6a2 2 0 0 1 2 2.4l-1.3 6.5a2 2 0 0 1-2 1.6H4.6a1 1 0 0 1-1-1v-7a1 1 0 0 1 "
    '1-1z"/></svg>'
)


def thumbs(
    answer: Answer, texts: Texts, *, number: int = 1, thumb: Thumb | None = None, note: str = ""
) -> Markup:
    """Two buttons that stay pressed, a line to say more, and where it is said that it was kept.

    Args:
        answer: that is judged
        texts: of the page
        number: of the turn in its conversation
        thumb: what was thought of it before
        note: what was said of it before
    """
    chunks = sorted({citation.chunk_id for citation in answer.citations})
    labels = {"up": texts("judge.up"), "down": texts("judge.down")}
    buttons = render.joined(
        Markup(
            '<button type="button" class="a-thumb" data-judge="{}" aria-pressed="{}" '
            'aria-label="{}" title="{}">{}</button>'
        ).format(kind, "true" if kind == thumb else "false", label, label, _THUMB)
        for kind, label in labels.items()
    )
    return Markup(
        '<div class="a-judge" role="group" aria-label="{label}" data-chunks="{chunks}" '
        'data-turn="{number}" data-thumb="{thumb}" data-kept="{kept}" data-failed="{failed}">'
        '{buttons}<input type="text" class="a-note" {hidden} value="{note}" maxlength="{longest}" '
        'aria-label="{hint}" placeholder="{hint}" autocomplete="off">'
        '<span role="status"></span></div>'
    ).format(
        label=texts("judge.label"),
        chunks=json.dumps(chunks),
        number=number,
        thumb=thumb or "",
        kept=texts("judge.kept"),
        failed=texts("judge.failed"),
        buttons=buttons,
        hidden="" if thumb else "hidden",
        note=note,
        longest=LONGEST_NOTE,
        hint=texts("judge.note"),
    )
