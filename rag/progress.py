"""Progress on stderr, where it is a terminal: how much is done, and how long it will take."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

T = TypeVar("T")


def counted(items: Iterable[T], total: int, what: str) -> Iterator[T]:
    """The same items, with a bar that counts them."""
    columns = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        for item in items:
            bar.advance(task)
            yield item


@contextmanager
def bytes_of(what: str) -> Iterator[Callable[[str, int, int], None]]:
    """A bar for a download: call what is given with (name, bytes so far, bytes in all)."""
    columns = (TextColumn(what), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)

        def update(_name: str, done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield update
