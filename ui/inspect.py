"""The Inspect tab: attention, positions, vectors and attributions of one's own text."""

from collections.abc import Iterator, Sequence
from typing import Any, get_args

import gradio as gr
from markupsafe import Markup

from rag.assistant import Assistant
from rag.inspecting import Inspection
from ui import inspect_cards, render
from ui.errors import explained
from ui.inspect_map import Choice, View, fitting, map_of, panel
from ui.inspect_sources import cited, named, passage_of
from ui.kept_turns import Turns
from ui.locale import Language, Texts, texts
from ui.theme import CLICKS, DIRECT, STREAMED

_KEPT_S = 1200  # that what was looked into stays, some 20 MB; then it is looked into again

# A press puts new markup in the place of the button: focus stays on the token that was chosen.
_STAYS = """
let pressed = false;
element.addEventListener('click', (event) => {
    pressed = Boolean(event.target.closest('button[data-send]'));
});
watch('value', () => requestAnimationFrame(() => {
    if (pressed) element.querySelector('[aria-pressed=true]')?.focus();
    pressed = false;
}));
"""
# The source whose button was pressed comes with the tab.
_WANTED = "(_, ...rest) => [[window.attest.inspecting()], ...rest]"

Updates = dict[Any, Any]


class InspectTab:
    """Components and what they do. What was looked into lives in its session's state alone."""

    def __init__(
        self, assistant: Assistant, language: gr.Radio, place: gr.Textbox, turns: gr.State
    ) -> None:
        self._assistant, self._turns = assistant, turns
        self._place, self._language = place, language
        self.held = gr.State(None, time_to_live=_KEPT_S)
        self._pressed = gr.JSON(visible=False)  # only carries the source from the browser to here
        self._head = gr.HTML(elem_id="a-inspect-head", apply_default_css=False)
        with gr.Column(elem_id="a-inspect-form"):
            self._source = gr.Dropdown([], value=None, visible=False, elem_id="a-inspect-source")
            self._question = gr.Textbox(
                value="", lines=1, max_lines=3, elem_id="a-inspect-question"
            )
            self._passage = gr.Textbox(value="", lines=3, max_lines=8, elem_id="a-inspect-passage")
            self._go = gr.Button(variant="primary", size="sm", scale=0, elem_id="a-inspect-go")
        self._note = gr.HTML(elem_id="a-inspect-note", apply_default_css=False)
        with gr.Row(elem_id="a-inspect-bar", visible=False) as self._bar:
            self._view = gr.Radio(
                [("", view) for view in get_args(View)], value="passage", elem_id="a-inspect-view"
            )
            self._layer = gr.Slider(1, 12, value=6, step=1, elem_id="a-inspect-layer")
            self._headed = gr.Dropdown([("", 0)], value=0, elem_id="a-inspect-of")
        self._map = gr.HTML(elem_id="a-inspect-map", apply_default_css=False)
        self._encoder = gr.HTML(elem_id="a-inspect-encoder", apply_default_css=False)
        self._answer = gr.HTML(
            elem_id="a-inspect-answer", apply_default_css=False, js_on_load=f"{CLICKS}{_STAYS}"
        )
        self._connect()

    def come(self, tab: gr.Tab) -> None:
        """Offer sources whenever the tab comes into view."""
        asked = [self._question, self._passage, self._language]
        tab.select(
            self.offer,
            [self._pressed, self._turns, self._source, *asked],
            [self._source, self._question, self._passage],
            js=_WANTED,
            **DIRECT,
        )

    def _connect(self) -> None:
        asked = [self._question, self._passage, self._place, self._language]
        self._source.input(
            self.take, [self._turns, self._source], [self._question, self._passage], **DIRECT
        )
        seen = [self.held, self._note, self._bar, self._view, self._layer, self._headed,
                self._map, self._encoder, self._answer]  # fmt: skip
        choice = [self._view, self._layer, self._headed]
        gr.on(
            [self._go.click, self._question.submit], self.look, [*asked, *choice], seen, **STREAMED
        )
        self._view.input(
            self.turn,
            [self.held, *choice, *asked],
            [self.held, self._layer, self._headed, self._map],
            trigger_mode="always_last",
            **DIRECT,
        )
        for control in (self._layer.change, self._headed.input):
            control(
                self.show,
                [self.held, *choice, *asked],
                [self.held, self._map],
                trigger_mode="always_last",
                **DIRECT,
            )
        self._answer.click(self.press, [self.held, *asked], [self.held, self._answer], **DIRECT)

    @property
    def faces(self) -> list[Any]:
        """What `face` updates."""
        return [self._head, self._source, self._question, self._passage, self._go, self._note,
                self._bar, self._view, self._layer, self._headed, self._map, self._encoder,
                self._answer]  # fmt: skip

    def face(self, words: Texts, held: Inspection | None) -> Updates:
        """The tab in a language."""
        updates = {
            self._head: render.headline(words("inspect.title"), words("inspect.lead")),
            self._source: gr.update(label=words("inspect.source")),
            self._question: gr.update(
                label=words("inspect.question"), placeholder=words("inspect.question.hint")
            ),
            self._passage: gr.update(
                label=words("inspect.passage"), placeholder=words("inspect.passage.hint")
            ),
            self._go: gr.update(value=words("inspect.go")),
            self._layer: gr.update(label=words("inspect.layer")),
            self._note: "",
        }
        if held is None:
            note = render.notice(words("inspect.empty.title"), words("inspect.empty.lead"))
            return updates | self._blank(note)
        return updates | self._seen(held, fitting(held, _first(held)), words)

    def offer(
        self,
        pressed: Sequence[str] | None,
        turns: Turns,
        source: str | None,
        question: str,
        passage: str,
        language: Language,
    ) -> Updates:
        """The cited passages of the conversation; the last answer's first one, where none is there.

        Args:
            pressed: the source whose button was pressed, or ""
            source: that was chosen before
        """
        words = texts(language)
        found = cited(turns)
        choices = [(named(turns, key, words), key) for key in found]
        chosen = next((each for each in (*(pressed or ()), source) if each in found), None)
        if chosen is None and found and not (question.strip() or passage.strip()):
            chosen = next(iter(found))
        listed = gr.update(choices=choices, value=chosen, visible=bool(found))
        return {self._source: listed, **self.take(turns, chosen)}

    def take(self, turns: Turns, source: str | None) -> Updates:
        """The question and the passage of a source, into the form."""
        found = cited(turns)
        if source not in found:
            return {self._question: gr.skip(), self._passage: gr.skip()}
        question, citation = found[source]
        return {self._question: question, self._passage: passage_of(turns, source, citation)}

    def look(
        self,
        question: str,
        passage: str,
        place: str,
        language: Language,
        view: View,
        layer: float,
        head: int,
    ) -> Iterator[Updates]:
        """Ask both models."""
        words = texts(language)
        if not question.strip() or not passage.strip():
            yield {self._note: render.notice(words("inspect.what"), words("inspect.lead"))}
            return
        yield {self._note: render.waiting(words("inspect.looking"))}
        try:
            held = self._inspected(question, passage, place)
        except Exception as error:
            yield self._blank(render.failure(explained(error, words), words))
            return
        chosen = fitting(held, Choice(view, int(layer), int(head or 0)))
        yield {self.held: held, self._note: "", **self._seen(held, chosen, words)}

    def turn(
        self,
        held: Inspection | None,
        view: View,
        layer: float,
        head: int,
        question: str,
        passage: str,
        place: str,
        language: Language,
    ) -> Updates:
        """Another model or text: its layers and heads, and its map."""
        words = texts(language)
        try:
            held = held or self._inspected(question, passage, place)
        except Exception as error:
            return {self._map: render.failure(explained(error, words), words)}
        asked = Choice(view, int(layer), int(head or 0))
        chosen = fitting(held, asked)
        return {
            self.held: held,
            # A value that fits stays the reader's own: it may have moved on by now.
            **self._reach(held, chosen, words, keep=asked),
            self._map: panel(held, chosen, words),
        }

    def show(
        self,
        held: Inspection | None,
        view: View,
        layer: float,
        head: int,
        question: str,
        passage: str,
        place: str,
        language: Language,
    ) -> Updates:
        """Another layer or head."""
        shown = self.turn(held, view, layer, head, question, passage, place, language)
        return {key: shown[key] for key in (self.held, self._map) if key in shown}

    def press(
        self,
        held: Inspection | None,
        question: str,
        passage: str,
        place: str,
        language: Language,
        event: gr.EventData,
    ) -> Updates:
        """Another token of the answer."""
        words = texts(language)
        try:
            held = held or self._inspected(question, passage, place)
        except Exception as error:
            return {self._answer: render.failure(explained(error, words), words)}
        at = int(event._data["value"])
        return {self.held: held, self._answer: inspect_cards.generator(held, at, words)}

    def _inspected(self, question: str, passage: str, place: str) -> Inspection:
        return self._assistant.at(place).inspect(question, passage)

    def _blank(self, note: Markup) -> Updates:
        cleared = dict.fromkeys((self._map, self._encoder, self._answer), "")
        return {self._note: note, self._bar: gr.update(visible=False), **cleared}

    def _seen(self, held: Inspection, chosen: Choice, words: Texts) -> Updates:
        return {
            self._bar: gr.update(visible=True),
            **self._controls(held, chosen, words),
            self._map: panel(held, chosen, words),
            self._encoder: inspect_cards.encoder(held, words),
            self._answer: inspect_cards.generator(held, None, words),
        }

    def _controls(self, held: Inspection, chosen: Choice, words: Texts) -> Updates:
        views = [each for each in get_args(View) if each != "generator" or held.generator]
        return {
            self._view: gr.update(
                choices=[(words(f"inspect.view.{each}"), each) for each in views],
                value=chosen.view,
                label=words("inspect.view"),
            ),
            **self._reach(held, chosen, words),
        }

    def _reach(
        self, held: Inspection, chosen: Choice, words: Texts, keep: Choice | None = None
    ) -> Updates:
        """Layers and heads that there are, and those chosen where they are not kept already."""
        seen = map_of(held, chosen.view)
        heads = [(words("inspect.head.mean"), 0)]
        heads += [(words("inspect.head", n=n), n) for n in range(1, seen.heads + 1)]
        moved = keep is None or keep.layer != chosen.layer
        turned = keep is None or keep.head != chosen.head
        layer: Updates = {"value": chosen.layer} if moved else {}
        head: Updates = {"value": chosen.head} if turned else {}
        label = words("inspect.head.label")
        return {
            self._layer: gr.update(maximum=seen.layers, **layer),
            self._headed: gr.update(choices=heads, label=label, **head),
        }


def _first(held: Inspection) -> Choice:
    """What is shown at first: half-way through the encoder, all heads together."""
    return Choice(layer=(held.encoder.passage_map.layers + 1) // 2)
