"""Progress of an adaptation on stderr, where it is a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn


@contextmanager
def watching() -> Iterator[Callable[[str, float], None]]:
    """A bar: call what is given with what is being done and the share that is done."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("adapting", total=1.0)

        def update(what: str, share: float) -> None:
            bar.update(task, description=what, completed=share)

        yield update
