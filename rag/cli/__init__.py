"""The command line: stdout is data, stderr is progress. Exit 0 ok, 1 error, 2 usage, 3 partly."""

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

import typer

from rag.cli import (
    access,
    adapting,
    asking,
    calibrating,
    classifying,
    collections,
    evaluating,
    every,
    history,
    library,
    models,
    reporting,
    serving,
    similar,
    training,
    upkeep,
)
from rag.cli.options import STOPPED
from rag.errors import AttestError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Answers questions from your own documents, offline, and shows the evidence.",
)
_models = typer.Typer(
    invoke_without_command=True, rich_markup_mode=None, help="List, pull and show models."
)
_models.callback()(models.models_default)
_models.command("list")(models.list_models)
_models.command()(models.pull)
_models.command("show")(models.show_model)
app.command()(library.add)
app.command()(library.sync)
app.command("list")(library.list_documents)
app.command()(library.remove)
app.command()(library.tag)
app.command()(asking.search)
app.command()(similar.similar)
app.command()(similar.duplicates)
app.command()(asking.ask)
app.command()(asking.chat)
app.command()(every.every)
app.command()(reporting.report)
app.command()(adapting.adapt)
app.command()(calibrating.calibrate)
app.command()(classifying.classify)
app.command()(library.status)
app.command()(library.weight)
app.add_typer(collections.collections_app, name="collections")
app.command()(history.history)
app.command()(upkeep.verify)
app.command()(upkeep.rebuild)
app.command()(upkeep.reembed)
app.command()(upkeep.export)
app.command("import")(upkeep.import_)
app.command()(upkeep.reset)
app.command()(serving.serve)
app.command()(access.password)
app.add_typer(access.keys_app, name="keys")
_train = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Train models of your own.")
_train.command("encoder")(training.train_encoder)
_train.command("generator")(training.train_generator)
_train.command("classifier")(classifying.train_classifier)
app.add_typer(_train, name="train")
app.add_typer(evaluating.evaluating, name="eval")
app.add_typer(_models, name="models")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; whatever a user can cause ends in one line and an exit code."""
    from index.errors import StorageError

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a pipe's encoding may lack what documents hold
            stream.reconfigure(errors="replace")
    try:
        app(arguments)
    except (AttestError, StorageError) as error:
        typer.echo(f"attest: {error}", err=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        typer.echo("attest: stopped; what was reported is kept", err=True)
        sys.exit(STOPPED)
    except BrokenPipeError:  # the reader of stdout has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:  # a full disk, a home that may not be written
        typer.echo(f"attest: {error}", err=True)
        sys.exit(1)
