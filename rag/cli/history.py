"""The command that shows and clears what a library remembers of its use."""

from typing import Annotated

import typer

from rag.cli.options import Collection, Home, Json, assistant, show
from rag.errors import UsageError


def history(
    clear: Annotated[
        bool, typer.Option("--clear", help="Forget every question and judgement.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Yes, forget them.")] = False,
    collection: Collection = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Show the questions that were asked, or forget them."""
    from rag import shapes, terminal

    with assistant(home, collection) as attest:
        asked = attest.history()
        if not clear:
            show(asked, as_json, shapes.history, terminal.history)
            return
        if asked and not yes:
            name = attest.settings.collection
            raise UsageError(f"this forgets all questions of {name!r} ({len(asked)}): add --yes")
        show(attest.forget(), as_json, shapes.forgotten, terminal.forgotten)
