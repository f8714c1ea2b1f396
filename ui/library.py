"""The Library tab: documents come in file by file, are listed, and go again."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import gradio as gr
from markupsafe import Markup

from index.records import StoredDocument
from rag.assistant import Assistant
from rag.ingest import Outcome
from rag.records import LibraryStatus
from ui import render
from ui.errors import explained
from ui.locale import Language, Texts, texts
from ui.theme import CLICKS, DIRECT, NAMED, STREAMED

_MOST_ROWS = 300  # what a browser lays out at once without a wait
_TAKEN = {"added", "updated", "unchanged", "duplicate"}

Updates = dict[Any, Any]


class LibraryTab:
    """Components and what they do; the library itself is the assistant's."""

    def __init__(self, assistant: Assistant, language: gr.Radio) -> None:
        self._assistant = assistant
        self._head = gr.HTML(elem_id="a-library-head", apply_default_css=False)
        with gr.Column(elem_id="a-drop"):
            self._drop = gr.HTML(elem_id="a-drop-words", apply_default_css=False)
            self._upload = gr.UploadButton(
                file_count="multiple", size="sm", variant="primary", elem_id="a-upload"
            )
            self._names = gr.JSON(visible=False)  # of the files, as NAMED tells them
            self._formats = gr.HTML(elem_id="a-formats", apply_default_css=False)
        self._news = gr.HTML(elem_id="a-news", apply_default_css=False)
        self._facts = gr.HTML(elem_id="a-facts", apply_default_css=False)
        self.wanted = gr.Textbox(value="", lines=1, container=False, elem_id="a-find")
        self._list = gr.HTML(elem_id="a-list", apply_default_css=False, js_on_load=CLICKS)
        self._connect(language)

    def _connect(self, language: gr.Radio) -> None:
        changed = [self._upload, self._news, self._facts, self.wanted, self._list]
        given = [self._upload, self._names, self.wanted, language]
        self.changes = (
            self._upload.upload(self.add, given, changed, js=NAMED, **STREAMED),
            self._list.click(self.remove, [self.wanted, language], changed, **DIRECT),
        )
        self.wanted.change(
            self.refresh,
            [self.wanted, language],
            [self._facts, self.wanted, self._list],
            trigger_mode="always_last",
            **DIRECT,
        )

    @property
    def faces(self) -> list[Any]:
        """What `face` updates."""
        return [self._head, self._drop, self._upload, self._formats, self._news, *self.lists]

    @property
    def lists(self) -> list[Any]:
        """What `refresh` updates."""
        return [self._facts, self.wanted, self._list]

    def face(self, words: Texts, wanted: str | None) -> Updates:
        """The tab in a language, over the documents that there are now."""
        prompt = words("library.find")
        lists = self.refresh(wanted, words.language)
        lists[self.wanted] |= {"placeholder": prompt, "label": prompt}
        return {
            self._head: render.headline(words("library.title"), words("library.lead")),
            self._drop: Markup("<p>{}</p>").format(words("library.drop")),
            self._upload: gr.update(label=words("library.upload")),
            self._formats: Markup("<p>{}</p>").format(words("library.formats")),
            self._news: "",
            **lists,
        }

    def refresh(self, wanted: str | None, language: Language) -> Updates:
        """The tab over the documents that there are now; a field not yet seen holds None."""
        words, documents = texts(language), self._assistant.documents()
        return {
            self._facts: facts(self._assistant.status(), words) if documents else "",
            self.wanted: gr.update(visible=bool(documents)),
            self._list: listing(documents, wanted or "", words),
        }

    def add(
        self, files: Sequence[str], names: Sequence[str], wanted: str | None, language: Language
    ) -> Iterator[Updates]:
        """Take files in, one by one, and say of each what became of it."""
        words, done = texts(language), list[Outcome]()
        for file, name in zip(files, names, strict=True):
            yield {self._news: progress(names, done, words)}
            done.append(self._taken(Path(file), name, words))
        yield {
            self._upload: gr.update(value=None),
            self._news: progress(names, done, words),
            **self.refresh(wanted, language),
        }

    def remove(self, wanted: str | None, language: Language, event: gr.EventData) -> Updates:
        """Remove the document whose button was pressed."""
        words = texts(language)
        try:
            key = int(event._data["value"])
            title = self._assistant.find(key).title
            self._assistant.remove([key])
            news = Markup('<p class="a-done" role="status">{}</p>').format(
                words("library.removed", title=title)
            )
        except Exception as error:
            news = render.failure(explained(error, words), words)
        return {self._news: news, **self.refresh(wanted, language)}

    def _taken(self, file: Path, name: str, words: Texts) -> Outcome:
        try:
            content = file.read_bytes()
            file.unlink()  # the library keeps its own copy, and nothing else should stay
            return self._assistant.upload(name, content)
        except Exception as error:
            return Outcome(name, None, "failed", reason=explained(error, words))


def progress(names: Sequence[str], done: Sequence[Outcome], words: Texts) -> Markup:
    """Files that are being taken in: those that are done with their outcome, then the others."""
    rows = [_outcome(name, outcome, words) for name, outcome in zip(names, done, strict=False)]
    for place, name in enumerate(names[len(done) :]):
        state = words("library.waiting" if place else "library.reading")
        kind = "waiting" if place else "reading"
        rows.append(_news_row(name, kind, state, ()))
    if len(done) < len(names):
        head = words("library.adding", done=len(done) + 1, total=len(names))
    else:
        taken = sum(outcome.status in _TAKEN for outcome in done)
        head = words("library.added", done=taken, total=len(names))
    return Markup(
        '<section class="a-progress" role="status"><h2 class="a-small">{}</h2>'
        '<i class="a-bar"><i style="width:{}%"></i></i><ul>{}</ul></section>'
    ).format(head, round(100 * len(done) / max(1, len(names))), render.joined(rows))


def _outcome(name: str, outcome: Outcome, words: Texts) -> Markup:
    details = [outcome.reason] if outcome.reason else []
    if outcome.status in _TAKEN and outcome.chunks:
        details.append(words.count("passages", outcome.chunks))
    return _news_row(
        name, outcome.status, words(f"status.{outcome.status}"), (*details, *outcome.warnings)
    )


def _news_row(name: str, kind: str, state: str, details: Sequence[str]) -> Markup:
    return Markup(
        '<li><span class="a-cut" title="{name}">{name}</span>{badge}<small>{details}</small></li>'
    ).format(name=name, badge=_badge(kind, state), details=" · ".join(details))


def _badge(kind: str, state: str) -> Markup:
    return Markup('<span class="a-badge a-is-{}">{}</span>').format(kind, state)


def facts(status: LibraryStatus, words: Texts) -> Markup:
    """What the library holds, in numbers."""
    rows = {
        "library.facts.documents": f"{sum(status.documents.values()):,}",
        "library.facts.passages": f"{status.chunks:,}",
        "library.facts.size": render.size(status.size_bytes),
        "library.facts.encoder": status.encoder,
        "library.facts.home": status.home,
    }
    return Markup('<dl class="a-facts">{}</dl>').format(
        render.joined(
            Markup('<div><dt>{}</dt><dd class="a-cut" title="{}">{}</dd></div>').format(
                words(key), value, value
            )
            for key, value in rows.items()
        )
    )


def listing(documents: Sequence[StoredDocument], wanted: str, words: Texts) -> Markup:
    """The documents whose title or file name holds what is wanted."""
    if not documents:
        return render.notice(words("library.empty.title"), words("library.empty.lead"))
    name = wanted.strip().casefold()
    found = [
        row for row in documents
        if name in row.title.casefold() or name in render.file_name(row.path).casefold()
    ]  # fmt: skip
    if not found:
        return Markup('<p class="a-none">{}</p>').format(words("library.none", name=wanted.strip()))
    columns = ("document", "status", "passages", "size", "date")
    heads = render.joined(
        Markup('<th scope="col">{}</th>').format(words(f"library.{column}")) for column in columns
    )
    rows = render.joined(_row(row, words) for row in found[:_MOST_ROWS])
    table = Markup(
        '<table class="a-table"><thead><tr>{}<th></th></tr></thead><tbody>{}</tbody></table>'
    ).format(heads, rows)
    if len(found) > _MOST_ROWS:
        more = words("library.more", n=f"{len(found) - _MOST_ROWS:,}")
        table += Markup('<p class="a-none">{}</p>').format(more)
    return table


def _row(row: StoredDocument, words: Texts) -> Markup:
    notes = [note for note in (row.reason, *row.warnings) if note]
    return Markup(
        '<tr><td class="a-name"><strong class="a-cut" title="{title}">{title}</strong>'
        '<small class="a-cut" title="{path}">{file}</small>{notes}</td>'
        '<td>{badge}</td><td data-label="{passages}">{chunks}</td>'
        '<td data-label="{bytes}">{size}</td><td data-label="{added}">{day}</td>'
        '<td class="a-act">{remove}</td></tr>'
    ).format(
        title=row.title,
        path=row.path,
        file=render.file_name(row.path),
        notes=Markup('<small class="a-why">{}</small>').format(" · ".join(notes)) if notes else "",
        badge=_badge(row.status, words(f"status.{row.status}")),
        passages=words("library.passages"),
        chunks=f"{row.chunks:,}",
        bytes=words("library.size"),
        size=render.size(row.size),
        added=words("library.date"),
        day=render.day(row.added),
        remove=_remove(row, words),
    )


def _remove(row: StoredDocument, words: Texts) -> Markup:
    """A button that asks once more before it removes."""
    return Markup(
        '<button type="button" class="a-link" data-confirm aria-label="{label}">{remove}</button>'
        '<span class="a-confirm" hidden>{sure} '
        '<button type="button" class="a-link" data-keep>{keep}</button>'
        '<button type="button" class="a-danger" data-send="{id}">{remove}</button></span>'
    ).format(
        label=words("library.remove.label", title=row.title),
        remove=words("library.remove"),
        sure=words("library.confirm"),
        keep=words("library.keep"),
        id=row.id,
    )
