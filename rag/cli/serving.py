"""The command that serves the page and the API."""

import os
import sys
from typing import Annotated

import typer

from rag.cli.options import Collection, Home, settings


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    open_: Annotated[
        bool, typer.Option("--open", help="Let other machines in without a password or a key.")
    ] = False,
    collection: Collection = None,
    home: Home = None,
) -> None:
    """Open the page and the API."""
    given = settings(
        home=home, collection=collection, host=host, port=port, open=True if open_ else None
    )
    # The page imports this package, never the other way round: it takes over the process.
    values = given.model_dump(mode="json", exclude_none=True)
    environment = os.environ | {f"ATTEST_{key.upper()}": str(v) for key, v in values.items()}
    command = [sys.executable, "-P", "-m", "ui"]
    if os.name == "nt":  # exec on Windows returns to the shell at once
        import subprocess

        raise typer.Exit(subprocess.run(command, env=environment, check=False).returncode)  # noqa: S603
    os.execve(command[0], command, environment)  # noqa: S606
