"""The Ask tab: a conversation that streams, with the sources of its answers beside it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import gradio as gr
from markupsafe import Markup

from index.analysis import is_korean
from index.errors import UnknownDocument
from index.records import StoredDocument
from rag.assistant import Assistant
from rag.records import Answer, Exchange, Within
from ui import render, turns
from ui.errors import explained
from ui.locale import Language, Texts, texts
from ui.theme import DIRECT, FOLLOWS, JUDGED, STREAMED
from ui.turns import Turn

_EXAMPLES = 4

Turns = tuple[Turn, ...]
Scope = Sequence[int | str]  # ids of documents, and tags with a # before them
Updates = dict[Any, Any]


class AskTab:
    """Components and what they do. A conversation lives in its session's state alone."""

    def __init__(self, assistant: Assistant, language: gr.Radio) -> None:
        self._assistant = assistant
        self.turns = gr.State(())
        self.coming = gr.State(None)  # the turn that is being answered
        with gr.Row(elem_id="a-ask"):
            with gr.Column(elem_id="a-chat"):
                self._past = gr.HTML(elem_id="a-past", apply_default_css=False, js_on_load=JUDGED)
                self._live = gr.HTML(elem_id="a-live", apply_default_css=False, js_on_load=FOLLOWS)
                self._build_composer()
            gr.HTML(
                '<aside id="a-source" aria-live="polite" hidden></aside>',
                elem_id="a-beside",
                apply_default_css=False,
            )
        self._connect(language)

    def _build_composer(self) -> None:
        with gr.Column(elem_id="a-composer"):
            self._question = gr.Textbox(
                value="",
                lines=1,
                max_lines=6,
                container=False,
                autofocus=True,
                elem_id="a-question",
            )
            with gr.Row(elem_id="a-tools"):
                self.scope = gr.Dropdown(multiselect=True, elem_id="a-scope")
                self._new = gr.Button(size="sm", visible=False, elem_id="a-new")
                self._stop = gr.Button(size="sm", visible=False, elem_id="a-stop")
                self._send = gr.Button(size="sm", variant="primary", elem_id="a-send")
        self._alone = gr.HTML(elem_id="a-alone", apply_default_css=False)

    def _connect(self, language: gr.Radio) -> None:
        given = [self._question, self.scope, self.turns, language]
        shown = [
            self._question, self.turns, self.coming, self._past, self._live,
            self._send, self._stop, self._new,
        ]  # fmt: skip
        asking = gr.on(
            [self._question.submit, self._send.click],
            self.ask,
            given,
            shown,
            **STREAMED,
        )
        example = self._past.click(_example, None, self._question, **DIRECT)
        asking_it = example.then(self.ask, given, shown, **STREAMED)
        stopped = [self.coming, self.turns, language]
        self._stop.click(self.stop, stopped, shown, cancels=[asking, asking_it], **DIRECT)
        self._new.click(self.clear, language, shown, **DIRECT)

    @property
    def faces(self) -> list[Any]:
        """What `face` updates."""
        return [self._past, self._question, self.scope, self._send, self._stop, self._new,
                self._alone]  # fmt: skip

    def face(self, words: Texts, turns_: Turns, coming: Turn | None, scope: Scope) -> Updates:
        """The tab in a language, over the documents that there are now."""
        documents = self._assistant.documents()
        choices = scopes(documents)
        there = {value for _, value in choices}
        past = turns.conversation(turns_, words)
        if not turns_ and not coming:
            past = self._greeting(documents, words)
        return {
            self._past: past,
            self._question: gr.update(
                placeholder=words("ask.placeholder"), label=words("ask.placeholder")
            ),
            self.scope: gr.update(
                label=words("ask.scope"),
                choices=choices,
                value=[chosen for chosen in scope if chosen in there],
            ),
            self._send: gr.update(value=words("ask.button")),
            self._stop: gr.update(value=words("ask.stop")),
            self._new: gr.update(value=words("ask.new")),
            self._alone: Markup("<p>{}</p>").format(words("ask.alone")),
        }

    def ask(
        self, question: str, scope: Scope, turns_: Turns, language: Language
    ) -> Iterator[Updates]:
        """Stream one answer into the page."""
        if not question.strip():
            yield {self._question: ""}
            return
        words, asked = texts(language), Turn(question.strip())
        number = len(turns_) + 1
        yield {
            self._question: "",
            self._past: turns.conversation(turns_, words),
            self._send: gr.update(visible=False),
            self._stop: gr.update(visible=True),
            self._new: gr.update(visible=False),
            self.coming: asked,
            self._live: turns.under_way(number, asked, words),
        }
        shown = asked
        earlier = tuple(Exchange.of(each.answer) for each in turns_ if each.answer is not None)
        for turn in self._answering(asked.question, scope, words, earlier):
            if turn is shown:
                yield {self._question: gr.skip()}  # nothing new, but a stop takes hold here
            elif not turn.settled:
                yield {self.coming: turn, self._live: turns.under_way(number, turn, words)}
            shown = turn
        yield self._settled((*turns_, turn), words)

    def stop(self, coming: Turn | None, turns_: Turns, language: Language) -> Updates:
        """Keep what had come until then."""
        kept = turns_ if coming is None else (*turns_, coming)
        return self._settled(kept, texts(language))

    def clear(self, language: Language) -> Updates:
        return self._settled((), texts(language))

    def _answering(
        self, question: str, scope: Scope, words: Texts, earlier: Sequence[Exchange] = ()
    ) -> Iterator[Turn]:
        """The turn as it grows, and last as it stays."""
        pieces: tuple[str, ...] = ()
        turn = Turn(question)
        try:
            within = chosen_by(scope, self._assistant.documents() if scope else ())
            for piece in self._assistant.stream(question, within=within, earlier=earlier):
                if isinstance(piece, Answer):
                    pending = self._assistant.status().pending
                    turn = Turn(
                        question,
                        piece,
                        self._surroundings(piece),
                        pending=pending,
                        learns=self._assistant.settings.remember_questions,
                    )
                elif piece:
                    pieces = (*pieces, piece)
                    turn = Turn(question, pieces=pieces)
                yield turn
        except Exception as error:
            yield Turn(question, pieces=pieces, failure=explained(error, words))

    def _surroundings(self, answer: Answer) -> tuple[str | None, ...]:
        known: dict[int, str | None] = {}
        for citation in answer.citations:
            key = citation.document.id
            if key not in known:
                try:
                    known[key] = self._assistant.text(key)
                except UnknownDocument:  # removed since it was found
                    known[key] = None
        return tuple(known[citation.document.id] for citation in answer.citations)

    def _settled(self, turns_: Turns, words: Texts) -> Updates:
        return {
            self.turns: turns_,
            self.coming: None,
            self._past: self._shown(turns_, words),
            self._live: "",
            self._send: gr.update(visible=True),
            self._stop: gr.update(visible=False),
            self._new: gr.update(visible=bool(turns_)),
        }

    def _shown(self, turns_: Turns, words: Texts) -> Markup:
        if turns_:
            return turns.conversation(turns_, words)
        return self._greeting(self._assistant.documents(), words)

    def _greeting(self, documents: Sequence[StoredDocument], words: Texts) -> Markup:
        return greeting([row for row in documents if row.status == "indexed"], words)


def greeting(documents: Sequence[StoredDocument], words: Texts) -> Markup:
    """The page before the first question: what can be asked of these documents."""
    if not documents:
        button = Markup('<button type="button" class="a-primary" data-tab="library">{}</button>')
        return render.notice(
            words("ask.empty.title"),
            words("ask.empty.lead"),
            more=button.format(words("ask.empty.button")),
        )
    head = render.headline(words("ask.title"), words.count("ask.lead", len(documents)))
    head += render.pending(sum(row.pending for row in documents), words)
    cards = render.joined(
        Markup('<li><button type="button" data-send="{0}">{0}</button></li>').format(question)
        for question in examples(documents, words)
    )
    return Markup('{}<h2 class="a-small">{}</h2><ul class="a-examples">{}</ul>').format(
        head, words("ask.examples"), cards
    )


def examples(documents: Sequence[StoredDocument], words: Texts) -> list[str]:
    """Questions that this library can answer, first those in the reader's language."""
    titles = list(dict.fromkeys(row.title for row in documents))
    named = [title for title in titles if " " in title] or titles  # others are file names
    korean = words.language == "ko"
    own = [title for title in named if is_korean(title) == korean] or named
    spread = own[:: max(1, len(own) // _EXAMPLES)][:_EXAMPLES]
    return [words("ask.example", title=title) for title in spread]


def scopes(documents: Sequence[StoredDocument]) -> list[tuple[str, int | str]]:
    """What a question can stay within, as it is shown and as it is chosen: tags, documents."""
    tags = sorted({tag for row in documents for tag in row.tags}, key=render.folded)
    rows = [row for row in documents if row.status == "indexed"]
    alike = Counter(row.title for row in rows)
    return [(f"#{tag}", f"#{tag}") for tag in tags] + [
        (row.title if alike[row.title] == 1 else f"{row.title} ({render.file_name(row.path)})",
         row.id)
        for row in rows
    ]  # fmt: skip


def chosen_by(scope: Scope, documents: Sequence[StoredDocument]) -> Within:
    """The documents that were chosen, each by itself or by one of its tags."""
    ids = [chosen for chosen in scope if isinstance(chosen, int)]
    tags = {chosen.removeprefix("#") for chosen in scope if isinstance(chosen, str)}
    if len(tags) == 1 and not ids:
        return Within(tags=tuple(tags))
    held = [row for row in documents if row.status in ("indexed", "duplicate")]
    ids += [row.id for row in held if not tags.isdisjoint(row.tags)]
    # Of tags that nothing has any more, no document is left: that is not the whole library.
    return Within(documents=tuple(dict.fromkeys(ids)), tags=() if ids else tuple(tags))


def _example(event: gr.EventData) -> str:
    return str(event._data["value"])
