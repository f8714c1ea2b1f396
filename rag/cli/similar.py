"""Commands that compare documents with each other."""

from pathlib import Path
from typing import Annotated

import typer

from rag.cli.filtering import filtered
from rag.cli.options import Collection, Home, Json, K, assistant, show, text_of
from rag.records import EVERYWHERE, Within

Output = Annotated[
    Path | None, typer.Option("-o", "--output", help="Write it here: .json or .csv.")
]


@filtered
def similar(
    document: Annotated[
        str,
        typer.Argument(help="A document of the library, or any file; - reads a text from stdin."),
    ],
    k: K = 5,
    within: Within = EVERYWHERE,
    collection: Collection = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Find the documents nearest to a document, and the passages that match."""
    from rag import similar_text

    with assistant(home, collection) as attest:
        if document == "-":
            found = attest.similar_to_text(text_of(document), k=k, within=within)
        else:
            found = attest.similar(document, k=k, within=within)
    show(found, as_json, similar_text.shape, similar_text.text)


@filtered
def duplicates(
    at_least: Annotated[
        float,
        typer.Option(help="Share of their runs of words that two documents have in common."),
    ] = 0.7,
    output: Output = None,
    within: Within = EVERYWHERE,
    collection: Collection = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Find documents that are there more than once, or nearly so, and what differs in them."""
    from rag import duplicates_text

    if output is not None:
        duplicates_text.check(output)
    with assistant(home, collection) as attest:
        found = attest.duplicates(at_least=at_least, within=within)
    if output is not None:
        duplicates_text.write(found, output)
    show(found, as_json, duplicates_text.shape, duplicates_text.text)
