"""The page as a whole: header and tabs, in the reader's language."""

from typing import Any

import gradio as gr
from fastapi import FastAPI
from markupsafe import Markup

from rag.assistant import Assistant
from rag.inspecting import Inspection
from rag.records import Report
from ui.ask import AskTab
from ui.collections import chooser
from ui.every import EveryTab, Run
from ui.inspect import InspectTab
from ui.kept_turns import Turns
from ui.library import LibraryTab
from ui.locale import COOKIE, Language, Texts, choose
from ui.models import ModelsTab
from ui.report import ReportTab
from ui.routes import add_routes
from ui.scope import Scope
from ui.search import Found, SearchTab
from ui.similar import Likes, SimilarTab
from ui.theme import DIRECT, FAVICON, SHOWN, SWITCHED, head, theme
from ui.turns import Turn
from ui.visitor import COOKIE as PLACE_COOKIE
from ui.visitor import Visit, chosen

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
        self._assistant = assistant
        self._setting = assistant.settings.language
        forced = self._setting != "auto"
        with gr.Blocks(
            title="Attest", analytics_enabled=False, delete_cache=(_KEPT_S, _KEPT_S)
        ) as self.blocks:
            with gr.Row(elem_id="a-header"):
                self._brand = gr.HTML(elem_id="a-brand", apply_default_css=False)
                self._chooser = gr.HTML(elem_id="a-chooser", apply_default_css=False)
                # The browser holds it: two visits, or a restart, mix nothing up.
                self._place = gr.Textbox(assistant.settings.collection, visible=False)
                self._language = gr.Radio(
                    [("English", "en"), ("한국어", "ko")],
                    value=self._setting if forced else "en",
                    visible=not forced,
                    container=False,
                    elem_id="a-language",
                )
            given = (assistant, self._language, self._place)
            with gr.Tabs(elem_id="a-tabs"):
                with gr.Tab(elem_id="a-tab-ask") as asking:
                    self._ask = AskTab(*given)
                with gr.Tab(elem_id="a-tab-search") as searching:
                    self._search = SearchTab(*given)
                with gr.Tab(elem_id="a-tab-similar") as comparing:
                    self._similar = SimilarTab(*given)
                with gr.Tab(elem_id="a-tab-every") as asking_all:
                    self._every = EveryTab(*given)
                with gr.Tab(elem_id="a-tab-library") as keeping:
                    self._library = LibraryTab(*given)
                with gr.Tab(elem_id="a-tab-report") as reporting:
                    self._report = ReportTab(*given)
                with gr.Tab(elem_id="a-tab-models") as modelling:
                    self._models = ModelsTab(*given)
                with gr.Tab(elem_id="a-tab-inspect") as inspecting:
                    self._inspect = InspectTab(*given, self._ask.turns)
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
        seen = [self._place, self._language]
        faces = [self._language, self._place, self._brand, self._chooser,
                 *self._tabs.values(), *self._ask.faces,
                 *self._search.faces, *self._similar.faces, *self._every.faces,
                 *self._library.faces, *self._report.faces,
                 *self._models.faces, *self._inspect.faces]  # fmt: skip
        opened = self.blocks.load(self.open, None, faces, **DIRECT)
        switched = self._language.input(self.show, [*seen, *visit], faces, **DIRECT)
        for event, script in ((opened, SHOWN), (switched, SWITCHED)):
            event.then(None, self._language, None, js=script, **DIRECT)
        # Documents and tags come and go, here and in other processes.
        self._tabs["search"].select(self._search.refresh, seen, self._search.form, **DIRECT)
        self._tabs["similar"].select(self._similar.refresh, seen, self._similar.documents, **DIRECT)
        self._tabs["every"].select(self._every.refresh, seen, self._every.scope, **DIRECT)
        looked = self._tabs["library"].select(
            self._library.refresh,
            [self._library.wanted, *seen],
            self._library.lists,
            **DIRECT,
        )
        self._tabs["models"].select(self._models.refresh, seen, self._models.changing, **DIRECT)
        # What was asked is forgotten: what stands in the chat is too.
        self._library.forgot.then(
            self._ask.clear, [self._ask.wanted, *seen], self._ask.chat, **DIRECT
        )
        self._inspect.come(self._tabs["inspect"])
        for event in (looked, *self._library.changes):
            event.then(self._see_ask, [*seen, *ask], self._ask.faces, **DIRECT)

    def open(self, request: gr.Request) -> Updates:
        """The page for a browser that has just come."""
        accepted = request.headers.get("accept-language")
        language = choose(self._setting, request.cookies.get(COOKIE), accepted)
        place = chosen(self._assistant, request.cookies.get(PLACE_COOKIE))
        nothing = (None, (), None, None, None, None, None, None, None, None)
        return self.show(place, language, (), *nothing, request)

    def show(
        self,
        place: str,
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
        visit = Visit.of(self._assistant, place, language, request)
        words = visit.words
        asked = (turns, coming, scope, talk, talks_wanted)
        return {
            self._language: gr.update(value=language, label=words("header.language")),
            self._place: place,
            self._brand: brand(words),
            self._chooser: chooser(visit.attest, self._assistant.settings.collection, words),
            **{tab: gr.update(label=words(f"tab.{key}")) for key, tab in self._tabs.items()},
            **self._ask.face(visit, *asked),
            **self._search.face(words, place, found),
            **self._similar.face(words, place, likes),
            **self._every.face(words, place, run),
            **self._library.face(words, place, wanted),
            **self._report.face(words, made),
            **self._models.face(words, place),
            **self._inspect.face(words, held),
        }

    def _see_ask(
        self,
        place: str,
        language: Language,
        turns: Turns,
        coming: Turn | None,
        scope: Scope,
        talk: str | None,
        talks_wanted: str | None,
        request: gr.Request,
    ) -> Updates:
        visit = Visit.of(self._assistant, place, language, request)
        return self._ask.face(visit, turns, coming, scope, talk, talks_wanted)


def brand(words: Texts) -> Markup:
    return Markup(
        '<div class="a-brand"><i class="a-mark" aria-hidden="true"></i><strong>Attest</strong>'
        "<span>{}</span></div>"
    ).format(words("header.tagline"))
