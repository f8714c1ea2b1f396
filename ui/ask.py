"""The Ask tab: a conversation that streams, with the sources of its answers beside it."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import gradio as gr
from markupsafe import Markup

from index import StorageError
from rag.assistant import Assistant
from rag.errors import AttestError
from rag.records import Answer, Exchange
from ui import turns
from ui.errors import explained
from ui.greeting import Examples, greeting
from ui.kept_turns import Turns, answered, reopened, thought
from ui.locale import Language
from ui.scope import Scope, chosen_by, scopes
from ui.talks import drawer_button, listed
from ui.theme import DIRECT, FOLLOWS, JUDGED, STREAMED, TALKS
from ui.turns import Turn
from ui.visitor import Visit

Updates = dict[Any, Any]


class AskTab:
    """Components and what they do. What is open belongs to a visit, what is kept to the library."""

    def __init__(self, assistant: Assistant, language: gr.Radio, place: gr.Textbox) -> None:
        self._assistant = assistant
        self._examples = Examples()
        self.turns = gr.State(())
        self.coming = gr.State(None)  # the turn that is being answered
        self.talk = gr.State(None)  # the uid of the conversation
        self._pressed = gr.State("")  # a question that a button asks
        self._instead = gr.State(None)  # the message whose place it takes
        with gr.Row(elem_id="a-ask"):
            self._build_talks()
            with gr.Column(elem_id="a-chat"):
                self._bar = gr.HTML(elem_id="a-bar", apply_default_css=False)
                self._past = gr.HTML(elem_id="a-past", apply_default_css=False, js_on_load=JUDGED)
                self._live = gr.HTML(elem_id="a-live", apply_default_css=False, js_on_load=FOLLOWS)
                self._build_composer()
            gr.HTML(
                '<aside id="a-source" aria-live="polite" hidden></aside>',
                elem_id="a-beside",
                apply_default_css=False,
            )
        self._connect(language, place)

    def _build_talks(self) -> None:
        with gr.Column(elem_id="a-talks"):
            self._new = gr.Button(size="sm", elem_id="a-new")
            self.wanted = gr.Textbox(
                value="", max_lines=1, max_length=100, container=False, elem_id="a-find-talk"
            )
            self._list = gr.HTML(elem_id="a-talk-list", apply_default_css=False, js_on_load=TALKS)

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
                self._stop = gr.Button(size="sm", visible=False, elem_id="a-stop")
                self._send = gr.Button(size="sm", variant="primary", elem_id="a-send")
        self._alone = gr.HTML(elem_id="a-alone", apply_default_css=False)

    def _connect(self, language: gr.Radio, place: gr.Textbox) -> None:
        visit = [self.scope, self.turns, self.talk, self.wanted, place, language]
        listing = [self.wanted, self.talk, place, language]
        chat = self.chat
        asking = gr.on(
            [self._question.submit, self._send.click],
            self.ask,
            [self._question, self.coming, *visit],
            [self._question, *chat],
            **STREAMED,
        )
        pressed = self._past.click(
            self.press,
            [self.turns, self.coming, place],
            [self.turns, self.coming, self._pressed, self._instead],
            trigger_mode="always_last",  # a note that follows a thumb at once is not passed over
            **DIRECT,
        )
        again = pressed.then(
            self.ask_pressed,
            [self._pressed, self._instead, *visit],
            [self._pressed, *chat],
            **STREAMED,
        )
        stopped = [self.coming, self.turns, *listing]
        self._stop.click(self.stop, stopped, chat, cancels=[asking, again], **DIRECT)
        self._new.click(
            self.clear, [self.wanted, place, language], chat, cancels=[asking, again], **DIRECT
        )
        self._list.click(
            self.manage,
            [self.turns, *listing],
            chat,
            cancels=[asking, again],
            **DIRECT,
        )
        self._list.submit(self.rename, listing, [self._bar, self._list], **DIRECT)
        self.wanted.change(self.look, listing, self._list, trigger_mode="always_last", **DIRECT)

    @property
    def chat(self) -> list[Any]:
        """What `clear` updates."""
        return [self.turns, self.coming, self.talk, self._past, self._live, self._send, self._stop,
                self._bar, self._list]  # fmt: skip

    @property
    def faces(self) -> list[Any]:
        """What `face` updates."""
        return [self._past, self._question, self.scope, self._send, self._stop, self._new,
                self._alone, self._bar, self._list, self.wanted]  # fmt: skip

    def face(
        self,
        visit: Visit,
        turns_: Turns,
        coming: Turn | None,
        scope: Scope,
        talk: str | None,
        wanted: str | None,
    ) -> Updates:
        """The tab in a language, over the documents that there are now."""
        words, documents = visit.words, visit.attest.documents()
        choices = scopes(documents)
        there = {value for _, value in choices}
        past = turns.conversation(turns_, words)
        if not turns_ and not coming:
            past = self._greeting(visit)
        prompt, find = words("ask.placeholder"), words("talks.find")
        return {
            self._past: past,
            self._question: gr.update(placeholder=prompt, label=prompt),
            self.scope: gr.update(
                label=words("ask.scope"),
                choices=choices,
                value=[chosen for chosen in scope if chosen in there],
            ),
            self._send: gr.update(value=words("ask.button")),
            self._stop: gr.update(value=words("ask.stop")),
            self._new: gr.update(value=words("ask.new")),
            self._alone: Markup("<p>{}</p>").format(words("ask.alone")),
            self.wanted: gr.update(placeholder=find, label=find),
            **self._listing(visit, talk, wanted),
        }

    def ask(
        self,
        question: str,
        coming: Turn | None,
        scope: Scope,
        turns_: Turns,
        talk: str | None,
        wanted: str | None,
        place: str,
        language: Language,
        request: gr.Request,
    ) -> Iterator[Updates]:
        """Stream one answer to what was written into the page.

        While another answer is coming the question stays where it is: one at a time.
        """
        if coming is not None:
            yield {self._question: gr.skip()}
            return
        yield {self._question: ""}
        visit = Visit.of(self._assistant, place, language, request)
        yield from self._ask(visit, question, None, scope, turns_, talk, wanted)

    def ask_pressed(
        self,
        question: str,
        instead: int | None,
        scope: Scope,
        turns_: Turns,
        talk: str | None,
        wanted: str | None,
        place: str,
        language: Language,
        request: gr.Request,
    ) -> Iterator[Updates]:
        """Stream one answer to what a button asks; what is being written stays."""
        yield {self._pressed: ""}
        visit = Visit.of(self._assistant, place, language, request)
        yield from self._ask(visit, question, instead, scope, turns_, talk, wanted)

    def _ask(
        self,
        visit: Visit,
        question: str,
        instead: int | None,
        scope: Scope,
        turns_: Turns,
        talk: str | None,
        wanted: str | None,
    ) -> Iterator[Updates]:
        if not question.strip():
            return
        words = visit.words
        kept = visit.talks.begin(question.strip(), talk, instead_of=instead)
        talk = talk if kept is None else kept.uid
        asked = Turn(question.strip(), kept=kept)
        number = len(turns_) + 1
        yield {
            self.talk: talk,
            self._past: turns.conversation(turns_, words),
            self._send: gr.update(visible=False),
            self._stop: gr.update(visible=True),
            self.coming: asked,
            self._live: turns.under_way(number, asked, words),
            **self._listing(visit, talk, wanted),
        }
        shown = turn = asked
        earlier = tuple(Exchange.of(each.answer) for each in turns_ if each.answer is not None)
        for turn in self._answering(visit, asked, scope, earlier):
            if turn is shown:
                yield {self._stop: gr.skip()}  # nothing new, but a stop takes hold here
            elif not turn.settled:
                yield {self.coming: turn, self._live: turns.under_way(number, turn, words)}
            shown = turn
        yield self._settled(visit, (*turns_, turn), talk, wanted)

    def stop(
        self,
        coming: Turn | None,
        turns_: Turns,
        wanted: str | None,
        talk: str | None,
        place: str,
        language: Language,
        request: gr.Request,
    ) -> Updates:
        """Keep what had come until then."""
        visit = Visit.of(self._assistant, place, language, request)
        kept = turns_ if coming is None else (*turns_, coming)
        if coming is not None:
            visit.talks.settle(coming.kept, "".join(coming.pieces))
        return self._settled(visit, kept, talk, wanted)

    def clear(
        self, wanted: str | None, place: str, language: Language, request: gr.Request
    ) -> Updates:
        """Begin another conversation; the one before stays in the list."""
        visit = Visit.of(self._assistant, place, language, request)
        return self._settled(visit, (), None, wanted)

    def look(
        self,
        wanted: str | None,
        talk: str | None,
        place: str,
        language: Language,
        request: gr.Request,
    ) -> Any:
        """The conversations in which these words stand."""
        visit = Visit.of(self._assistant, place, language, request)
        return self._listing(visit, talk, wanted)[self._list]

    def press(
        self,
        turns_: Turns,
        coming: Turn | None,
        place: str,
        event: gr.EventData,
        request: gr.Request,
    ) -> Updates:
        """A button in the conversation: an example, a question once more, or a thumb.

        What is asked counts as coming from here on: nothing can be asked in between.
        """
        sent = event._data
        match sent.get("do"):
            case "example" if coming is None:
                example = str(sent["value"])
                return {
                    self.coming: Turn(example),
                    self._pressed: example,
                    self._instead: None,
                }
            case "retry" if turns_ and coming is None:
                last = turns_[-1]
                message = None if last.kept is None else last.kept.message
                return {
                    self.turns: turns_[:-1],
                    self.coming: Turn(last.question),
                    self._pressed: last.question,
                    self._instead: message,
                }
            case "think":
                talks = Visit.of(self._assistant, place, "en", request).talks
                return {self.turns: thought(sent, turns_, talks)}
        return {self._pressed: ""}

    def manage(
        self,
        turns_: Turns,
        wanted: str | None,
        talk: str | None,
        place: str,
        language: Language,
        event: gr.EventData,
        request: gr.Request,
    ) -> Updates:
        """A button in the list of conversations: open or delete one, or delete all."""
        visit = Visit.of(self._assistant, place, language, request)
        talks, sent = visit.talks, event._data
        uid, do = str(sent.get("value", "")), sent.get("do")
        try:
            if do == "open":
                return self._opened(visit, uid, wanted)
            if do == "delete":
                talks.remove(uid)
            elif do == "clear":
                talks.clear()
        except (AttestError, StorageError):  # gone meanwhile: the list shows what there is
            pass
        if uid in (talk, "*"):
            return self._settled(visit, (), None, wanted)
        return self._settled(visit, turns_, talk, wanted)

    def rename(
        self,
        wanted: str | None,
        talk: str | None,
        place: str,
        language: Language,
        event: gr.EventData,
        request: gr.Request,
    ) -> Updates:
        """A name that was written in the list."""
        visit, sent = Visit.of(self._assistant, place, language, request), event._data
        with suppress(AttestError, StorageError):  # as above; and no name is none
            visit.talks.rename(str(sent["value"]), str(sent["title"]))
        return self._listing(visit, talk, wanted)

    def _opened(self, visit: Visit, uid: str, wanted: str | None) -> Updates:
        found = visit.talks.read(uid)
        return self._settled(visit, reopened(found, visit.attest), uid, wanted)

    def _answering(
        self, visit: Visit, asked: Turn, scope: Scope, earlier: Sequence[Exchange]
    ) -> Iterator[Turn]:
        """The turn as it grows, and last as it stays."""
        turn, talks, attest = asked, visit.talks, visit.attest
        try:
            within = chosen_by(scope, attest.documents() if scope else ())
            pieces = attest.stream(asked.question, within=within, earlier=earlier)
            for piece in talks.recorded(asked.kept, pieces):
                if isinstance(piece, Answer):
                    turn = answered(asked, piece, attest)
                elif piece:
                    turn = replace(turn, pieces=(*turn.pieces, piece))
                yield turn
        except Exception as error:
            failure = explained(error, visit.words)
            talks.settle(asked.kept, failure, failed=True)
            yield replace(turn, failure=failure)

    def _settled(
        self, visit: Visit, turns_: Turns, talk: str | None, wanted: str | None
    ) -> Updates:
        words = visit.words
        return {
            self.turns: turns_,
            self.coming: None,
            self.talk: talk,
            self._past: turns.conversation(turns_, words) if turns_ else self._greeting(visit),
            self._live: "",
            self._send: gr.update(visible=True),
            self._stop: gr.update(visible=False),
            **self._listing(visit, talk, wanted),
        }

    def _listing(self, visit: Visit, talk: str | None, wanted: str | None) -> Updates:
        """The list of conversations, and the title of the one that is open."""
        words, talks = visit.words, visit.talks
        found = talks.listed(wanted or "")
        title = next((each.title for each in found if each.uid == talk), "")
        kept = talks.kept
        return {
            self._list: listed(found, talk, words, wanted=wanted or "", kept=kept),
            self._bar: drawer_button(title, words),
        }

    def _greeting(self, visit: Visit) -> Markup:
        rows = [row for row in visit.attest.documents() if row.status == "indexed"]
        made = self._examples.of(visit.attest, rows, visit.words.language) if rows else []
        return greeting(rows, visit.words, made)
