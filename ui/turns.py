"""A conversation's turns, and how they look: question, answer, markers, sources."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from rag.conversation_export import with_citations
from rag.conversations import Kept, Thumb
from rag.pages import MEDIA_TYPE as PDF
from rag.reasons import reason
from rag.records import Answer, Citation, Hit
from rag.strength import Strength, strengths
from ui import certificate, render, why
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
    kept: Kept | None = None  # where it is stored
    thumb: Thumb | None = None
    note: str = ""

    @property
    def settled(self) -> bool:
        return self.answer is not None or self.failure is not None


def conversation(turns: Sequence[Turn], texts: Texts) -> Markup:
    """All turns; the last one can be asked again."""
    return render.joined(
        _turn(number, turn, texts, last=number == len(turns))
        for number, turn in enumerate(turns, start=1)
    )


def under_way(number: int, turn: Turn, texts: Texts) -> Markup:
    """The turn of a conversation whose answer is still coming."""
    wait = render.waiting(texts("ask.writing" if turn.pieces else "ask.reading"))
    body = render.joined([*_paragraphs(_streamed(turn.pieces)), wait])
    return _framed(number, turn.question, body)


def _turn(number: int, turn: Turn, texts: Texts, *, last: bool) -> Markup:
    if turn.failure is not None:
        failure = render.failure(turn.failure, texts)
        body = render.joined([*_paragraphs(_streamed(turn.pieces)), failure])
    elif turn.answer is not None:
        body = _answered(number, turn, turn.answer, texts)
        body += render.pending(turn.pending, texts)
    else:
        note = texts("ask.stopped" if turn.pieces else "ask.nothing")
        body = render.joined([*_paragraphs(_streamed(turn.pieces)), _notes([note])])
    body += _acts(number, turn, texts, last=last)
    if turn.answer is not None:
        body += why.why(number, turn.answer, texts)
    return _framed(number, turn.question, body, asked=_asked(turn))


def _acts(number: int, turn: Turn, texts: Texts, *, last: bool) -> Markup:
    """What can be done with an answer: judged, copied, asked for again."""
    acts = []
    if turn.answer is not None and _asked(turn):
        acts.append(thumbs(turn.answer, texts, number=number, thumb=turn.thumb, note=turn.note))
    if turn.answer is not None:
        acts.append(
            Markup(
                '<button type="button" class="a-quiet" data-copy="{}" data-done="{}">{}</button>'
            ).format(with_citations(turn.answer), texts("ask.copied"), texts("ask.copy"))
        )
    if last:
        acts.append(
            Markup(
                '<button type="button" class="a-quiet" data-send="{}" data-do="retry">{}</button>'
            ).format(number, texts("ask.retry"))
        )
    return Markup('<div class="a-acts">{}</div>').format(render.joined(acts))


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
    notes = list(answer.notes)
    if answer.query is not None:
        notes = [texts("ask.query", query=answer.query), *notes]
    if answer.abstained:
        return _declined(number, answer, notes, texts)
    keys = [f"a-source-{number}-{place}" for place in range(1, len(answer.citations) + 1)]
    return render.joined(
        [
            claims(answer, keys, texts, turn.surroundings),
            _notes(notes),
            _chips(answer, keys, texts),
            why.verdict(answer, texts),
            _origin(answer, texts),
            *(
                _source(key, citation, answer, text, texts)
                for key, citation, text in zip(
                    keys, answer.citations, turn.surroundings, strict=True
                )
            ),
        ]
    )


def _declined(number: int, answer: Answer, notes: Sequence[str], texts: Texts) -> Markup:
    """What is said instead of an answer, why, and the passages that came nearest to one."""
    found = reason(answer)
    nearest = found.nearest if found is not None else ()
    keys = [f"a-near-{number}-{place}" for place in range(1, len(nearest) + 1)]
    query = answer.query or answer.question
    return render.joined(
        [
            Markup('<p class="a-declined">{}</p>').format(answer.answer),
            _notes(notes),
            why.declined(answer, keys, texts),
            *(_near(key, hit, query, texts) for key, hit in zip(keys, nearest, strict=True)),
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
    support = strengths(answer)
    words = {
        (citation.answer_start, citation.answer_end): _said(answer, citation, text)
        for citation, text in zip(answer.citations, surroundings, strict=True)
    }
    pieces, at = [], 0
    for span in sorted(words.keys() | set(answer.unsupported)):
        said = words.get(span, answer.answer[slice(*span)])
        pieces.append(_between(answer.answer[at : span[0]]))
        pieces.append(_claim(answer, span, said, keys, support[span], texts))
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
    answer: Answer,
    span: render.Span,
    said: str,
    keys: Sequence[str],
    support: Strength,
    texts: Texts,
) -> Markup:
    if support == "none":
        return Markup(
            '<span class="a-unsupported">{}</span> <span class="a-flag">{}</span>'
        ).format(said, texts("ask.unsupported"))
    buttons = [
        _button(key, citation, texts)
        for key, citation in zip(keys, answer.citations, strict=True)
        if (citation.answer_start, citation.answer_end) == span
    ]
    doubt = why.sign(support, texts) if support == "weak" else Markup("")
    return Markup('<span class="a-claim a-{}">{}</span>{}{}').format(
        support, said, render.joined(buttons), doubt
    )


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
        start, end, text = start - chunk.start, end - chunk.start, chunk.text
        if text[start:end] != citation.quote:  # of a kept answer, the quote alone is left
            start, end, text = 0, len(citation.quote), citation.quote
        within = render.passage(text, start, end, marks_of(text, kind))
        within += _notes([texts("source.gone")])
        page = Markup("")
    else:
        within = render.passage(text, start, end, marks_of(text, kind))
        page = _page(citation, texts)
    within += certificate.line(citation.certificate, texts)
    within += Markup(
        '<p><button type="button" class="a-link" data-inspect="{}">{}</button></p>'
    ).format(key.removeprefix("a-source-").replace("-", ":"), texts("inspect.source.button"))
    place = render.place(citation.document, citation.page, chunk.heading, texts)
    marker = Markup("<b>{}</b>").format(citation.marker)
    return _panel(key, citation.document.title, place, page + within, texts, marker=marker)


def _near(key: str, hit: Hit, query: str, texts: Texts) -> Markup:
    """What the panel shows of a passage that was not cited: the words that it shares."""
    chunk = hit.chunk
    text = chunk.text.strip()
    marks = marks_of(text, chunk.document.media_type)
    body = Markup('<div class="a-passage">{}</div>').format(
        render.marked(render.flowed(text), render.matching(query, text), marks)
    )
    if not text:
        body = _notes([texts("source.gone")])
    place = render.place(chunk.document, chunk.page, chunk.heading, texts)
    return _panel(key, chunk.document.title, place, body, texts)


def _panel(
    key: str,
    title: str,
    place: Markup,
    body: Markup,
    texts: Texts,
    *,
    marker: Markup = Markup(""),  # noqa: B008 - it cannot be changed
) -> Markup:
    return Markup(
        '<div hidden class="a-stored" id="{}"><header>{}<h3>{}</h3>'
        '<button type="button" class="a-close" data-close aria-label="{}"></button>{}</header>'
        "{}</div>"
    ).format(key, marker, title, texts("source.close"), place, body)


def _page(citation: Citation, texts: Texts) -> Markup:
    """Where page.js puts the picture of a PDF page, once the source is opened."""
    if citation.document.media_type != PDF or citation.page is None:
        return Markup("")
    return Markup(
        '<div class="a-page" hidden data-page="page/documents/{}/pages/{}?start={}&end={}" '
        'data-alt="{}" data-boxless="{}" data-failed="{}"></div>'
    ).format(
        citation.document.id,
        citation.page,
        citation.start,
        citation.end,
        texts("source.page", title=citation.document.title, n=citation.page),
        texts("source.boxless"),
        texts("source.pageless"),
    )
