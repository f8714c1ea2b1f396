"""The Similar tab: documents like a document, a text or a file; and what is there twice."""

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr
from markupsafe import Markup

from rag import duplicates_text, similar_text
from rag.assistant import Assistant
from rag.downloads import write_aside
from rag.duplicates import Duplicates
from rag.errors import UsageError
from rag.similar import Similar
from ui import pairs, render
from ui.errors import explained
from ui.locale import Language, Texts, texts
from ui.theme import STREAMED

_HITS = 10
_LONGEST = 200_000  # characters of a pasted text

Updates = dict[Any, Any]


@dataclass(frozen=True, slots=True)
class Likes:
    """What the tab shows: documents like something, or what is there twice."""

    title: str = ""
    similar: Similar | None = None
    duplicates: Duplicates | None = None
    failure: str | None = None


class SimilarTab:
    """Components and what they do. What was found lives in its session's state alone."""

    def __init__(self, assistant: Assistant, language: gr.Radio, place: gr.Textbox) -> None:
        self._assistant = assistant
        self.found = gr.State(None)
        self._head = gr.HTML(elem_id="a-similar-head", apply_default_css=False)
        with gr.Column(elem_id="a-similar-form"):
            self._document = gr.Dropdown([], value=None, elem_id="a-similar-document")
            self._text = gr.Textbox(value="", lines=3, max_lines=10, elem_id="a-similar-text")
            with gr.Row(elem_id="a-similar-bar"):
                self._go = gr.Button(variant="primary", size="sm", scale=0, elem_id="a-similar-go")
                self._file = gr.UploadButton(size="sm", scale=0, elem_id="a-similar-file")
                self._twins = gr.Button(size="sm", scale=0, elem_id="a-similar-twins")
        self._page = gr.HTML(elem_id="a-similar", apply_default_css=False)
        with gr.Row(elem_id="a-similar-files"):
            self._json = gr.DownloadButton(
                size="sm", scale=0, visible=False, elem_id="a-similar-json"
            )
            self._csv = gr.DownloadButton(
                size="sm", scale=0, visible=False, elem_id="a-similar-csv"
            )
        seen = [self.found, self._page, self._json, self._csv]
        self._go.click(self.look, [self._document, self._text, place, language], seen, **STREAMED)
        self._file.upload(self.read, [self._file, place, language], seen, **STREAMED)
        self._twins.click(self.twins, [place, language], seen, **STREAMED)

    @property
    def faces(self) -> list[Any]:
        """What `face` updates."""
        return [self._head, self._document, self._text, self._go, self._file, self._twins,
                self._page, self._json, self._csv]  # fmt: skip

    @property
    def documents(self) -> Any:
        """What `refresh` updates."""
        return self._document

    def face(self, words: Texts, place: str, found: Likes | None) -> Updates:
        """The tab in a language."""
        return {
            self._head: render.headline(words("similar.title"), words("similar.lead")),
            **self.refresh(place, words.language),
            self._text: gr.update(
                label=words("similar.text"), placeholder=words("similar.placeholder")
            ),
            self._go: gr.update(value=words("similar.go")),
            self._file: gr.update(label=words("similar.file")),
            self._twins: gr.update(value=words("similar.twins")),
            self._page: page(found, words),
            self._json: gr.update(label=words("similar.download", kind="JSON")),
            self._csv: gr.update(label=words("similar.download", kind="CSV")),
        }

    def refresh(self, place: str, language: Language) -> Updates:
        """The documents that can be chosen now."""
        words = texts(language)
        documents = self._assistant.at(place).documents()
        rows = [row for row in documents if row.status == "indexed"]
        names = [(f"{row.title} · {render.file_name(row.path)}", row.id) for row in rows]
        return {self._document: gr.update(choices=names, label=words("similar.document"))}

    def look(
        self, document: int | None, text: str, place: str, language: Language
    ) -> Iterator[Updates]:
        """Documents like a pasted text, or else like the chosen document."""
        words, attest = texts(language), self._assistant.at(place)
        if text.strip():
            title = words("similar.pasted")
            yield from self._found(title, lambda: _like_text(attest, text), words)
        elif document is None:
            yield {self._page: render.notice(words("similar.what"), words("similar.lead"))}
        else:
            row = attest.catalog.document(int(document))
            yield from self._found(row.title, lambda: attest.similar(row.id, k=_HITS), words)

    def read(self, file: str, place: str, language: Language) -> Iterator[Updates]:
        """Documents like a file, which is read and thrown away."""
        given, attest = Path(file), self._assistant.at(place)
        try:
            yield from self._found(
                given.name, lambda: attest.similar(given, k=_HITS), texts(language)
            )
        finally:
            given.unlink(missing_ok=True)

    def twins(self, place: str, language: Language) -> Iterator[Updates]:
        """Documents that are there more than once."""
        words = texts(language)
        yield {self._page: render.waiting(words("similar.comparing"))}
        try:
            found = self._assistant.at(place).duplicates()
        except Exception as error:
            yield {self._page: render.failure(explained(error, words), words)}
            return
        yield {
            self.found: Likes(duplicates=found),
            self._page: pairs.duplicates(found, words),
            self._json: self._written("duplicates.json", duplicates_text.as_json(found)),
            self._csv: self._written("duplicates.csv", duplicates_text.as_csv(found)),
        }

    def _found(self, title: str, look: Callable[[], Similar], words: Texts) -> Iterator[Updates]:
        yield {
            self._page: render.waiting(words("similar.comparing")),
            self._json: gr.update(visible=False),
            self._csv: gr.update(visible=False),
        }
        try:
            found = look()
        except Exception as error:
            yield {self._page: render.failure(explained(error, words), words)}
            return
        shape = json.dumps(similar_text.shape(found), ensure_ascii=False, indent=2)
        yield {
            self.found: Likes(title, similar=found),
            self._page: pairs.similar(title, found, words),
            self._json: self._written("similar.json", shape.encode("utf-8")),
        }

    def _written(self, name: str, content: bytes) -> Any:
        file = Path(tempfile.mkdtemp(dir=self._json.GRADIO_CACHE)) / f"attest-{name}"
        write_aside(file, content)
        return gr.update(value=str(file), visible=True)


def _like_text(attest: Assistant, text: str) -> Similar:
    if len(text) > _LONGEST:
        raise UsageError(
            f"the text has {len(text):,} characters, {_LONGEST:,} are taken: upload it as a file"
        )
    return attest.similar_to_text(text, k=_HITS)


def page(found: Likes | None, words: Texts) -> Markup:
    """What was found, or what the tab is for."""
    if found is None:
        return render.notice(words("similar.empty.title"), words("similar.empty.lead"))
    if found.duplicates is not None:
        return pairs.duplicates(found.duplicates, words)
    if found.similar is not None:
        return pairs.similar(found.title, found.similar, words)
    return Markup("")
