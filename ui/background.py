"""Long work beside the page: it goes on to its end when the visitor leaves, and tells how far."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Thread
from typing import Generic, TypeVar

from rag.threads import stand_back

T = TypeVar("T")
Watch = Callable[[str, float], None]  # what is being done, and the share of it that is done

_LOOK_S = 0.5


@dataclass(frozen=True, slots=True)
class Step:
    """How far the work has come."""

    what: str
    share: float  # 0 to 1


class _Run(Thread, Generic[T]):
    def __init__(self, work: Callable[[Watch], T]) -> None:
        super().__init__(name="page-work", daemon=True)
        self._work = work
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
        self.step = Step(what, min(max(share, 0.0), 1.0))


def watched(work: Callable[[Watch], T]) -> Iterator[Step | T]:
    """Steps of the work whenever they change, and last what came of it.

    Raises:
        Exception: what the work raised.
    """
    run = _Run(work)
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
