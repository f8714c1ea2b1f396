"""Files that were handed over, on their way into the library, and how far each has come.

All of them are kept first and then taken in together, so that their passages are encoded in large
batches. That goes on to its end when the visitor leaves.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from threading import Thread
from time import monotonic

from index.errors import UnknownCollection, UnknownDocument
from index.records import StoredDocument
from rag.assistant import Assistant
from rag.ingest import Outcome
from rag.library import Stop, never
from rag.sources import stored_path
from rag.threads import stand_back

_LOOK_S = 0.5  # between two looks at what is stored already
_PAUSE = 4  # times as long as a look took, at least
_AHEAD = 12  # files in a row that are not stored: those behind them are not either

Explain = Callable[[Exception], str]


@dataclass(frozen=True, slots=True)
class Arrival:
    """A file that was handed over; an archive has several rows and outcomes."""

    name: str  # as its visitor calls it
    path: str = ""  # under which it, or what an archive holds, is catalogued
    rows: tuple[StoredDocument, ...] = ()  # of it that are stored, so that their words are found
    outcomes: tuple[Outcome, ...] = ()  # of it that are done
    ended: bool = False  # nothing more will come of it

    @property
    def is_archive(self) -> bool:
        return self.name.lower().endswith(".zip")

    @property
    def is_read(self) -> bool:
        return self.ended or bool(self.rows or self.outcomes)


def take_in(
    assistant: Assistant,
    files: Sequence[str],
    names: Sequence[str],
    explain: Explain,
    *,
    stop: Stop = never,
    stopped: str = "",
) -> Iterator[tuple[Arrival, ...]]:
    """Take files in, and tell how far they have come whenever that has changed.

    Args:
        assistant: whose library they go into
        files: where they lie; they are gone afterwards, for the library keeps its own copies
        names: what their visitor calls them
        explain: what to say of an error
        stop: asked between documents; what was stored until then stays
        stopped: what to say of a file that was not reached before a stop
    """
    shown = tuple(Arrival(name) for name in names)
    yield shown
    pairs = zip(files, names, strict=True)
    arrivals = tuple(_kept(assistant, Path(file), name, explain) for file, name in pairs)
    kept = [Path(arrival.path) for arrival in arrivals if not arrival.ended]
    run = _Run(assistant, kept, stop)
    run.start()
    pause, is_over = _LOOK_S, False
    while not is_over:
        run.join(pause)
        is_over = not run.is_alive()
        began = monotonic()
        arrivals = tuple(_looked_at(assistant, arrivals, _by_file(run)))
        if is_over:
            left = stopped if stop() else ""
            left = left if run.error is None else explain(run.error)
            arrivals = tuple(_ended(arrival, left) for arrival in arrivals)
        pause = max(_LOOK_S, _PAUSE * (monotonic() - began))
        if arrivals != shown:
            shown = arrivals
            yield shown


class _Run(Thread):
    """Takes files in, and lets go of those that nothing could be read from."""

    def __init__(self, assistant: Assistant, files: Sequence[Path], stop: Stop) -> None:
        super().__init__(name="intake", daemon=True)
        self.files = files
        self.outcomes: list[Outcome] = []
        self.error: Exception | None = None
        self._assistant = assistant
        self._halted = stop  # a thread has a _stop of its own

    def run(self) -> None:
        stand_back()
        try:
            for outcome in self._assistant.ingest_uploads(self.files, stop=self._halted):
                self.outcomes.append(outcome)
        except Exception as error:
            self.error = error


def _kept(assistant: Assistant, file: Path, name: str, explain: Explain) -> Arrival:
    try:
        kept = assistant.keep_upload(name, file.read_bytes())
        return Arrival(name, stored_path(kept))
    except Exception as error:
        failed = Outcome(name, None, "failed", reason=explain(error))
        return Arrival(name, outcomes=(failed,), ended=True)
    finally:
        file.unlink(missing_ok=True)  # nothing else should stay


def _by_file(run: _Run) -> Mapping[str, list[Outcome]]:
    """Outcomes by the file that they come from."""
    files = {stored_path(file) for file in run.files}
    found: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in tuple(run.outcomes):  # the thread goes on adding to them
        places = (outcome.path, *map(str, PurePath(outcome.path).parents))
        found[next((place for place in places if place in files), "")].append(outcome)
    return found


def _looked_at(
    assistant: Assistant, arrivals: Sequence[Arrival], outcomes: Mapping[str, list[Outcome]]
) -> Iterator[Arrival]:
    missed = 0
    for arrival in arrivals:
        if arrival.ended or missed == _AHEAD:
            yield arrival
            continue
        done = tuple(outcomes.get(arrival.path, ()))
        rows = arrival.rows
        if arrival.is_archive or not done:
            rows = tuple(_stored(assistant, arrival))
        missed = 0 if rows or done else missed + 1
        ended = bool(done) and not arrival.is_archive
        yield replace(arrival, rows=rows, outcomes=done, ended=ended)


def _stored(assistant: Assistant, arrival: Arrival) -> Iterator[StoredDocument]:
    catalog, name = assistant.catalog, assistant.settings.collection
    with suppress(UnknownCollection, UnknownDocument):  # not there yet, or just removed
        if not arrival.is_archive:
            row = catalog.at(name, arrival.path)
            yield from () if row is None else (row,)
            return
        for key, _ in catalog.paths_under(name, arrival.path):
            yield catalog.document(key)


def _ended(arrival: Arrival, reason: str) -> Arrival:
    """A file after the end; what nothing became of has failed."""
    outcomes = arrival.outcomes
    if not outcomes:
        outcomes = (Outcome(arrival.path, None, "failed", reason=reason or None),)
    return replace(arrival, outcomes=outcomes, ended=True)
