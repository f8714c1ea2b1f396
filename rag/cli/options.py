"""What the commands share: options, settings in, results out."""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rag.assistant import Assistant
    from rag.settings import Settings

Home = Annotated[Path | None, typer.Option("--home", help="Folder that holds the library.")]
Collection = Annotated[str | None, typer.Option("-c", "--collection", help="Name of a collection.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
K = Annotated[int, typer.Option("-k", help="How many results.")]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", help="Put this tag on every document; repeatable.")
]

STOPPED = 130  # the exit code of a command that Ctrl-C ended, as shells have it


def settings(**flags: Any) -> "Settings":
    from rag.settings import load_settings

    return load_settings(flags)


def assistant(home: Path | None, collection: str | None, **flags: Any) -> "Assistant":
    from rag.assistant import Assistant

    return Assistant.open(settings(home=home, collection=collection, **flags))


def show(
    value: Any, as_json: bool, shape: Callable[[Any], dict[str, Any]], text: Callable[[Any], str]
) -> None:
    """Print a result for people or for programs."""
    if as_json:
        encoding = (sys.stdout.encoding or "utf-8").lower().replace("-", "")
        ascii_only = not encoding.startswith("utf")  # escaped, where a letter would be lost
        typer.echo(json.dumps(shape(value), ensure_ascii=ascii_only, indent=2))
    else:
        typer.echo(text(value))


def text_of(argument: str) -> str:
    """An argument, or standard input where it is -."""
    return sys.stdin.read() if argument == "-" else argument


@contextmanager
def stoppable() -> Iterator[Callable[[], bool]]:
    """Turns the first Ctrl-C into a question that the work asks; the second ends it at once."""
    asked = False

    def stop(_signal: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        os.write(2, b"\nattest: stopping; what is done is kept (again: stop at once)\n")

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)
