"""What the library holds, in numbers, and what an operator should know about its encoder."""

import shlex
from collections.abc import Iterator

from markupsafe import Markup, escape

from rag.records import LibraryStatus
from ui import render
from ui.locale import Texts


def facts(status: LibraryStatus, words: Texts) -> Markup:
    """Documents, passages, those without vectors, the encoder; below them what to see to."""
    rows = {
        "library.facts.documents": f"{sum(status.documents.values()):,}",
        "library.facts.passages": f"{status.chunks:,}",
        "library.facts.pending": f"{status.pending:,}",
        "library.facts.size": render.size(status.size_bytes),
        "library.facts.encoder": status.encoder,
        "library.facts.home": status.home,
    }
    numbers = render.joined(
        Markup('<div><dt>{}</dt><dd class="a-cut" title="{}">{}</dd></div>').format(
            words(key), value, value
        )
        for key, value in rows.items()
    )
    return Markup('<dl class="a-facts">{}</dl>{}').format(
        numbers, render.joined(_advice(status, words))
    )


def _advice(status: LibraryStatus, words: Texts) -> Iterator[Markup]:
    wanted = status.wanted_encoder
    moves = Markup("<code>attest reembed {}</code>").format(shlex.quote(wanted or "MODEL"))
    if wanted not in (None, status.encoder):
        yield _box(
            "library.other_encoder", words, wanted=wanted, encoder=status.encoder, command=moves
        )
    if status.former:
        tidies = Markup("<code>attest rebuild</code>")
        yield _box("library.moving", words, n=f"{status.former:,}", command=moves, rebuild=tidies)


def _box(key: str, words: Texts, **values: object) -> Markup:
    """Words with markup among their values."""
    text = escape(words.entries[key]).format(**values)
    return Markup('<p class="a-advice" role="note">{}</p>').format(text)
