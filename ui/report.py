"""The Report tab: the library in groups, to read here and to download as one page."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr
from markupsafe import Markup

from rag.assistant import Assistant
from rag.records import Report, ReportCluster
from ui import render
from ui.errors import explained
from ui.locale import Language, Texts, texts
from ui.markdown import marks_of, shown
from ui.theme import STREAMED

_FILE = "attest-report.html"
_MEMBERS = 8  # of a group, shown before the others fold away: page.css says the same

Updates = dict[Any, Any]


class ReportTab:
    """Components and what they do. The report lives in its session's state alone."""

    def __init__(self, assistant: Assistant, language: gr.Radio) -> None:
        self._assistant = assistant
        self.made = gr.State(None)
        self._head = gr.HTML(elem_id="a-report-head", apply_default_css=False)
        with gr.Row(elem_id="a-report-bar"):
            self._build = gr.Button(variant="primary", size="sm", scale=0, elem_id="a-build")
            self._download = gr.DownloadButton(
                size="sm", scale=0, visible=False, elem_id="a-download"
            )
        self._page = gr.HTML(elem_id="a-report", apply_default_css=False)
        shown = [self.made, self._build, self._download, self._page]
        self._build.click(self.build, language, shown, **STREAMED)

    @property
    def faces(self) -> list[Any]:
        """What `face` updates."""
        return [self._head, self._build, self._download, self._page]

    def face(self, words: Texts, made: Report | None) -> Updates:
        """The tab in a language."""
        return {
            self._head: render.headline(words("report.title"), words("report.lead")),
            self._build: gr.update(value=words("report.button")),
            self._download: gr.update(label=words("report.download")),
            self._page: page(made, words),
        }

    def build(self, language: Language) -> Iterator[Updates]:
        words = texts(language)
        yield {
            self._build: gr.update(interactive=False),
            self._download: gr.update(visible=False),
            self._page: render.waiting(words("report.building")),
        }
        file = Path(tempfile.mkdtemp(dir=self._download.GRADIO_CACHE)) / _FILE
        try:
            made = self._assistant.report(file)
            yield {
                self.made: made,
                self._download: gr.update(value=str(file), visible=made.n_documents > 0),
                self._page: page(made, words),
            }
        except Exception as error:
            yield {self._page: render.failure(explained(error, words), words)}
        yield {self._build: gr.update(interactive=True)}


def page(made: Report | None, words: Texts) -> Markup:
    """A report, or what to do to get one."""
    if made is None:
        return render.notice(words("report.empty.title"), words("report.empty.lead"))
    if not made.n_documents:
        return render.notice(words("report.nothing.title"), words("report.nothing.lead"))
    summary = words(
        "report.summary",
        documents=words.count("documents", made.n_documents),
        groups=words.count("groups", len(made.clusters)),
    )
    if (separation := made.metrics.get("silhouette")) is not None:
        summary += " · " + words("report.separation", value=f"{separation:.2f}")
    return Markup('<h2 class="a-found">{}</h2>{}<div class="a-groups">{}</div>').format(
        summary,
        render.joined(Markup('<p class="a-notes">{}</p>').format(note) for note in made.notes),
        render.joined(_group(cluster, words) for cluster in made.clusters),
    )


def _group(cluster: ReportCluster, words: Texts) -> Markup:
    return Markup(
        '<section class="a-group"><header><h3>{}</h3><small>{}</small></header>'
        '<ul class="a-words">{}</ul>{}<ul class="a-members">{}</ul>{}</section>'
    ).format(
        cluster.label,
        words.count("documents", len(cluster.documents)),
        render.joined(Markup("<li>{}</li>").format(word) for word in cluster.words),
        render.joined(
            Markup("<blockquote>{}</blockquote>").format(_quoted(sentence, cluster))
            for sentence in cluster.representative[:1]
        ),
        render.joined(
            Markup('<li class="a-cut" title="{path}">{title}</li>').format(
                path=row.path, title=row.title
            )
            for row in cluster.documents
        ),
        render.unfolding(words("more.documents", n=len(cluster.documents)), words)
        if len(cluster.documents) > _MEMBERS
        else "",
    )


def _quoted(sentence: str, cluster: ReportCluster) -> str:
    """A sentence of one of the documents, without marks where all of them are of the same kind."""
    kinds = {row.media_type for row in cluster.documents}
    marks = marks_of(sentence, kinds.pop()) if len(kinds) == 1 else ()
    return shown(render.flowed(sentence), 0, len(sentence), marks)
