"""What the commands share: options, settings in, results out."""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from rag.assistant import Assistant
    from rag.ray_cluster import Cluster
    from rag.settings import Settings

Home = Annotated[Path | None, typer.Option("--home", help="Folder that holds the library.")]
Collection = Annotated[str | None, typer.Option("-c", "--collection", help="Name of a collection.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
K = Annotated[int, typer.Option("-k", help="How many results.")]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", help="Put this tag on every document; repeatable.")
]
Engine = Annotated[
    Literal["local", "ray"], typer.Option(help="Read and encode in this process, or on Ray.")
]
Address = Annotated[
    str | None,
    typer.Option(
        help="Of a Ray cluster, HOST:PORT or auto; without it, Ray is started on this machine."
    ),
]

STOPPED = 130  # the exit code of a command that Ctrl-C ended, as shells have it


def settings(**flags: Any) -> "Settings":
    from rag.settings import load_settings

    return load_settings(flags)


def assistant(home: Path | None, collection: str | None, **flags: Any) -> "Assistant":
    from rag.assistant import Assistant

    return Assistant.open(settings(home=home, collection=collection, **flags))


@contextmanager
def cluster(
    engine: Literal["local", "ray"], address: str | None, home: Path | None
) -> Iterator["Cluster | None"]:
    """The cluster that reads and encodes; None where this process does."""
    from rag.errors import UsageError

    if engine == "ray":
        from rag.ray_cluster import connected

        with connected(address, threads=settings(home=home).threads) as found:
            yield found
    elif address is not None:
        raise UsageError("--address names a Ray cluster: it needs --engine ray")
    else:
        yield None


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
