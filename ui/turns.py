"""A conversation's turns, and how they look: question, answer, markers, sources."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from rag.records import Answer, Citation
from ui import certificate, render
from ui.judging import thumbs
from ui.locale import Texts
from ui.markdown import marks_of, shown

_WAITED = ("total", "answer", "certificates")  # parts of an answer's time


@dataclass(frozen=True, slots=True)
class Turn:
    """A question and what came of it: an answer, the part before a stop, or a failure."""

    question: str
    answer: Answer | None = None
    surroundings: tuple[str | None, ...] = ()  # the text each citation stands in; None: gone
    pieces: tuple[str, ...] = ()  # as they were streamed, where the answer did not come to its end
    failure: str | None = None
    pending: int = 0  # passages that were found by their words only when it was answered
    learns: bool = False  # what is thought of its sources is remembered

    @property
    def settled(self) -> bool:
        return self.answer is not None or self.failure is not None


def conversation(turns: Sequence[Turn], texts: Texts) -> Markup:
    return render.joined(_turn(number, turn, texts) for number, turn in enumerate(turns, start=1))


def under_way(number: int, turn: Turn, texts: Texts) -> Markup:
    """The turn of a conversation whose answer is still coming."""
    wait = render.waiting(texts("ask.writing" if turn.pieces else "ask.reading"))
    body = render.joined([*_paragraphs(_streamed(turn.pieces)), wait])
    return _framed(number, turn.question, body)


def _turn(number: int, turn: Turn, texts: Texts) -> Markup:
    if turn.failure is not None:
        failure = render.failure(turn.failure, texts)
        body = render.joined([*_paragraphs(_streamed(turn.pieces)), failure])
    elif turn.answer is not None:
        body = _answered(number, turn, turn.answer, texts)
        body += render.pending(turn.pending, texts)
    else:
        note = texts("ask.stopped" if turn.pieces else "ask.nothing")
        body = render.joined([*_paragraphs(_streamed(turn.pieces)), _notes([note])])
    return _framed(number, turn.question, body, asked=_asked(turn))


def _asked(turn: Turn) -> str | None:
    """What thumbs and opened sources are remembered for: the question that was looked for."""
    if not turn.learns or (turn.answer is not None and turn.answer.kind != "lookup"):
        return None
    return (turn.answer.query if turn.answer is not None else None) or turn.question


def _framed(number: int, question: str, body: Markup, *, asked: str | None = None) -> Markup:
    remembered = "" if asked is None else Markup(' data-asked="{}"').format(asked)
    return Markup(
        '<article class="a-turn" data-turn="{}"{}><h2 class="a-question">{}</h2>'
        '<div class="a-answer">{}</div></article>'
    ).format(number, remembered, question, body)


def _streamed(pieces: Sequence[str]) -> list[str]:
    """Paragraphs of a text that is still coming: a piece that begins with a line end opens one.

    Other line ends belong to quotations, and only wrap them.
    """
    paragraphs = [""]
    for piece in pieces:
        if piece.startswith("\n"):
            paragraphs.append("")
        paragraphs[-1] += piece
    return paragraphs


def _paragraphs(texts: Sequence[str]) -> Iterator[Markup]:
    for text in texts:
        if text.strip():
            yield Markup("<p>{}</p>").format(text.strip())


def _answered(number: int, turn: Turn, answer: Answer, texts: Texts) -> Markup:
    surroundings = turn.surroundings
    notes = list(answer.notes)
    if answer.query is not None:
        notes = [texts("ask.query", query=answer.query), *notes]
    if answer.abstained:
        body = Markup('<p class="a-declined">{}</p>').format(answer.answer)
        hint = [texts("ask.declined")] if answer.kind == "lookup" else []
        return body + _notes([*notes, *hint])
    keys = [f"a-source-{number}-{place}" for place in range(1, len(answer.citations) + 1)]
    return render.joined(
        [
            claims(answer, keys, texts, surroundings),
            _notes(notes),
            _chips(answer, keys, texts),
            _origin(answer, texts),
            thumbs(answer, texts) if _asked(turn) and answer.citations else Markup(""),
            *(
                _source(key, citation, answer, text, texts)
                for key, citation, text in zip(keys, answer.citations, surroundings, strict=True)
            ),
        ]
    )


def claims(
    answer: Answer, keys: Sequence[str], texts: Texts, surroundings: Sequence[str | None]
) -> Markup:
    """The answer's text: behind each sentence the buttons of its sources, or that it has none.

    Args:
        keys: the element that each citation's button opens
        surroundings: the text that each citation stands in
    """
    words = {
        (citation.answer_start, citation.answer_end): _said(answer, citation, text)
        for citation, text in zip(answer.citations, surroundings, strict=True)
    }
    pieces, at = [], 0
    for span in sorted(words.keys() | set(answer.unsupported)):
        said = words.get(span, answer.answer[slice(*span)])
        pieces += [_between(answer.answer[at : span[0]]), _claim(answer, span, said, keys, texts)]
        at = span[1]
    return Markup("<p>{}</p>").format(render.joined([*pieces, _between(answer.answer[at:])]))


def _between(text: str) -> Markup:
    """Text that is no claim; a line end in it begins a paragraph."""
    return Markup("</p><p>").join(text.split("\n"))


def _said(answer: Answer, citation: Citation, text: str | None) -> str:
    """The sentence of the answer that a citation bears out, without marks that it quotes."""
    said = answer.answer[citation.answer_start : citation.answer_end]
    start, end, kind = citation.start, citation.end, citation.document.media_type
    if text is None or text[start:end] != said:  # its own words, or what is left of the document
        return shown(said, 0, len(said), marks_of(said, kind))
    return shown(text, start, end, marks_of(text, kind))


def _claim(
    answer: Answer, span: render.Span, said: str, keys: Sequence[str], texts: Texts
) -> Markup:
    if span in answer.unsupported:
        return Markup(
            '<span class="a-unsupported">{}</span> <span class="a-flag">{}</span>'
        ).format(said, texts("ask.unsupported"))
    buttons = [
        _button(key, citation, texts)
        for key, citation in zip(keys, answer.citations, strict=True)
        if (citation.answer_start, citation.answer_end) == span
    ]
    return Markup('<span class="a-claim">{}</span>{}').format(said, render.joined(buttons))


def _button(key: str, citation: Citation, texts: Texts) -> Markup:
    label = texts("ask.cite", marker=citation.marker, title=citation.document.title)
    return Markup(
        '<button type="button" class="a-cite" data-source="{}" data-chunk="{}" '
        'aria-label="{}" title="{}">{}</button>'
    ).format(key, citation.chunk_id, label, citation.document.title, citation.marker)


def _chips(answer: Answer, keys: Sequence[str], texts: Texts) -> Markup:
    """One button a source, with its title."""
    chips = {}
    for key, citation in zip(keys, answer.citations, strict=True):
        if citation.marker in chips:
            continue
        page = "" if citation.page is None else texts("page", n=citation.page)
        chips[citation.marker] = Markup(
            '<li><button type="button" class="a-chip" data-source="{}" data-chunk="{}" title="{}">'
            '<b>{}</b><span class="a-cut">{}</span><small>{}</small></button></li>'
        ).format(
            key,
            citation.chunk_id,
            citation.document.title,
            citation.marker,
            citation.document.title,
            page,
        )
    if not chips:
        return Markup("")
    return Markup('<h3 class="a-small">{}</h3><ul class="a-chips">{}</ul>').format(
        texts("ask.sources"), render.joined(chips[marker] for marker in sorted(chips))
    )


def _notes(notes: Sequence[str]) -> Markup:
    if not notes:
        return Markup("")
    lines = render.joined(Markup("<li>{}</li>").format(note) for note in notes)
    return Markup('<ul class="a-notes">{}</ul>').format(lines)


def _origin(answer: Answer, texts: Texts) -> Markup:
    """How the answer came about: quoted or written, and in what time."""
    if answer.kind in ("catalog", "smalltalk"):
        return Markup("")
    how = texts("ask.quoted")
    if answer.mode == "generate":
        how = texts("ask.written", model=answer.models["generator"])
    took = sum(answer.timings_ms.get(part, 0.0) for part in _WAITED) / 1000
    return Markup('<p class="a-origin">{} · {}</p>').format(
        how, texts("ask.seconds", seconds=f"{max(took, 0.1):.1f}")
    )


def _source(key: str, citation: Citation, answer: Answer, text: str | None, texts: Texts) -> Markup:
    """What the source panel shows when a button with this key is pressed."""
    chunk = next(hit.chunk for hit in answer.passages if hit.chunk.id == citation.chunk_id)
    start, end, kind = citation.start, citation.end, citation.document.media_type
    if text is None:
        start, end = start - chunk.start, end - chunk.start
        within = render.passage(chunk.text, start, end, marks_of(chunk.text, kind))
        within += _notes([texts("source.gone")])
    else:
        within = render.passage(text, start, end, marks_of(text, kind))
    within += certificate.line(citation.certificate, texts)
    return Markup(
        '<div hidden class="a-stored" id="{}"><header><b>{}</b><h3>{}</h3>'
        '<button type="button" class="a-close" data-close aria-label="{}"></button>{}</header>'
        "{}</div>"
    ).format(
        key,
        citation.marker,
        citation.document.title,
        texts("source.close"),
        render.place(citation.document, citation.page, chunk.heading, texts),
        within,
    )
