"""The command that asks every document the same questions."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Protocol

import typer

from rag.cli.filtering import filtered
from rag.cli.options import STOPPED, Collection, Home, Json, assistant, show, stoppable, text_of
from rag.errors import Unreadable
from rag.records import EVERYWHERE, Within


class _Bar(Protocol):
    def __call__(self, done: int) -> None: ...


@filtered
def every(
    questions: Annotated[
        list[str] | None, typer.Argument(help="Questions; - reads them from standard input.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--questions", help="A file with one question a line.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write the table here: .csv, .xlsx or .html."),
    ] = None,
    within: Within = EVERYWHERE,
    collection: Collection = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Ask every document the same questions: a table of quotations, or 'not stated'."""
    from rag import every_export

    asked = [line for each in questions or () for line in _lines(text_of(each))]
    asked += _read(file) if file is not None else []
    if output is not None:
        every_export.check(output)
    with assistant(home, collection) as attest, stoppable() as stop:
        made = attest.every(asked, within=within)
        with _bar(made.total) as bar:
            for _ in made.fill(stop):
                bar(made.done)
        stopped = stop()
    if output is not None:
        every_export.write(made.table, output)
    show(made.table, as_json, every_export.shape, every_export.as_text)
    if stopped:
        raise typer.Exit(STOPPED)


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def _read(file: Path) -> list[str]:
    try:
        return _lines(file.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"{file}: {error}: give a UTF-8 text with one question a line") from error


@contextmanager
def _bar(total: int) -> Iterator[_Bar]:
    """Cells that are filled, on stderr, where it is a terminal."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("cells"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("cells", total=total)
        yield lambda done: bar.update(task, completed=done)
