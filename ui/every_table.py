"""How a table of every document looks, and the passage that one of its quotations stands in."""

from markupsafe import Markup

from index.records import StoredDocument
from rag.assistant import Assistant
from rag.every import Cell, Every, Table
from ui import render
from ui.locale import Texts
from ui.markdown import marks_of, shown

_ROWS = 200  # documents that are shown; the files have all


def table(every: Every, words: Texts, *, working: bool = False) -> Markup:
    """What is known so far, under how far it has come."""
    if not every.documents:
        return render.notice(words("every.none.title"), words("every.none.lead"))
    made = every.table
    known = {(cell.question, cell.document): cell for cell in made.cells}
    rows = render.joined(
        _row(made, row, known, words, working=working) for row in made.documents[:_ROWS]
    )
    heads = render.joined(
        Markup('<th scope="col">{}</th>').format(question) for question in made.questions
    )
    left = len(made.documents) - _ROWS
    more = words("every.more", n=f"{left:,}") if left > 0 else ""
    return Markup(
        '{progress}<div class="a-every-scroll" tabindex="0" role="region" aria-label="{name}">'
        '<table class="a-every"><thead><tr><th scope="col">{document}</th>{heads}</tr></thead>'
        '<tbody>{rows}</tbody></table></div><p class="a-notes">{more}</p>'
        '<p class="a-explained">{explained}</p>'
    ).format(
        progress=_progress(every, made, words, working=working),
        name=words("every.title"),
        document=words("library.document"),
        heads=heads,
        rows=rows,
        more=more,
        explained=words("every.explained"),
    )


def source(assistant: Assistant, made: Table, question: int, document: int, words: Texts) -> Markup:
    """A quotation in what stands around it."""
    cell = made.cell(question, document)
    row = next((each for each in made.documents if each.id == document), None)
    if cell is None or cell.quote is None or row is None:
        return Markup("")
    quote, text = cell.quote, assistant.text(document)
    if text[quote.start : quote.end] != quote.text:
        return render.notice(words("every.changed.title"), words("every.changed.lead"))
    marks = marks_of(text, row.media_type)
    return Markup('<section class="a-every-passage"><h2>{}</h2><h3>{}</h3>{}{}</section>').format(
        made.questions[question],
        row.title,
        render.place(row, quote.page, (), words),
        render.passage(text, quote.start, quote.end, marks),
    )


def _progress(every: Every, made: Table, words: Texts, *, working: bool) -> Markup:
    stated = sum(cell.quote is not None for cell in made.cells)
    head = words("every.progress", done=f"{every.done:,}", total=f"{every.total:,}")
    if every.done == every.total and not working:
        head = words("every.done", stated=f"{stated:,}", total=f"{every.total:,}")
    return Markup(
        '<section class="a-progress"><h2 class="a-small" role="status">{}</h2>'
        '<i class="a-bar"><i style="width:{}%"></i></i></section>'
    ).format(head, round(100 * every.done / max(1, every.total)))


def _row(
    made: Table,
    row: StoredDocument,
    known: dict[tuple[int, int], Cell],
    words: Texts,
    *,
    working: bool,
) -> Markup:
    cells = render.joined(
        _cell(known.get((place, row.id)), question, row, words, working=working)
        for place, question in enumerate(made.questions)
    )
    return Markup('<tr><th scope="row"><span>{}</span><small>{}</small></th>{}</tr>').format(
        row.title, render.file_name(row.path), cells
    )


def _cell(
    cell: Cell | None, question: str, row: StoredDocument, words: Texts, *, working: bool
) -> Markup:
    if cell is None:
        state = words("every.waiting" if working else "every.unread")
        return Markup('<td data-label="{}" class="a-every-none">{}</td>').format(question, state)
    if cell.quote is None:
        return Markup('<td data-label="{}" class="a-every-none">{}</td>').format(
            question, words("every.not_stated")
        )
    quote = cell.quote
    flowed = render.flowed(quote.text)
    plain = shown(flowed, 0, len(flowed), marks_of(quote.text, row.media_type))
    where = words("page", n=quote.page) if quote.page is not None else words("every.open")
    return Markup(
        '<td data-label="{}"><button type="button" class="a-every-quote" data-send="{}:{}" '
        'aria-label="{}">{}<small>{}</small></button></td>'
    ).format(
        question,
        cell.question,
        row.id,
        words("every.open.label", quote=plain, title=row.title),
        plain,
        where,
    )
