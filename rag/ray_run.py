"""The engine of many machines: Ray Data has files read, cut and encoded, and this process stores.

    examine -> window -> [ship -> Worker] on the cluster -> Part -> Intake

Only this process writes, by the same calls as `rag.local_run`. A worker or a node that dies costs
the files that it had in hand a second reading: what it had handed over is stored, and no part of a
file is taken in twice.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from rag.errors import EngineError
from rag.ingest import Added, Changed, Examined, Intake, Outcome
from rag.loaders import LoadError
from rag.ray_worker import Listed, Part
from rag.sources import Source

Parts = Generator[Part, None, None]
Prepare = Callable[[Sequence[Sequence[Listed]]], Parts]

_WINDOW_FILES = 4_096  # examined before the cluster is given them: its workers start once a window
_WINDOW_BYTES = 4_000_000_000  # likewise, of files that were unpacked or fetched
_PACK_FILES = 16  # read together: enough to fill a batch of the encoder, little to lose
_PACK_BYTES = 16_000_000


class RayRun:
    """Takes files into a collection.

    Args:
        intake: of this run
        prepare: gives the parts of packs of files, in order, as `rag.ray_worker.prepare` does
        stop: asked between files and between parts
    """

    def __init__(self, intake: Intake, prepare: Prepare, *, stop: Callable[[], bool]) -> None:
        self._intake = intake
        self._prepare = prepare
        self._stop = stop

    def run(self, sources: Iterable[Source]) -> Iterator[Outcome]:
        """Take files in; each one's outcome, in order. One bad file stops nothing.

        Raises:
            EngineError: the cluster broke off. What was told before is stored.
        """
        window: list[Outcome | Examined] = []
        size = 0
        for source in sources:
            if self._stop():
                break
            found = self._intake.examine(source)
            if isinstance(found, Outcome) and not window:
                yield found
                continue
            window.append(found)
            if isinstance(found, Examined) and source.temporary:
                size += found.content.size
            if len(window) >= _WINDOW_FILES or size >= _WINDOW_BYTES:
                yield from self._taken(window)
                window, size = [], 0
        yield from self._taken(window)

    def _taken(self, window: Sequence[Outcome | Examined]) -> Iterator[Outcome]:
        files = [item for item in window if isinstance(item, Examined)]
        parts = _InOrder(self._prepare(list(_packs(files))))
        number = 0
        try:
            for item in window:
                if self._stop():
                    return
                if isinstance(item, Outcome):
                    yield item
                    continue
                outcome = self._stored(item, parts.of(number))
                if outcome is None:
                    return
                yield outcome
                number += 1
        finally:
            parts.close()
            for item in files:  # not before: what a dead node had is read again
                item.source.discard()

    def _stored(self, examined: Examined, parts: Iterator[Part]) -> Outcome | None:
        """None after a stop half-way: what is stored by then is completed by the next run."""
        first = next(parts)
        if isinstance(first.read, LoadError):
            return self._intake.refuse(examined, first.read)
        assert first.read is not None
        item = self._intake.take(examined, *first.read)
        made: list[NDArray[np.float32]] = []  # of a changed document, which is stored as a whole
        done = 0
        for part in chain([first], parts):
            if part.index and self._stop():
                return None
            if isinstance(item, Added) and len(part.vectors):
                ids = item.ids[done : done + len(part.vectors)]
                self._intake.collection.add_vectors(ids, part.vectors)
            elif isinstance(item, Changed):
                made.append(part.vectors)
            done += len(part.vectors)
        return item if isinstance(item, Outcome) else self._finished(item, made)

    def _finished(self, item: Added | Changed, made: Sequence[NDArray[np.float32]]) -> Outcome:
        if isinstance(item, Added):
            return self._intake.finish(item, np.empty((0, 0), np.float32))
        lacking = [have is None for have in item.vectors]  # the others keep the vector they have
        return self._intake.finish(item, np.concatenate(made)[lacking])


class _InOrder:
    """Parts as the cluster gives them, each once and none left out."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._next = (0, 0)

    def of(self, number: int) -> Iterator[Part]:
        """Those of a file."""
        last = False
        while not last:
            part = self._following()
            if (part.number, part.index) != (number, self._next[1]):
                raise _broken_off(f"file {number} of the window did not come back whole")
            self._next = (number + 1, 0) if part.last else (number, part.index + 1)
            last = part.last
            yield part

    def close(self) -> None:
        """End what the cluster still does of it."""
        self._parts.close()

    def _following(self) -> Part:
        for part in self._parts:
            if (part.number, part.index) >= self._next:  # what is below came a second time
                return part
        raise _broken_off("it ended before the last file")


def _broken_off(reason: str) -> EngineError:
    return EngineError(f"the Ray cluster broke off ({reason}): run the command again, it goes on")


def _packs(files: Sequence[Examined]) -> Iterator[list[Listed]]:
    pack: list[Listed] = []
    size = 0
    for number, item in enumerate(files):
        if pack and (len(pack) >= _PACK_FILES or size + item.content.size > _PACK_BYTES):
            yield pack
            pack, size = [], 0
        assert item.source.file is not None
        pack.append(Listed(number, item.source.file, item.source.path))
        size += item.content.size
    if pack:
        yield pack
