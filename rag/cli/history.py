"""The command that shows and clears what a library remembers of its use."""

from typing import Annotated

import typer

from rag.cli.options import Collection, Home, Json, assistant, show
from rag.errors import UsageError


def history(
    clear: Annotated[
        bool,
        typer.Option("--clear", help="Forget every question and judgement; conversations stay."),
    ] = False,
    conversations: Annotated[
        bool,
        typer.Option("--conversations", help="With --clear: delete all conversations, too."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Yes, forget them.")] = False,
    collection: Collection = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Show the questions that were asked, or forget them."""
    from rag import shapes, terminal

    if conversations and not clear:
        raise UsageError("--conversations goes with --clear")
    with assistant(home, collection) as attest:
        asked = attest.history()
        if not clear:
            show(asked, as_json, shapes.history, terminal.history)
            return
        if not yes and (asked or conversations):
            name = attest.settings.collection
            talks = "deletes its conversations" if conversations else "keeps its conversations"
            raise UsageError(
                f"this forgets all questions of {name!r} ({len(asked)}) and {talks}: add --yes"
            )
        forgotten = attest.forget(conversations=conversations)
        show(forgotten, as_json, shapes.forgotten, terminal.forgotten)
