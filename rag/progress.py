"""Progress on stderr, where it is a terminal: how much is done, and how long it will take."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

if TYPE_CHECKING:
    from rag.ingest import Outcome
    from rag.reembed import Moved


def ingesting(outcomes: "Iterable[Outcome]", total: int, what: str) -> "Iterator[Outcome]":
    """The same outcomes, with a bar: documents, chunks, chunks a second, time left."""
    columns = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("documents, {task.fields[chunks]:,} chunks, {task.fields[rate]:.0f}/s"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    began, chunks = time.monotonic(), 0
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total, chunks=0, rate=0.0)
        for outcome in outcomes:
            chunks += outcome.chunks if outcome.status in ("added", "updated") else 0
            rate = chunks / max(time.monotonic() - began, 0.1)
            bar.update(task, advance=1, chunks=chunks, rate=rate)
            yield outcome


def moving(steps: "Iterable[Moved]") -> "Moved | None":
    """The last step of a move to another model, with a bar over its documents."""
    columns = (
        TextColumn("re-embedding"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    last = None
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("re-embedding", total=None)
        for last in steps:
            bar.update(task, completed=last.documents, total=last.of)
    return last


@contextmanager
def bytes_of(what: str) -> Iterator[Callable[[str, int, int], None]]:
    """A bar for a download: call what is given with (name, bytes so far, bytes in all)."""
    columns = (TextColumn(what), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)

        def update(_name: str, done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield update
