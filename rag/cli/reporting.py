"""The command that shows what is in a library: its documents in groups."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from rag.cli.options import Collection, Home, Json, assistant, show


def report(
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write a file: .html, .json, .csv or .md."),
    ] = None,
    clusters: Annotated[
        int | None, typer.Option(help="How many clusters; chosen if not given.")
    ] = None,
    by: Annotated[
        Literal["documents", "passages"],
        typer.Option(help="What is grouped: passages for few long documents."),
    ] = "documents",
    outliers: Annotated[
        Literal["keep", "assign"],
        typer.Option(help="Keep what is near to nothing apart, or put it into the nearest."),
    ] = "keep",
    compare: Annotated[
        Path | None,
        typer.Option(metavar="OLD.json", help="Say what has changed since an earlier report."),
    ] = None,
    collection: Collection = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Group the documents and name each group by its words."""
    from rag import shapes, terminal

    with assistant(home, collection) as attest:
        made = attest.report(output, clusters=clusters, by=by, outliers=outliers, compare=compare)
    show(made, as_json, shapes.report, terminal.report)
