"""The Library tab: documents come in, are listed and tagged, and go again."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import gradio as gr
from markupsafe import Markup

from rag.assistant import Assistant
from rag.loaders.formats import supported
from ui import render
from ui.errors import explained
from ui.filters import formats
from ui.holdings import facts
from ui.intake import take_in
from ui.listing import listing
from ui.locale import Language, Texts, texts
from ui.memory import memory
from ui.progress import progress
from ui.theme import CLICKS, DIRECT, KEEPS, LISTED, NAMED, STREAMED

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
        self._news = gr.HTML(elem_id="a-news", apply_default_css=False, js_on_load=KEEPS)
        self._facts = gr.HTML(elem_id="a-facts", apply_default_css=False)
        self._memory = gr.HTML(elem_id="a-memory", apply_default_css=False, js_on_load=CLICKS)
        self.wanted = gr.Textbox(value="", lines=1, container=False, elem_id="a-find")
        self._list = gr.HTML(elem_id="a-list", apply_default_css=False, js_on_load=LISTED)
        self._connect(language)

    def _connect(self, language: gr.Radio) -> None:
        changed = [self._upload, self._news, *self.lists]
        given = [self._upload, self._names, self.wanted, language]
        self.changes = (
            self._upload.upload(self.add, given, changed, js=NAMED, **STREAMED),
            self._list.click(self.change, [self.wanted, language], changed, **DIRECT),
        )
        self._memory.click(self.forget, language, self._memory, **DIRECT)
        self.wanted.change(
            self.refresh,
            [self.wanted, language],
            self.lists,
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
        return [self._facts, self._memory, self.wanted, self._list]

    def face(self, words: Texts, wanted: str | None) -> Updates:
        """The tab in a language, over the documents that there are now."""
        prompt = words("library.find")
        lists = self.refresh(wanted, words.language)
        lists[self.wanted] |= {"placeholder": prompt, "label": prompt}
        return {
            self._head: render.headline(words("library.title"), words("library.lead")),
            self._drop: Markup("<p>{}</p>").format(words("library.drop")),
            self._upload: gr.update(label=words("library.upload")),
            self._formats: self._readable(words),
            self._news: "",
            **lists,
        }

    def refresh(self, wanted: str | None, language: Language) -> Updates:
        """The tab over the documents that there are now; a field not yet seen holds None."""
        words, documents = texts(language), self._assistant.documents()
        status = self._assistant.status()
        return {
            self._facts: facts(status, words) if documents else "",
            self._memory: memory(status, words) if documents or status.questions else "",
            self.wanted: gr.update(visible=bool(documents)),
            self._list: listing(documents, wanted or "", words),
        }

    def add(
        self, files: Sequence[str], names: Sequence[str], wanted: str | None, language: Language
    ) -> Iterator[Updates]:
        """Take files in, and say of each what becomes of it."""
        words = texts(language)
        for arrivals in take_in(
            self._assistant, files, names, lambda error: explained(error, words)
        ):
            yield {self._news: progress(arrivals, words)}
        yield {self._upload: gr.update(value=None), **self.refresh(wanted, language)}

    def change(self, wanted: str | None, language: Language, event: gr.EventData) -> Updates:
        """Remove the document whose button was pressed, or change its tags."""
        words = texts(language)
        try:
            news = self._changed(event._data, words)
        except Exception as error:
            news = render.failure(explained(error, words), words)
        return {self._news: news, **self.refresh(wanted, language)}

    def forget(self, language: Language) -> Updates:
        """Forget every question and judgement."""
        words = texts(language)
        try:
            self._assistant.forget()
        except Exception as error:
            return {self._memory: render.failure(explained(error, words), words)}
        return {self._memory: memory(self._assistant.status(), words)}

    def _changed(self, sent: Mapping[str, Any], words: Texts) -> Markup:
        key, tag = int(sent["value"]), str(sent.get("tag", "")).strip()
        title = self._assistant.find(key).title
        if sent["do"] != "remove":
            add, off = {"tag": ([tag], []), "untag": ([], [tag])}[sent["do"]]
            self._assistant.tag([key], add=add, remove=off)
            return Markup("")
        self._assistant.remove([key])
        return Markup('<p class="a-done" role="status">{}</p>').format(
            words("library.removed", title=title)
        )

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
