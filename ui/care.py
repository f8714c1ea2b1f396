"""Below the list of documents: what lies on disk, whether all is well, and folders to follow."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr
from markupsafe import Markup

from index.records import StoredDocument
from rag.assistant import Assistant
from rag.ingest import Outcome
from rag.sources import on_disk
from ui import render
from ui.errors import explained
from ui.locale import Language, Texts, texts
from ui.theme import KEEPS, STREAMED
from ui.visitor import owner

_STEP = 5  # files between two looks at how far a folder has come

Updates = dict[Any, Any]


class Care:
    """Components and what they do; a part of the Library tab."""

    def __init__(self, assistant: Assistant, language: gr.Radio, place: gr.Textbox) -> None:
        self._assistant = assistant
        with gr.Column(elem_id="a-care"):
            self._title = gr.HTML(elem_id="a-care-title", apply_default_css=False)
            self._sizes = gr.HTML(elem_id="a-sizes", apply_default_css=False)
            with gr.Row(elem_id="a-care-acts"):
                self._verify = gr.Button(size="sm", elem_id="a-verify")
            self._health = gr.HTML(elem_id="a-health", apply_default_css=False, js_on_load=KEEPS)
            with gr.Row(elem_id="a-folder-bar"):
                self._folder = gr.Textbox(value="", lines=1, container=False, elem_id="a-folder")
                self._sync = gr.Button(size="sm", scale=0, elem_id="a-sync")
            self._prune = gr.Checkbox(value=False, interactive=True, elem_id="a-prune")
            self._news = gr.HTML(elem_id="a-synced", apply_default_css=False, js_on_load=KEEPS)
        self._verify.click(self.verify, language, [self._health, self._verify], **STREAMED)
        self.synced = gr.on(
            [self._folder.submit, self._sync.click],
            self.sync,
            [self._folder, self._prune, place, language],
            [self._news, self._sync],
            **STREAMED,
        )

    @property
    def faces(self) -> list[Any]:
        """What `face` updates."""
        return [self._title, self._sizes, self._verify, self._health, self._folder, self._sync,
                self._prune]  # fmt: skip

    def face(self, words: Texts) -> Updates:
        """The part in a language."""
        folder = words("care.folder")
        return {
            self._title: Markup('<h2 class="a-found">{}</h2>').format(words("care.title")),
            self._sizes: sizes(self._assistant.settings.home, words),
            self._verify: gr.update(value=words("care.verify")),
            self._health: "",
            self._folder: gr.update(placeholder=folder, label=folder),
            self._sync: gr.update(value=words("care.sync")),
            self._prune: gr.update(label=words("care.prune")),
        }

    def verify(self, language: Language) -> Iterator[Updates]:
        """Count everything against everything."""
        words = texts(language)
        yield {
            self._health: render.waiting(words("care.checking")),
            self._verify: gr.update(interactive=False),
        }
        try:
            problems = [problem.detail for problem in self._assistant.verify().problems]
            said = health(problems, words)
        except Exception as error:
            said = render.failure(explained(error, words), words)
        yield {self._health: said, self._verify: gr.update(interactive=True)}

    def sync(
        self, folder: str, prune: bool, place: str, language: Language, request: gr.Request
    ) -> Iterator[Updates]:
        """Bring the library to what a folder of this machine holds; nobody may from elsewhere."""
        words = texts(language)
        if owner(request):
            yield {self._news: Markup('<p class="a-notes">{}</p>').format(words("care.here"))}
            return
        if not folder.strip():
            return
        yield {self._sync: gr.update(interactive=False)}
        done = list[Outcome]()
        try:
            for outcome in self._assistant.at(place).sync(folder.strip(), prune=prune):
                done.append(outcome)
                if len(done) % _STEP == 1:
                    waits = words("care.syncing", n=f"{len(done):,}")
                    yield {self._news: render.waiting(waits)}
            news = synced(folder.strip(), done, words)
        except Exception as error:
            news = render.failure(explained(error, words), words)
        yield {self._news: news, self._sync: gr.update(interactive=True)}


def sizes(home: Path, words: Texts) -> Markup:
    """How much of the disk the home takes, by what it is for."""
    parts = {
        "database": sum(_size(file) for file in home.glob("attest.db*")),
        "indexes": _below(home / "indexes"),
        "uploads": _below(home / "uploads"),
    }
    rows = render.joined(
        Markup("<div><dt>{}</dt><dd>{}</dd></div>").format(words(f"care.{key}"), render.size(n))
        for key, n in parts.items()
    )
    return Markup('<dl class="a-facts">{}</dl>').format(rows)


def health(problems: list[str], words: Texts) -> Markup:
    """What a check found."""
    if not problems:
        return Markup('<p class="a-done" role="status">{}</p>').format(words("care.well"))
    lines = render.joined(
        Markup("<li>{}</li>").format(render.told(problem, words)) for problem in problems
    )
    return Markup('<div class="a-failure" role="alert">{}<ul>{}</ul></div>').format(
        words.count("care.problems", len(problems)), lines
    )


def synced(folder: str, done: list[Outcome], words: Texts) -> Markup:
    """What became of the files of a folder, in numbers, and which of them could not be read."""
    counts = Counter(outcome.status for outcome in done)
    summary = ", ".join(f"{words(f'status.{status}')} {n:,}" for status, n in counts.items())
    line = words("care.synced", path=folder, summary=summary or words("care.empty"))
    failed = render.joined(
        Markup("<li>{}: {}</li>").format(
            render.file_name(outcome.path), render.told(outcome.reason or "", words)
        )
        for outcome in done
        if outcome.status == "failed"
    )
    return Markup('<p class="a-done" role="status">{}</p><ul class="a-notes">{}</ul>').format(
        line, failed
    )


def reread(assistant: Assistant, row: StoredDocument, words: Texts) -> Markup:
    """Read a document's file once more, and say what became of it."""
    file = on_disk(row.path)
    if file is None:
        return render.failure(words("library.reread.gone", path=row.path), words)
    outcomes = list(assistant.ingest([file]))
    own = [each for each in outcomes if each.path == row.path] or outcomes
    status = ", ".join(dict.fromkeys(words(f"status.{each.status}") for each in own))
    said = words("library.reread.done", title=row.title, status=status)
    reasons = dict.fromkeys(each.reason for each in own if each.reason)
    return Markup('<p class="a-done" role="status">{} {}</p>').format(
        said, render.joined(render.told(reason, words) for reason in reasons)
    )


def _below(folder: Path) -> int:
    return sum(_size(file) for file in folder.rglob("*") if file.is_file())


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:  # it went meanwhile
        return 0
