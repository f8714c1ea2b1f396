"""The engine of one machine: files are read ahead, and encoded here in large batches."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rag.chunking import encoded_text
from rag.ingest import Added, Changed, Examined, Intake, Outcome
from rag.loaders import LoadError
from rag.reading import Load, cut, read
from rag.records import ExtractedText
from rag.sources import Source

if TYPE_CHECKING:
    from encoder import Embedder

_CHUNKS_AT_ONCE = 256  # encoded together: enough to sort by length, little to hold
_MOST_AT_ONCE = 2 * _CHUNKS_AT_ONCE  # of one document; a longer one is stored in parts
_AHEAD = 4  # files that are read while others are encoded

_Item = Outcome | Added | Changed
_Begun = Outcome | tuple[Examined, Future[ExtractedText]]


class LocalRun:
    """Takes files into a collection.

    Args:
        intake: of this run
        load: reads a file, from several threads at once
        stop: asked between files and between batches; what is in hand then is kept as far as it
            is done
    """

    def __init__(
        self, intake: Intake, embedder: "Embedder", load: Load, *, stop: Callable[[], bool]
    ) -> None:
        self._intake = intake
        self._collection = intake.collection
        self._embedder = embedder
        self._load = load
        self._stop = stop

    def run(self, sources: Iterable[Source]) -> Iterator[Outcome]:
        """Take files in; each one's outcome, in order. One bad file stops nothing."""
        with ThreadPoolExecutor(_AHEAD, thread_name_prefix="reading") as threads:
            waiting: list[_Item] = []
            pending = 0  # texts to encode in what waits
            for item in self._read(sources, threads):
                if isinstance(item, Added) and len(item.ids) > _MOST_AT_ONCE:
                    yield from self._finish(waiting)
                    yield from self._finish_long(item)
                    waiting, pending = [], 0
                    continue
                waiting.append(item)
                pending += len(_texts([item]))
                if not 0 < pending < _CHUNKS_AT_ONCE or len(waiting) > _MOST_AT_ONCE:
                    yield from self._finish(waiting)
                    waiting, pending = [], 0
            yield from self._finish(waiting)

    def complete(self) -> Iterator[int]:
        """Make the vectors that are still missing, as after a kill; the chunks of each batch."""
        after = 0
        while not self._stop():
            waiting = self._intake.catalog.waiting(self._collection.name, after, _CHUNKS_AT_ONCE)
            if not waiting:
                return
            texts = [encoded_text(part.title, part.heading, part.text) for part in waiting]
            ids = [part.id for part in waiting]
            self._collection.add_vectors(ids, self._embedder.embed_documents(texts))
            after = ids[-1]
            yield len(ids)

    def _read(self, sources: Iterable[Source], threads: ThreadPoolExecutor) -> Iterator[_Item]:
        ahead: deque[_Begun] = deque()
        for source in sources:
            if self._stop():
                break
            ahead.append(self._begun(source, threads))
            while ahead and (len(ahead) > _AHEAD or isinstance(ahead[0], Outcome)):
                yield self._taken(ahead.popleft())
        while ahead and not self._stop():
            yield self._taken(ahead.popleft())
        for left in ahead:
            if not isinstance(left, Outcome):
                left[1].cancel()

    def _begun(self, source: Source, threads: ThreadPoolExecutor) -> _Begun:
        found = self._intake.examine(source)
        if isinstance(found, Outcome):
            return found
        assert source.file is not None
        return found, threads.submit(read, source.file, source.path, self._load)

    def _taken(self, begun: _Begun) -> _Item:
        if isinstance(begun, Outcome):
            return begun
        examined, future = begun
        try:
            text = future.result()
        except LoadError as error:
            return self._intake.refuse(examined, error)
        finally:
            examined.source.discard()
        reading = cut(text, examined.source.path, self._embedder)
        return self._intake.take(examined, text, reading)

    def _finish(self, items: Sequence[_Item]) -> Iterator[Outcome]:
        """Encode what waits, store it and tell; after a stop only what needed no encoder."""
        vectors = self._encoded(_texts(items))
        places = accumulate((len(_texts([item])) for item in items), initial=0)
        parts = list(zip(items, places, strict=False))
        if vectors is not None:
            added = [(item, at) for item, at in parts if isinstance(item, Added)]
            ids = [key for item, _ in added for key in item.ids]
            rows = [at + i for item, at in added for i in range(len(item.ids))]
            if ids:
                self._collection.add_vectors(ids, vectors[rows])
        for item, at in parts:
            if isinstance(item, Outcome):
                yield item
            elif vectors is not None:
                yield self._intake.finish(item, vectors[at:])

    def _finish_long(self, item: Added) -> Iterator[Outcome]:
        """A document of many chunks keeps the vectors that it has if it is stopped half-way."""
        for start in range(0, len(item.ids), _CHUNKS_AT_ONCE):
            part = slice(start, start + _CHUNKS_AT_ONCE)
            vectors = self._encoded(item.encoded[part])
            if vectors is None:
                return
            self._collection.add_vectors(item.ids[part], vectors)
        yield self._intake.finish(item, _NONE)

    def _encoded(self, texts: Sequence[str]) -> NDArray[np.float32] | None:
        """None after a stop, unless there is nothing to do."""
        blocks = []
        for start in range(0, len(texts), _CHUNKS_AT_ONCE):
            if self._stop():
                return None
            blocks.append(self._embedder.embed_documents(texts[start : start + _CHUNKS_AT_ONCE]))
        return np.concatenate(blocks) if blocks else _NONE


_NONE: NDArray[np.float32] = np.empty((0, 0), np.float32)


def _texts(items: Sequence[_Item]) -> list[str]:
    return [text for item in items if not isinstance(item, Outcome) for text in item.encoded]
