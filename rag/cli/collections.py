"""Commands about the collections of the home."""

from typing import Annotated

import typer

from rag.cli.options import Home, Json, assistant, show
from rag.errors import UsageError

Name = Annotated[str, typer.Argument(help="Name of a collection.")]

collections_app = typer.Typer(
    invoke_without_command=True,
    rich_markup_mode=None,
    help="List, make, rename and remove collections.",
)


@collections_app.callback()
def collections_default(context: typer.Context, home: Home = None, as_json: Json = False) -> None:
    if context.invoked_subcommand is None:
        list_collections(home, as_json)


@collections_app.command("list")
def list_collections(home: Home = None, as_json: Json = False) -> None:
    """List the collections and what they hold."""
    from rag import shapes, terminal

    with assistant(home, None) as attest:
        own = attest.settings.collection
        show(
            attest.collections(),
            as_json,
            lambda held: shapes.collections(held, own),
            lambda held: terminal.collections(held, own),
        )


@collections_app.command()
def create(name: Name, home: Home = None) -> None:
    """Make a collection that holds nothing yet; one also comes to be with its first document."""
    with assistant(home, None) as attest:
        typer.echo(f"made {attest.create(name)}")


@collections_app.command()
def rename(
    name: Name,
    new: Annotated[str, typer.Argument(help="Its name from now on.")],
    home: Home = None,
) -> None:
    """Give a collection another name; keys that are for it follow."""
    with assistant(home, None) as attest:
        typer.echo(f"{name} is {attest.rename_collection(name, new)} now")


@collections_app.command()
def remove(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Yes, with every document in it.")] = False,
    home: Home = None,
) -> None:
    """Remove a collection with everything that belongs to it."""
    with assistant(home, None) as attest:
        held = len(attest.catalog.documents(name))
        if held and not yes:
            raise UsageError(f"this removes the documents of {name!r} ({held}): add --yes")
        typer.echo(f"removed {name} and its {attest.drop(name)} documents")
