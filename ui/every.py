"""The Every document tab: the same questions to every document, as a table that fills up."""

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import gradio as gr

from rag import every_export
from rag.assistant import Assistant
from rag.every import Every
from rag.records import EVERYWHERE, Within
from ui import every_table, render
from ui.errors import explained
from ui.locale import Language, Texts, texts
from ui.theme import CLICKS, DIRECT, KEEPS, STREAMED

_KINDS = ("csv", "xlsx", "html")
_NAME = "attest-every"
_EACH_S = 0.6  # between two looks at a table that fills
_SEEN = "watch('value', () => element.scrollIntoView({block: 'nearest', behavior: 'smooth'}));"

Updates = dict[Any, Any]


@dataclass(frozen=True, slots=True)
class Run:
    """A table of one visit, and the way to stop it."""

    every: Every
    stopped: Event = field(default_factory=Event)


class EveryTab:
    """Components and what they do. A table lives in its session's state alone."""

    def __init__(self, assistant: Assistant, language: gr.Radio, place: gr.Textbox) -> None:
        self._assistant = assistant
        self.made = gr.State(None)
        self._head = gr.HTML(elem_id="a-every-head", apply_default_css=False)
        with gr.Column(elem_id="a-every-form"):
            self._questions = gr.Textbox(value="", lines=4, max_lines=12, elem_id="a-every-asked")
            self._scope = gr.Dropdown([], multiselect=True, value=[], elem_id="a-every-scope")
            with gr.Row(elem_id="a-every-bar"):
                self._start = gr.Button(
                    variant="primary", size="sm", scale=0, elem_id="a-every-start"
                )
                self._stop = gr.Button(size="sm", scale=0, visible=False, elem_id="a-every-stop")
        self._table = gr.HTML(
            elem_id="a-every", apply_default_css=False, js_on_load=f"{CLICKS}{KEEPS}"
        )
        self._source = gr.HTML(elem_id="a-every-source", apply_default_css=False, js_on_load=_SEEN)
        with gr.Row(elem_id="a-every-files"):
            self._files = {
                kind: gr.DownloadButton(
                    size="sm", scale=0, visible=False, elem_id=f"a-every-{kind}"
                )
                for kind in _KINDS
            }
        self._connect(language, place)

    def _connect(self, language: gr.Radio, place: gr.Textbox) -> None:
        seen = [self.made, self._start, self._stop, self._table, self._source,
                *self._files.values()]  # fmt: skip
        given = [self._questions, self._scope, self.made, place, language]
        self._start.click(self.fill, given, seen, **STREAMED)
        self._stop.click(self.stop, self.made, None, **DIRECT)
        self._table.click(self.open, [self.made, language], self._source, **DIRECT)

    @property
    def faces(self) -> list[Any]:
        """What `face` updates."""
        return [self._head, self._questions, self._scope, self._start, self._stop, self._table,
                self._source, *self._files.values()]  # fmt: skip

    def face(self, words: Texts, place: str, made: Run | None) -> Updates:
        """The tab in a language."""
        return {
            self._head: render.headline(words("every.title"), words("every.lead")),
            self._questions: gr.update(
                label=words("every.questions"), placeholder=words("every.placeholder")
            ),
            **self.refresh(place, words.language),
            self._start: gr.update(value=words("every.start")),
            self._stop: gr.update(value=words("every.stop")),
            self._table: _page(made, words),
            self._source: "",
            **{
                self._files[kind]: gr.update(label=words("every.download", kind=kind.upper()))
                for kind in _KINDS
            },
        }

    def refresh(self, place: str, language: Language) -> Updates:
        """The documents that can be chosen now."""
        words = texts(language)
        documents = self._assistant.at(place).documents()
        rows = [row for row in documents if row.status == "indexed"]
        names = [(f"{row.title} · {render.file_name(row.path)}", row.id) for row in rows]
        return {
            self._scope: gr.update(
                choices=names, label=words("every.scope"), info=words("every.scope.all")
            )
        }

    @property
    def scope(self) -> Any:
        """What `refresh` updates."""
        return self._scope

    def fill(
        self,
        questions: str,
        chosen: Sequence[int],
        before: Run | None,
        place: str,
        language: Language,
    ) -> Iterator[Updates]:
        """Fill a table; the same questions of the same documents go on where they were stopped."""
        words = texts(language)
        try:
            run = _run(self._assistant.at(place), questions, chosen, before)
        except Exception as error:
            yield {self._table: render.failure(explained(error, words), words)}
            return
        yield {
            self.made: run,
            self._start: gr.update(interactive=False),
            self._stop: gr.update(visible=True),
            self._table: every_table.table(run.every, words, working=True),
            self._source: "",
            **{button: gr.update(visible=False) for button in self._files.values()},
        }
        failure = ""
        try:
            shown = time.monotonic()
            for _ in run.every.fill(run.stopped.is_set):
                if time.monotonic() - shown > _EACH_S:
                    yield {self._table: every_table.table(run.every, words, working=True)}
                    shown = time.monotonic()
        except Exception as error:
            failure = render.failure(explained(error, words), words)
        yield {
            self._start: gr.update(interactive=True, value=_start(run, words)),
            self._stop: gr.update(visible=False),
            self._table: failure + every_table.table(run.every, words),
            **self._written(run),
        }

    def stop(self, made: Run | None) -> None:
        """What is there stays; the start button goes on with it."""
        if made is not None:
            made.stopped.set()

    def open(self, made: Run | None, language: Language, event: gr.EventData) -> Any:
        """The passage that a quotation stands in; its button sends question and document."""
        words = texts(language)
        if made is None:
            return ""
        place, _, document = str(event._data["value"]).partition(":")
        try:
            return every_table.source(
                self._assistant, made.every.table, int(place), int(document), words
            )
        except Exception as error:
            return render.failure(explained(error, words), words)

    def _written(self, run: Run) -> Updates:
        """The table as files, where it has a cell."""
        if not run.every.done:
            return {}
        folder = Path(tempfile.mkdtemp(dir=self._files["csv"].GRADIO_CACHE))
        updates: Updates = {}
        for kind, button in self._files.items():
            file = folder / f"{_NAME}.{kind}"
            every_export.write(run.every.table, file)
            updates[button] = gr.update(value=str(file), visible=True)
        return updates


def _run(attest: Assistant, questions: str, chosen: Sequence[int], before: Run | None) -> Run:
    asked = [line for line in questions.splitlines() if line.strip()]
    within = Within(documents=tuple(chosen)) if chosen else EVERYWHERE
    every = attest.every(asked, within=within)
    if before is not None and before.every.asks_as(every):
        every = before.every
    return Run(every)


def _page(made: Run | None, words: Texts) -> str:
    if made is None:
        return render.notice(words("every.empty.title"), words("every.empty.lead"))
    return every_table.table(made.every, words)


def _start(run: Run, words: Texts) -> str:
    return words("every.start" if run.every.done == run.every.total else "every.go_on")
