"""Thumbs under an answer: what page.js sends to the service of the passages that it cites."""

import json

from markupsafe import Markup

from rag.records import Answer
from ui import render
from ui.locale import Texts

_THUMB = Markup(
    '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M7 10.5v9M7 10.5l4.2-7.1a1.9 1.9 0 0 1 '
    "3.5 1.4L13.9 9h4.6a2 2 0 0 1 2 2.4l-1.3 6.5a2 2 0 0 1-2 1.6H4.6a1 1 0 0 1-1-1v-7a1 1 0 0 1 "
    '1-1z"/></svg>'
)


def thumbs(answer: Answer, texts: Texts) -> Markup:
    """Two buttons that stay pressed, and where it is said that it was kept."""
    chunks = sorted({citation.chunk_id for citation in answer.citations})
    labels = {"up": texts("judge.up"), "down": texts("judge.down")}
    buttons = render.joined(
        Markup(
            '<button type="button" class="a-thumb" data-judge="{}" aria-pressed="false" '
            'aria-label="{}" title="{}">{}</button>'
        ).format(kind, label, label, _THUMB)
        for kind, label in labels.items()
    )
    return Markup(
        '<div class="a-judge" role="group" aria-label="{}" data-chunks="{}" data-kept="{}" '
        'data-failed="{}">{}<span role="status"></span></div>'
    ).format(
        texts("judge.label"),
        json.dumps(chunks),
        texts("judge.kept"),
        texts("judge.failed"),
        buttons,
    )
