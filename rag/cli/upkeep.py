"""Commands that keep a library right."""

from pathlib import Path
from typing import Annotated

import typer

from rag.cli.options import STOPPED, Collection, Home, Json, assistant, show, stoppable
from rag.errors import UsageError


def verify(home: Home = None, as_json: Json = False) -> None:
    """Count everything against everything; exit 1 and list what is wrong."""
    from rag import shapes, terminal

    with assistant(home, None) as attest:
        found = attest.verify()
    show(found, as_json, shapes.verification, terminal.verification)
    raise typer.Exit(1 if found.problems else 0)


def rebuild(home: Home = None) -> None:
    """Repair the library, and make its indexes and missing vectors anew."""
    from rag import terminal

    with assistant(home, None) as attest:
        made = sum(attest.rebuild())
        found = attest.verify()
    typer.echo(f"rebuilt the indexes{f', made {made} missing vectors' if made else ''}")
    typer.echo(terminal.verification(found))
    raise typer.Exit(1 if found.problems else 0)


def reembed(
    model: Annotated[str, typer.Argument(help="An encoder: a name, or a folder.")],
    collection: Collection = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Move the library to another encoder, while the old one goes on answering."""
    from rag import progress, shapes, terminal

    with assistant(home, collection) as attest, stoppable() as stop:
        last = progress.moving(attest.reembed(model, stop=stop))
    if last is None or not last.finished:
        typer.echo("attest: not finished; the old model answers until it is", err=True)
        raise typer.Exit(STOPPED)
    show(last, as_json, shapes.moved, terminal.moved)


def export(
    file: Annotated[Path, typer.Argument(help="The archive to write.")],
    with_history: Annotated[
        bool, typer.Option("--with-history", help="Put in questions and conversations, too.")
    ] = False,
    collection: Collection = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Write the home, or one collection, into one file."""
    from rag import shapes, terminal

    with assistant(home, None) as attest:
        made = attest.export(file, collection, with_history=with_history)
    show(made, as_json, shapes.archived, terminal.archived)


def import_(
    file: Annotated[Path, typer.Argument(help="An archive that export wrote.")],
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Take in the collections of an archive."""
    from rag import shapes, terminal

    if not file.is_file():
        raise UsageError(f"{file}: no such file")
    with assistant(home, None) as attest:
        show(attest.import_archive(file), as_json, shapes.archived, terminal.archived)


def reset(
    yes: Annotated[bool, typer.Option("--yes", help="Yes, remove everything.")] = False,
    home: Home = None,
) -> None:
    """Remove every document and everything that was made of them; models stay."""
    with assistant(home, None) as attest:
        if not yes:
            raise UsageError(f"this removes every document of {attest.settings.home}: add --yes")
        typer.echo(f"removed {attest.reset()} documents")
