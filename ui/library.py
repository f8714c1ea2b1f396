"""The Library tab: documents come in, are listed and tagged, and go again."""

from collections.abc import Iterator, Mapping, Sequence
from threading import Event
from typing import Any
from uuid import uuid4

import gradio as gr
from markupsafe import Markup

from index.conversations import Conversations as Stored
from rag.assistant import Assistant
from rag.loaders.formats import supported
from ui import render
from ui.care import Care, reread
from ui.collections import Collections
from ui.errors import explained
from ui.filters import formats
from ui.holdings import facts
from ui.intake import take_in
from ui.listing import listing
from ui.locale import Language, Texts, texts
from ui.memory import memory
from ui.progress import progress
from ui.theme import CLICKS, DIRECT, KEEPS, LISTED, NAMED, STREAMED
from ui.visitor import Visit

Updates = dict[Any, Any]

# Where page.js shows what is stored of a document.
_DIALOG = '<dialog id="a-reader" aria-labelledby="a-reader-title"></dialog>'


class LibraryTab:
    """Components and what they do; the library itself is the assistant's."""

    def __init__(self, assistant: Assistant, language: gr.Radio, place: gr.Textbox) -> None:
        self._assistant = assistant
        self._head = gr.HTML(elem_id="a-library-head", apply_default_css=False)
        with gr.Column(elem_id="a-drop"):
            self._drop = gr.HTML(elem_id="a-drop-words", apply_default_css=False)
            self._upload = gr.UploadButton(
                file_count="multiple", size="sm", variant="primary", elem_id="a-upload"
            )
            self._names = gr.JSON(visible=False)  # of the files, as NAMED tells them
            self._formats = gr.HTML(elem_id="a-formats", apply_default_css=False)
        self._news = gr.HTML(elem_id="a-news", apply_default_css=False, js_on_load=KEEPS)
        self._halt = gr.Button(size="sm", visible=False, elem_id="a-halt")
        self._run = gr.State("")  # names the intake that is under way
        self._stops: dict[str, Event] = {}
        self._facts = gr.HTML(elem_id="a-facts", apply_default_css=False)
        self._memory = gr.HTML(elem_id="a-memory", apply_default_css=False, js_on_load=CLICKS)
        self.wanted = gr.Textbox(value="", lines=1, container=False, elem_id="a-find")
        self._list = gr.HTML(elem_id="a-list", apply_default_css=False, js_on_load=LISTED)
        self.shelves = Collections(assistant, language, place)
        self._care = Care(assistant, language, place)
        gr.HTML(_DIALOG, elem_id="a-reader-place", apply_default_css=False)
        self._connect(language, place)

    def _connect(self, language: gr.Radio, place: gr.Textbox) -> None:
        looking = [self.wanted, place, language]
        changed = [self._upload, self._news, self._halt, self._run, *self.lists]
        given = [self._upload, self._names, self.wanted, place, language]
        self.changes = (
            self._upload.upload(self.add, given, changed, js=NAMED, **STREAMED),
            self._list.click(self.change, looking, changed, **STREAMED),
            self._care.synced,
        )
        self._halt.click(self.halt, self._run, self._halt, **DIRECT)
        for event in self.changes:
            event.then(self.shelves.refresh, [place, language], self.shelves.listing, **DIRECT)
        self._care.synced.then(self.refresh, looking, self.lists, **DIRECT)
        self.forgot = self._memory.click(self.forget, [place, language], self._memory, **DIRECT)
        self.wanted.change(
            self.refresh,
            looking,
            self.lists,
            trigger_mode="always_last",
            **DIRECT,
        )

    @property
    def faces(self) -> list[Any]:
        """What `face` updates."""
        return [self._head, self._drop, self._upload, self._formats, self._news, self._halt,
                *self.lists, *self.shelves.faces, *self._care.faces]  # fmt: skip

    @property
    def lists(self) -> list[Any]:
        """What `refresh` updates."""
        return [self._facts, self._memory, self.wanted, self._list]

    def face(self, words: Texts, place: str, wanted: str | None) -> Updates:
        """The tab in a language, over the documents that there are now."""
        prompt = words("library.find")
        lists = self.refresh(wanted, place, words.language)
        lists[self.wanted] |= {"placeholder": prompt, "label": prompt}
        return {
            self._head: render.headline(words("library.title"), words("library.lead")),
            self._drop: Markup("<p>{}</p>").format(words("library.drop")),
            self._upload: gr.update(label=words("library.upload")),
            self._formats: self._readable(words),
            self._halt: gr.update(value=words("library.halt")),
            **self.shelves.face(words, place),
            **self._care.face(words),
            **lists,
        }

    def refresh(self, wanted: str | None, place: str, language: Language) -> Updates:
        """The tab over the documents that there are now; a field not yet seen holds None."""
        words, attest = texts(language), self._assistant.at(place)
        documents, status = attest.documents(), attest.status()
        return {
            self._facts: facts(status, words) if documents else "",
            self._memory: _memory(attest, words),
            self.wanted: gr.update(visible=bool(documents)),
            self._list: listing(documents, wanted or "", words),
        }

    def add(
        self,
        files: Sequence[str],
        names: Sequence[str],
        wanted: str | None,
        place: str,
        language: Language,
    ) -> Iterator[Updates]:
        """Take files in, and say of each what becomes of it."""
        words, run, stop = texts(language), uuid4().hex, Event()
        self._stops[run] = stop
        yield {self._run: run, self._halt: gr.update(visible=True)}
        try:
            for arrivals in take_in(
                self._assistant.at(place),
                files,
                names,
                lambda error: explained(error, words),
                stop=stop.is_set,
                stopped=words("library.stopped"),
            ):
                yield {self._news: progress(arrivals, words)}
        finally:
            del self._stops[run]
        yield {
            self._upload: gr.update(value=None),
            self._halt: gr.update(visible=False),
            **self.refresh(wanted, place, language),
        }

    def halt(self, run: str) -> Updates:
        """Take in no more files than the one that is being read."""
        if run in self._stops:
            self._stops[run].set()
        return {self._halt: gr.update(visible=False)}

    def change(
        self, wanted: str | None, place: str, language: Language, event: gr.EventData
    ) -> Iterator[Updates]:
        """Read a document once more or remove it, or change its tags."""
        words, sent = texts(language), event._data
        if sent["do"] == "reread":
            yield {self._news: render.waiting(words("library.reading"))}
        try:
            news = _changed(self._assistant.at(place), sent, words)
        except Exception as error:
            news = render.failure(explained(error, words), words)
        yield {self._news: news, **self.refresh(wanted, place, language)}

    def forget(self, place: str, language: Language, request: gr.Request) -> Updates:
        """Forget every question and judgement, and the conversations.

        At the machine itself those are everybody's; a visitor from elsewhere has only their own.
        """
        visit = Visit.of(self._assistant, place, language, request)
        try:
            visit.attest.forget(conversations=not visit.whose)
            if visit.whose:
                visit.talks.clear()
        except Exception as error:
            return {self._memory: render.failure(explained(error, visit.words), visit.words)}
        return {self._memory: _memory(visit.attest, visit.words)}

    def _readable(self, words: Texts) -> Markup:
        """Which files can be read; the browser offers these first, and leaves out large ones."""
        ocr = self._assistant.settings.ocr
        return Markup(
            '<p data-accept="{}">{}</p><div class="a-waiting" role="status" hidden>{}</div>'
            '<div class="a-failure" role="alert" hidden><b></b> <span>{}</span></div>'
        ).format(
            ",".join(sorted(supported(ocr=ocr))),
            words("library.formats", formats=", ".join(formats(ocr=ocr))),
            render.waiting(words("library.sending")),
            words("library.large"),
        )


def _memory(attest: Assistant, words: Texts) -> Markup | str:
    """Nothing where nothing was added or asked yet."""
    status = attest.status()
    talks = Stored(attest.catalog.database).count(attest.settings.collection)
    return memory(status, words, talks) if status.documents or status.questions or talks else ""


def _changed(attest: Assistant, sent: Mapping[str, Any], words: Texts) -> Markup:
    key, tag = int(sent["value"]), str(sent.get("tag", "")).strip()
    row = attest.catalog.document(key)
    title = row.title
    if sent["do"] == "reread":
        return reread(attest, row, words)
    if sent["do"] != "remove":
        add, off = {"tag": ([tag], []), "untag": ([], [tag])}[sent["do"]]
        attest.tag([key], add=add, remove=off)
        return Markup("")
    attest.remove([key])
    return Markup('<p class="a-done" role="status">{}</p>').format(
        words("library.removed", title=title)
    )
