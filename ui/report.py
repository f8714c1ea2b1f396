"""The Map and report tab: the library in groups, to look at, to drill into, to download."""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr

from rag import report_files
from rag.assistant import Assistant
from rag.records import Report
from ui import groups, map_picture, render
from ui.errors import explained
from ui.locale import Language, Texts, texts
from ui.theme import CLICKS, DIRECT, KEEPS, STREAMED

_FORMATS = ("html", "csv", "json", "md")
_NAME = "attest-report"
_NUMBERS = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100)  # of groups, to choose
_SEEN = "watch('value', () => element.scrollIntoView({block: 'nearest', behavior: 'smooth'}));"

Updates = dict[Any, Any]


class ReportTab:
    """Components and what they do. The report lives in its session's state alone."""

    def __init__(self, assistant: Assistant, language: gr.Radio, place: gr.Textbox) -> None:
        self._assistant = assistant
        self.made = gr.State(None)
        self._head = gr.HTML(elem_id="a-report-head", apply_default_css=False)
        with gr.Row(elem_id="a-report-bar"):
            self._build = gr.Button(variant="primary", size="sm", scale=0, elem_id="a-build")
            self._number = gr.Dropdown(
                [("", 0), *((str(n), n) for n in _NUMBERS)], value=0, scale=0, elem_id="a-number"
            )
            self._by = gr.Radio(
                [("", "documents"), ("", "passages")], value="documents", scale=0, elem_id="a-by"
            )
            self._assign = gr.Checkbox(scale=0, elem_id="a-assign")
            self._earlier = gr.UploadButton(
                file_types=[".json"], size="sm", scale=0, elem_id="a-earlier"
            )
        self._page = gr.HTML(
            elem_id="a-report",
            apply_default_css=False,
            head=map_picture.looks(),
            js_on_load=map_picture.answering() + KEEPS,
        )
        self._detail = gr.HTML(elem_id="a-detail", apply_default_css=False, js_on_load=_SEEN)
        self._cards = gr.HTML(elem_id="a-cards", apply_default_css=False, js_on_load=CLICKS + KEEPS)
        with gr.Row(elem_id="a-downloads"):
            self._downloads = {
                kind: gr.DownloadButton(
                    size="sm",
                    scale=0,
                    visible=False,
                    elem_id="a-download" if kind == "html" else f"a-download-{kind}",
                )
                for kind in _FORMATS
            }
        shown = [
            self.made, self._build, *self._downloads.values(), self._page, self._detail,
            self._cards, self._earlier,
        ]  # fmt: skip
        given = [self._number, self._by, self._assign, place, language]
        self._build.click(self.build, given, shown, **STREAMED)
        self._earlier.upload(self.build, [*given, self._earlier], shown, **STREAMED)
        for shows in (self._page, self._cards):
            shows.click(self.open, [self.made, language], self._detail, **DIRECT)

    @property
    def faces(self) -> list[Any]:
        """What `face` updates."""
        return [
            self._head, self._build, self._number, self._by, self._assign, self._earlier,
            *self._downloads.values(), self._page, self._detail, self._cards,
        ]  # fmt: skip

    def face(self, words: Texts, made: Report | None) -> Updates:
        """The tab in a language."""
        named = {
            "html": words("report.download"),
            "csv": words("report.download.csv"),
            "json": words("report.download.json"),
            "md": words("report.download.md"),
        }
        return {
            self._head: render.headline(words("report.title"), words("report.lead")),
            self._build: gr.update(value=words("report.button")),
            self._number: gr.update(
                label=words("report.number"),
                choices=[(words("report.number.free"), 0), *((str(n), n) for n in _NUMBERS)],
            ),
            self._by: gr.update(
                label=words("report.by"),
                choices=[
                    (words("report.by.documents"), "documents"),
                    (words("report.by.passages"), "passages"),
                ],
            ),
            self._assign: gr.update(label=words("report.assign")),
            self._earlier: gr.update(
                label=words("report.earlier"), visible=made is not None and made.n_documents > 0
            ),
            **{self._downloads[kind]: gr.update(label=name) for kind, name in named.items()},
            self._page: groups.page(made, words),
            self._detail: "",
            self._cards: groups.cards(made, words),
        }

    def build(
        self,
        number: int,
        by: str,
        assign: bool,
        place: str,
        language: Language,
        earlier: str | None = None,
    ) -> Iterator[Updates]:
        words = texts(language)
        yield {
            self._build: gr.update(interactive=False),
            **{button: gr.update(visible=False) for button in self._downloads.values()},
            self._page: render.waiting(words("report.building")),
            self._detail: "",
            self._cards: "",
        }
        try:
            made = self._assistant.at(place).report(
                clusters=number or None,
                by="passages" if by == "passages" else "documents",
                outliers="assign" if assign else "keep",
                compare=earlier,
            )
            yield self._made(made, words)
        except Exception as error:
            yield {self._page: render.failure(explained(error, words), words)}
        yield {self._build: gr.update(interactive=True)}

    def _made(self, made: Report, words: Texts) -> Updates:
        some = made.n_documents > 0
        return {
            self.made: made,
            **{
                button: gr.update(value=self._file(made, kind), visible=True)
                for kind, button in self._downloads.items()
                if some
            },
            self._earlier: gr.update(visible=some),
            self._page: groups.page(made, words),
            self._cards: groups.cards(made, words),
        }

    def _file(self, made: Report, kind: str) -> str:
        cache = self._downloads[kind].GRADIO_CACHE
        file = Path(tempfile.mkdtemp(dir=cache)) / f"{_NAME}.{kind}"
        # Where the server keeps it is nobody's business.
        report_files.write(replace(made, html=None, file=None), file)
        return str(file)

    def open(self, made: Report | None, language: Language, event: gr.EventData) -> str:
        """The documents of the group whose button was pressed, which sends its id."""
        key, words = str(event._data["value"]), texts(language)
        if made is None or not key.isdecimal():
            return ""
        try:
            return groups.detail(made, int(key), self._assistant.catalog.text, words)
        except Exception as error:
            return render.failure(explained(error, words), words)
