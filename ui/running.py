"""Work that a button begins and another one ends, and the place where it tells how far it is."""

from collections.abc import Callable, Iterator
from threading import Event
from typing import Any, TypeVar

import gradio as gr
from markupsafe import Markup

from ui import render
from ui.background import Step, Stopped, Watch, watched
from ui.errors import explained
from ui.locale import Texts
from ui.theme import DIRECT

Updates = dict[Any, Any]
T = TypeVar("T")

# What work calls its steps, and the words for it.
_STEPS = {
    "gathering questions": "gathering",
    "learning": "learning",
    "judging": "judging",
    "trying the generator's vote": "vote",
    "encoding": "encoding",
    "encoding the passages": "encoding",
    "moving the library": "moving",
    "asking": "asking",
    "asking the library its own questions": "own",
}


class Running:
    """Args:
    begins: what begins it
    name: of the button that ends it, and of the place
    """

    def __init__(self, begins: gr.Button | gr.UploadButton, name: str) -> None:
        self.begins = begins
        self.ends = gr.Button(size="sm", visible=False, scale=0, elem_id=f"a-{name}-stop")
        self._going = gr.State(None)  # the event that ends it

    def connect(self) -> None:
        self.ends.click(self._end, self._going, self.ends, **DIRECT)

    @property
    def changing(self) -> list[Any]:
        """What `told` updates beside the place."""
        return [self.begins, self.ends, self._going]

    def face(self, words: Texts) -> Updates:
        return {self.ends: gr.update(value=words("models.stop"))}

    def told(
        self,
        work: Callable[[Watch], T],
        place: gr.HTML,
        words: Texts,
        shown: Callable[[T, Texts], Markup],
    ) -> Iterator[Updates]:
        """How far a piece of work has come, and last what came of it."""
        stop = Event()
        yield {
            self._going: stop,
            self.begins: gr.update(interactive=False),
            self.ends: gr.update(visible=True, interactive=True),
        }
        yield from told(work, place, words, shown, stop)

    def over(self) -> Updates:
        """For the last of the updates: in one before it, a browser can pass it over."""
        return {
            self._going: None,
            self.begins: gr.update(interactive=True),
            self.ends: gr.update(visible=False),
        }

    def _end(self, going: Event | None) -> Any:
        if going is not None:
            going.set()
        return gr.update(interactive=False)


def told(
    work: Callable[[Watch], T],
    place: gr.HTML,
    words: Texts,
    shown: Callable[[T, Texts], Markup],
    stop: Event | None = None,
) -> Iterator[Updates]:
    """How far a piece of work has come, and last what came of it."""
    try:
        for each in watched(work, stop):
            yield {place: step(each, words) if isinstance(each, Step) else shown(each, words)}
    except Stopped:
        stopped = words("models.stopped")
        yield {place: Markup('<p class="a-none" role="status">{}</p>').format(stopped)}
    except Exception as error:
        yield {place: render.failure(explained(error, words), words)}


def step(at: Step, words: Texts) -> Markup:
    """How far a piece of work has come."""
    return Markup(
        '{}<i class="a-bar a-wide" role="progressbar" aria-valuemin="0" aria-valuemax="100" '
        'aria-valuenow="{}" aria-label="{}"><i style="width:{}%"></i></i>'
    ).format(
        render.waiting(_named(at.what, words)),
        round(100 * at.share),
        words("models.progress"),
        round(100 * at.share),
    )


def _named(what: str, words: Texts) -> str:
    """A step in the reader's language, with the numbers that go with it."""
    name, _, more = what.partition(", ")
    if name not in _STEPS:
        return what or words("models.begins")
    loss = more.removeprefix("loss ")
    said = words(f"models.step.{_STEPS[name]}")
    return f"{said} {words('models.step.loss', loss=loss)}" if loss != more else said
