"""Commands that change the library or list it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli.options import (
    STOPPED,
    Address,
    Collection,
    Engine,
    Home,
    Json,
    Tags,
    assistant,
    cluster,
    show,
    stoppable,
)

if TYPE_CHECKING:
    from rag.ingest import Outcome

Ocr = Annotated[
    bool | None, typer.Option("--ocr", help="Read scanned pages and pictures by tesseract.")
]

_BAD = {"empty", "unsupported", "failed"}


def add(
    paths: Annotated[list[Path], typer.Argument(help="Files and folders.")],
    tags: Tags = None,
    ocr: Ocr = None,
    engine: Engine = "local",
    address: Address = None,
    collection: Collection = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Add files and folders to the library."""
    from rag import progress

    with (
        cluster(engine, address, home) as machines,
        assistant(home, collection, ocr=ocr) as attest,
        stoppable() as stop,
    ):
        given = attest.existing(paths)
        total = attest.count_files(given)
        outcomes = attest.ingest(given, tags=tags or (), stop=stop, cluster=machines)
        done = _told(progress.ingesting(outcomes, total, "adding"), as_json)
        _end(done, stopped=stop())


def sync(
    folder: Annotated[
        str,
        typer.Argument(help="A folder, whose files the library follows, or a URL: s3://bucket/…"),
    ],
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove documents whose files are gone.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on and follow every change, until Ctrl-C.")
    ] = False,
    tags: Tags = None,
    ocr: Ocr = None,
    engine: Engine = "local",
    address: Address = None,
    collection: Collection = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Bring the library to what a folder holds now."""
    from rag import progress
    from rag.errors import UsageError
    from rag.stores import Store, is_url
    from rag.watch import watched

    if watch and is_url(folder):
        raise UsageError("--watch follows a folder of this machine: run sync again for a URL")
    with (
        cluster(engine, address, home) as machines,
        assistant(home, collection, ocr=ocr) as attest,
        stoppable() as stop,
    ):
        if is_url(folder):
            place: Path | Store = Store.open(folder, ocr=attest.settings.ocr)
        else:
            (place,) = attest.existing([folder])
        outcomes = attest.sync(place, prune=prune, tags=tags or (), stop=stop, cluster=machines)
        total = attest.count_files([place]) if isinstance(place, Path) else len(place.objects)
        done = _told(progress.ingesting(outcomes, total, "syncing"), as_json)
        gone = [] if prune or stop() else attest.gone(place)
        if gone:
            typer.echo(
                f"{len(gone)} documents have no file any more: --prune removes them", err=True
            )
        if watch and isinstance(place, Path):
            for some in watched(
                attest, place, prune=prune, tags=tags or (), stop=stop, cluster=machines
            ):
                _told(some, as_json)
        _end(done, stopped=stop() and not watch)


def list_documents(collection: Collection = None, home: Home = None, as_json: Json = False) -> None:
    """List the documents of the library."""
    from rag import shapes, terminal

    with assistant(home, collection) as attest:
        show(attest.documents(collection), as_json, shapes.documents, terminal.documents)


def remove(
    documents: Annotated[list[str], typer.Argument(help="Ids, paths or file names.")],
    collection: Collection = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Remove documents and everything that was made of them."""
    from rag import shapes, terminal

    with assistant(home, collection) as attest:
        show(attest.remove(documents), as_json, shapes.outcomes, terminal.outcomes)


def tag(
    documents: Annotated[list[str], typer.Argument(help="Ids, paths or file names.")],
    add: Annotated[list[str] | None, typer.Option("--add", help="A tag to put on.")] = None,
    off: Annotated[list[str] | None, typer.Option("--remove", help="A tag to take off.")] = None,
    collection: Collection = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Put tags on documents and take others off."""
    from rag import shapes, terminal

    with assistant(home, collection) as attest:
        found = attest.tag(documents, add=add or (), remove=off or ())
        show(found, as_json, shapes.documents, terminal.documents)


def weight(
    value: Annotated[
        float | None, typer.Argument(min=0, max=1, help="0 is words alone, 1 is meaning alone.")
    ] = None,
    collection: Collection = None,
    home: Home = None,
) -> None:
    """Show or set how much meaning counts beside words in a collection."""
    with assistant(home, collection) as attest:
        if value is not None:
            attest.set_fusion_weight(value)
        typer.echo(f"{attest.status().fusion_weight:g}")


def status(collection: Collection = None, home: Home = None, as_json: Json = False) -> None:
    """Show what the library holds."""
    from rag import shapes, terminal

    with assistant(home, collection) as attest:
        show(attest.status(), as_json, shapes.status, terminal.status)


def _told(outcomes: "Iterator[Outcome]", as_json: bool) -> "list[Outcome]":
    """Print outcomes, each as it comes where a person reads them."""
    from rag import shapes, terminal

    done = []
    for outcome in outcomes:
        done.append(outcome)
        if not as_json:
            typer.echo(terminal.outcome(outcome))
    if as_json:
        show(done, True, shapes.outcomes, terminal.outcomes)
    else:
        typer.echo(terminal.summary(done))
    return done


def _end(done: "Sequence[Outcome]", *, stopped: bool) -> None:
    bad = sum(outcome.status in _BAD for outcome in done)
    if stopped:
        raise typer.Exit(STOPPED)
    raise typer.Exit(0 if not bad else 1 if bad == len(done) else 3)
