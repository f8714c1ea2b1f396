"""The options that say which documents to stay within, given to a command as one argument."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from rag.records import Within


def _options(
    documents: Annotated[
        list[str] | None, typer.Option("--in", help="Stay within this document; repeatable.")
    ] = None,
    paths: Annotated[
        list[str] | None,
        typer.Option(
            "--path", help="Stay within paths that match, like 'contracts/*'; repeatable."
        ),
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option("--type", help="Stay within a media type, like application/pdf; repeatable."),
    ] = None,
    tags: Annotated[
        list[str] | None,
        typer.Option("--tag", help="Stay within documents of this tag; repeatable."),
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="Only files changed on or after this date.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="Only files changed on or before this date.")
    ] = None,
) -> Within:
    return Within(
        documents=tuple(documents or ()),
        paths=tuple(paths or ()),
        media_types=tuple(types or ()),
        tags=tuple(tags or ()),
        since=since,
        until=until,
    )


def filtered(command: Callable[..., None]) -> Callable[..., None]:
    """The command with these options where it has the parameter `within`.

    Typer reads a signature: this one is the command's, with the options in place of `within`.
    """
    own = inspect.signature(command).parameters
    options = inspect.signature(_options).parameters
    taken = [
        parameter
        for name, each in own.items()
        for parameter in (options.values() if name == "within" else (each,))
    ]

    @wraps(command)
    def taking(**given: Any) -> None:
        within = _options(**{name: given.pop(name) for name in options})
        command(**given, within=within)

    taking.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
    taking.__annotations__ = {parameter.name: parameter.annotation for parameter in taken}
    return taking
