"""The Models tab: what is here and at work, what the library learned, and when it declines."""

from collections.abc import Iterator
from typing import Any

import gradio as gr
from markupsafe import Markup

from rag.assistant import Assistant
from rag.models import listed, manifest
from ui import calibration, model_cards, render
from ui.background import Watch
from ui.errors import explained
from ui.evaluations import Evaluations
from ui.locale import Language, Texts, texts
from ui.running import Running, told
from ui.theme import CLICKS, DIRECT, KEEPS, STREAMED

_MINUTES = (3, 10, 30)

Updates = dict[Any, Any]


class ModelsTab:
    """Components and what they do; models and what was learned belong to the library."""

    def __init__(self, assistant: Assistant, language: gr.Radio, place: gr.Textbox) -> None:
        self._assistant = assistant
        self._head = gr.HTML(elem_id="a-models-head", apply_default_css=False)
        self._cards = gr.HTML(elem_id="a-models", apply_default_css=False, js_on_load=CLICKS)
        self._pulled = gr.HTML(elem_id="a-pulled", apply_default_css=False)
        with gr.Column(elem_id="a-learning"):
            self._about = gr.HTML(elem_id="a-adapt-about", apply_default_css=False)
            with gr.Row(elem_id="a-adapt-bar"):
                self._adapt = gr.Button(size="sm", variant="primary", scale=0, elem_id="a-adapt")
                self._minutes = gr.Radio(
                    list(_MINUTES), value=_MINUTES[1], container=False, elem_id="a-minutes"
                )
                self._learning = Running(self._adapt, "adapt")
                self._back = gr.Button(size="sm", visible=False, scale=0, elem_id="a-rollback")
            self._learned = gr.HTML(elem_id="a-learned", apply_default_css=False, js_on_load=KEEPS)
        with gr.Column(elem_id="a-calibration"):
            self._fit_about = gr.HTML(elem_id="a-calibrate-about", apply_default_css=False)
            with gr.Row(elem_id="a-calibrate-bar"):
                self._fit = gr.Button(size="sm", scale=0, elem_id="a-calibrate")
                self._fitting = Running(self._fit, "calibrate")
            self._fitted = gr.HTML(elem_id="a-fitted", apply_default_css=False, js_on_load=KEEPS)
        self._evaluations = Evaluations(assistant, language, place)
        self._connect(language, place)

    def _connect(self, language: gr.Radio, place: gr.Textbox) -> None:
        self._cards.click(self.pull, [place, language], [self._cards, self._pulled], **STREAMED)
        learning = [*self._learning.changing, self._back, self._learned]
        self._learning.connect()
        self._fitting.connect()
        self._adapt.click(self.adapt, [self._minutes, place, language], learning, **STREAMED)
        self._back.click(self.rollback, [place, language], learning, **DIRECT)
        self._fit.click(
            self.calibrate, [place, language], [*self._fitting.changing, self._fitted], **STREAMED
        )

    @property
    def faces(self) -> list[Any]:
        """What `face` updates."""
        return [self._head, self._cards, self._about, self._adapt, self._minutes, self._back,
                self._learned, self._fit_about, self._fit, self._fitted, self._learning.ends,
                self._fitting.ends, *self._evaluations.faces]  # fmt: skip

    @property
    def changing(self) -> list[Any]:
        """What `refresh` updates."""
        return [self._cards, self._learned, self._back, self._fitted, self._evaluations.listing]

    def face(self, words: Texts, place: str) -> Updates:
        """The tab in a language."""
        return {
            self._head: render.headline(words("models.title"), words("models.lead")),
            self._about: _section("adapt", words),
            self._adapt: gr.update(value=words("models.adapt.button")),
            self._minutes: gr.update(
                choices=[(words("models.minutes", n=n), n) for n in _MINUTES],
                label=words("models.minutes.label"),
            ),
            self._fit_about: _section("calibrate", words),
            self._fit: gr.update(value=words("models.calibrate.button")),
            **self._learning.face(words),
            **self._fitting.face(words),
            **self._evaluations.face(words),
            **self.refresh(place, words.language),
        }

    def refresh(self, place: str, language: Language) -> Updates:
        """The tab over the models and the library that there are now."""
        words, attest = texts(language), self._assistant.at(place)
        adapters = _adapters(attest)
        return {
            self._cards: _listed(attest, words),
            self._learned: model_cards.learned(adapters, words),
            self._back: gr.update(
                value=words("models.rollback"), visible=any(each.active for each in adapters)
            ),
            self._fitted: calibration.shown(calibration.kept(attest), words),
            **self._evaluations.refresh(attest, words),
        }

    def pull(self, place: str, language: Language, event: gr.EventData) -> Iterator[Updates]:
        """Fetch the model whose button was pressed, and tell how much of it is here."""
        from rag.fetching import pull

        words, name = texts(language), str(event._data["value"])
        if name not in manifest():  # a browser sends what it likes
            return

        def fetch(watch: Watch) -> str:
            def progress(_what: str, done: int, total: int) -> None:
                watch(render.size(done), done / max(1, total))

            pull(name, self._assistant.settings.models_dir, progress=progress)
            return words("models.pulled", name=name)

        yield from told(fetch, self._pulled, words, _done)
        yield {self._cards: _listed(self._assistant.at(place), words)}

    def adapt(self, minutes: int, place: str, language: Language) -> Iterator[Updates]:
        """Let the library learn; what is better with confidence is in use at once."""
        from rag.adaptation_report import record
        from rag.adapting import adapt
        from rag.adapting_run import Wish

        words, attest = texts(language), self._assistant.at(place)
        chosen = minutes if minutes in _MINUTES else _MINUTES[0]
        yield from self._learning.told(
            lambda watch: record(adapt(attest, Wish(minutes=chosen), watch=watch)),
            self._learned,
            words,
            model_cards.report,
        )
        adapters = _adapters(attest)
        visible = any(each.active for each in adapters)
        yield {**self._learning.over(), self._back: gr.update(visible=visible)}

    def rollback(self, place: str, language: Language) -> Updates:
        """Take back what was learned, at once."""
        from rag.adapting import rollback

        words = texts(language)
        try:
            rollback(self._assistant.at(place))
            said = _done(words("models.rolled_back"), words)
        except Exception as error:
            said = render.failure(explained(error, words), words)
        return {self._learned: said, self._back: gr.update(visible=False)}

    def calibrate(self, place: str, language: Language) -> Iterator[Updates]:
        """Fit to the library when questions are declined."""
        from rag.declining import calibrate_both

        words, attest = texts(language), self._assistant.at(place)

        def fit(watch: Watch) -> list[calibration.Fit]:
            calibrate_both(attest, watch=watch)
            return calibration.kept(attest)

        yield from self._fitting.told(fit, self._fitted, words, calibration.shown)
        yield self._fitting.over()


def _listed(attest: Assistant, words: Texts) -> Markup:
    status, settings = attest.status(), attest.settings
    remote = settings.generator_model if settings.generator_url else None
    at_work = {status.encoder, settings.generator}
    return model_cards.cards(listed(settings.models_dir), at_work, remote, words)


def _adapters(attest: Assistant) -> tuple[Any, ...]:
    name = attest.settings.collection
    if not attest.exists(name):
        return ()
    return attest.catalog.adapters(name)


def _section(key: str, words: Texts) -> Markup:
    return Markup('<h2 class="a-found">{}</h2><p class="a-lead">{}</p>').format(
        words(f"models.{key}.title"), words(f"models.{key}.lead")
    )


def _done(said: str, words: Texts) -> Markup:
    return Markup('<p class="a-done" role="status" lang="{}">{}</p>').format(words.language, said)
