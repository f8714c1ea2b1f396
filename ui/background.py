"""Long work beside the page: it goes on to its end when the visitor leaves, and tells how far."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Event, Thread
from typing import Generic, TypeVar

from rag.threads import stand_back

T = TypeVar("T")
Watch = Callable[[str, float], None]  # what is being done, and the share of it that is done

_LOOK_S = 0.5


class Stopped(Exception):
    """Somebody wanted the work to end before its time."""


@dataclass(frozen=True, slots=True)
class Step:
    """How far the work has come."""

    what: str
    share: float  # 0 to 1


class _Run(Thread, Generic[T]):
    def __init__(self, work: Callable[[Watch], T], stop: Event) -> None:
        super().__init__(name="page-work", daemon=True)
        self._work = work
        self._halt = stop  # a thread has a _stop of its own
        self.step = Step("", 0.0)
        self.results: list[T] = []
        self.error: Exception | None = None

    def run(self) -> None:
        stand_back()
        try:
            self.results.append(self._work(self._watch))
        except Exception as error:
            self.error = error

    def _watch(self, what: str, share: float) -> None:
        if self._halt.is_set():
            raise Stopped
        self.step = Step(what, min(max(share, 0.0), 1.0))


def watched(work: Callable[[Watch], T], stop: Event | None = None) -> Iterator[Step | T]:
    """Steps of the work whenever they change, and last what came of it.

    Args:
        work: tells its steps to what it is given, which raises `Stopped` once it is to end
        stop: set from outside

    Raises:
        Exception: what the work raised.
    """
    run = _Run(work, stop or Event())
    run.start()
    shown: Step | None = None
    while run.is_alive():
        run.join(_LOOK_S)
        if run.step != shown:
            shown = run.step
            yield shown
    if run.error is not None:
        raise run.error
    yield from run.results
