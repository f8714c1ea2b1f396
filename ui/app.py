"""The page as a whole: header and tabs, in the reader's language."""

from typing import Any

import gradio as gr
from fastapi import FastAPI
from markupsafe import Markup

from rag.assistant import Assistant
from rag.inspecting import Inspection
from rag.records import Report
from ui.ask import AskTab
from ui.every import EveryTab, Run
from ui.inspect import InspectTab
from ui.kept_turns import Turns
from ui.library import LibraryTab
from ui.locale import COOKIE, Language, Texts, choose, texts
from ui.models import ModelsTab
from ui.report import ReportTab
from ui.routes import add_routes
from ui.scope import Scope
from ui.search import Found, SearchTab
from ui.similar import Likes, SimilarTab
from ui.theme import DIRECT, FAVICON, SHOWN, SWITCHED, head, theme
from ui.turns import Turn
from ui.visitor import owner

_KEPT_S = 3600  # how long a file that was made for a download stays

Updates = dict[Any, Any]


def mount(app: FastAPI, assistant: Assistant) -> FastAPI:
    """Put the page at / of the service, whose own routes stay where they are."""
    add_routes(app, assistant)
    mounted: FastAPI = gr.mount_gradio_app(
        app,
        Page(assistant).blocks,
        path="/",
        theme=theme(),
        head=head(),
        favicon_path=str(FAVICON),
        footer_links=[],
        run_history=False,
        show_error=False,
        ssr_mode=False,
        max_file_size=f"{assistant.settings.max_upload_mb}mb",
    )
    return mounted


class Page:
    """The tabs over one assistant. What belongs to a visit is in Gradio's session state."""

    def __init__(self, assistant: Assistant) -> None:
        self._setting = assistant.settings.language
        forced = self._setting != "auto"
        with gr.Blocks(
            title="Attest", analytics_enabled=False, delete_cache=(_KEPT_S, _KEPT_S)
        ) as self.blocks:
            with gr.Row(elem_id="a-header"):
                self._brand = gr.HTML(elem_id="a-brand", apply_default_css=False)
                self._language = gr.Radio(
                    [("English", "en"), ("한국어", "ko")],
                    value=self._setting if forced else "en",
                    visible=not forced,
                    container=False,
                    elem_id="a-language",
                )
            with gr.Tabs(elem_id="a-tabs"):
                with gr.Tab(elem_id="a-tab-ask") as asking:
                    self._ask = AskTab(assistant, self._language)
                with gr.Tab(elem_id="a-tab-search") as searching:
                    self._search = SearchTab(assistant, self._language)
                with gr.Tab(elem_id="a-tab-similar") as comparing:
                    self._similar = SimilarTab(assistant, self._language)
                with gr.Tab(elem_id="a-tab-every") as asking_all:
                    self._every = EveryTab(assistant, self._language)
                with gr.Tab(elem_id="a-tab-library") as keeping:
                    self._library = LibraryTab(assistant, self._language)
                with gr.Tab(elem_id="a-tab-report") as reporting:
                    self._report = ReportTab(assistant, self._language)
                with gr.Tab(elem_id="a-tab-models") as modelling:
                    self._models = ModelsTab(assistant, self._language)
                with gr.Tab(elem_id="a-tab-inspect") as inspecting:
                    self._inspect = InspectTab(assistant, self._language, self._ask.turns)
            self._tabs = {
                "ask": asking, "search": searching, "similar": comparing,
                "every": asking_all, "library": keeping, "report": reporting,
                "models": modelling, "inspect": inspecting,
            }  # fmt: skip
            self._connect()

    def _connect(self) -> None:
        ask = [self._ask.turns, self._ask.coming, self._ask.scope, self._ask.talk,
               self._ask.wanted]  # fmt: skip
        visit = [*ask, self._search.found, self._library.wanted, self._report.made,
                 self._similar.found, self._every.made, self._inspect.held]  # fmt: skip
        faces = [self._language, self._brand, *self._tabs.values(), *self._ask.faces,
                 *self._search.faces, *self._similar.faces, *self._every.faces,
                 *self._library.faces, *self._report.faces,
                 *self._models.faces, *self._inspect.faces]  # fmt: skip
        opened = self.blocks.load(self.open, None, faces, **DIRECT)
        switched = self._language.input(self.show, [self._language, *visit], faces, **DIRECT)
        for event, script in ((opened, SHOWN), (switched, SWITCHED)):
            event.then(None, self._language, None, js=script, **DIRECT)
        # Documents and tags come and go, here and in other processes.
        self._tabs["search"].select(
            self._search.refresh, self._language, self._search.form, **DIRECT
        )
        self._tabs["similar"].select(
            self._similar.refresh, self._language, self._similar.documents, **DIRECT
        )
        self._tabs["every"].select(self._every.refresh, self._language, self._every.scope, **DIRECT)
        looked = self._tabs["library"].select(
            self._library.refresh,
            [self._library.wanted, self._language],
            self._library.lists,
            **DIRECT,
        )
        self._tabs["models"].select(
            self._models.refresh, self._language, self._models.changing, **DIRECT
        )
        self._inspect.come(self._tabs["inspect"])
        for event in (looked, *self._library.changes):
            event.then(self._see_ask, [self._language, *ask], self._ask.faces, **DIRECT)

    def open(self, request: gr.Request) -> Updates:
        """The page for a browser that has just come."""
        accepted = request.headers.get("accept-language")
        language = choose(self._setting, request.cookies.get(COOKIE), accepted)
        nothing = (None, (), None, None, None, None, None, None, None, None)
        return self.show(language, (), *nothing, request)

    def show(
        self,
        language: Language,
        turns: Turns,
        coming: Turn | None,
        scope: Scope,
        talk: str | None,
        talks_wanted: str | None,
        found: Found | None,
        wanted: str | None,
        made: Report | None,
        likes: Likes | None,
        run: Run | None,
        held: Inspection | None,
        request: gr.Request,
    ) -> Updates:
        """The whole page in a language; what was asked and found stays."""
        words = texts(language)
        asked = (turns, coming, scope, talk, talks_wanted)
        return {
            self._language: gr.update(value=language, label=words("header.language")),
            self._brand: brand(words),
            **{tab: gr.update(label=words(f"tab.{key}")) for key, tab in self._tabs.items()},
            **self._ask.face(words, *asked, owner(request)),
            **self._search.face(words, found),
            **self._similar.face(words, likes),
            **self._every.face(words, run),
            **self._library.face(words, wanted),
            **self._report.face(words, made),
            **self._models.face(words),
            **self._inspect.face(words, held),
        }

    def _see_ask(
        self,
        language: Language,
        turns: Turns,
        coming: Turn | None,
        scope: Scope,
        talk: str | None,
        talks_wanted: str | None,
        request: gr.Request,
    ) -> Updates:
        asked = (turns, coming, scope, talk, talks_wanted)
        return self._ask.face(texts(language), *asked, owner(request))


def brand(words: Texts) -> Markup:
    return Markup(
        '<div class="a-brand"><i class="a-mark" aria-hidden="true"></i><strong>Attest</strong>'
        "<span>{}</span></div>"
    ).format(words("header.tagline"))
