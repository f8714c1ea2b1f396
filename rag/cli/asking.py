"""Commands that ask the library something."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from rag.cli.options import Collection, Home, Json, K, assistant, show, text_of
from rag.errors import UsageError
from rag.records import Within

InDocuments = Annotated[
    list[str] | None, typer.Option("--in", help="Stay within this document; repeatable.")
]
InPaths = Annotated[
    list[str] | None,
    typer.Option("--path", help="Stay within paths that match, like 'contracts/*'; repeatable."),
]
OfTypes = Annotated[
    list[str] | None,
    typer.Option("--type", help="Stay within a media type, like application/pdf; repeatable."),
]
WithTags = Annotated[
    list[str] | None, typer.Option("--tag", help="Stay within documents of this tag; repeatable.")
]
Since = Annotated[str | None, typer.Option(help="Only files changed on or after this date.")]
Until = Annotated[str | None, typer.Option(help="Only files changed on or before this date.")]
AnswerModes = Annotated[
    Literal["auto", "generate", "extract"],
    typer.Option("--mode", help="Quote and then phrase, let the generator write, or only quote."),
]


def search(
    query: Annotated[str, typer.Argument(help="What to look for; - reads standard input.")],
    k: K = 5,
    mode: Annotated[
        Literal["hybrid", "dense", "lexical"], typer.Option(help="Meaning and words, or one.")
    ] = "hybrid",
    explain: Annotated[
        bool, typer.Option("--explain", help="Say of each hit why it was found.")
    ] = False,
    documents: InDocuments = None,
    paths: InPaths = None,
    types: OfTypes = None,
    tags: WithTags = None,
    since: Since = None,
    until: Until = None,
    collection: Collection = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Find the passages nearest to a query."""
    from rag import shapes, terminal

    within = _within(documents, paths, types, tags, since, until)
    with assistant(home, collection) as attest:
        found = attest.search(text_of(query), k=k, mode=mode, within=within, explain=explain)
    show(found, as_json, shapes.search, terminal.explained if explain else terminal.search)


def similar(
    document: Annotated[str, typer.Argument(help="A document of the library, or any file.")],
    k: K = 5,
    collection: Collection = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Find the documents nearest to a document."""
    from rag import shapes, terminal

    with assistant(home, collection) as attest:
        show(attest.similar(document, k=k), as_json, shapes.search, terminal.search)


def ask(
    question: Annotated[str, typer.Argument(help="The question; - reads standard input.")],
    mode: AnswerModes = "auto",
    documents: InDocuments = None,
    paths: InPaths = None,
    types: OfTypes = None,
    tags: WithTags = None,
    since: Since = None,
    until: Until = None,
    collection: Collection = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Answer a question from the documents, with citations."""
    from rag import shapes, terminal

    within = _within(documents, paths, types, tags, since, until)
    with assistant(home, collection) as attest:
        given = attest.ask(text_of(question), mode=mode, within=within)
    show(given, as_json, shapes.answer, terminal.answer)


def chat(
    mode: AnswerModes = "auto",
    documents: InDocuments = None,
    collection: Collection = None,
    home: Home = None,
) -> None:
    """Ask one question after another; an empty line or Ctrl-D ends."""
    from rag import terminal

    within = Within(documents=tuple(documents or ()))
    with assistant(home, collection) as attest:
        while question := _asked():
            try:
                given = attest.ask(question, mode=mode, within=within)
                typer.echo(terminal.answer(given) + "\n")
            except UsageError as error:
                typer.echo(f"attest: {error}", err=True)


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

    with assistant(home, collection) as attest:
        show(attest.report(output, clusters=clusters), as_json, shapes.report, terminal.report)


def _within(
    documents: list[str] | None,
    paths: list[str] | None,
    types: list[str] | None,
    tags: list[str] | None,
    since: str | None,
    until: str | None,
) -> Within:
    return Within(
        documents=tuple(documents or ()),
        paths=tuple(paths or ()),
        media_types=tuple(types or ()),
        tags=tuple(tags or ()),
        since=since,
        until=until,
    )


def _asked() -> str:
    try:
        return input("> " if sys.stdin.isatty() else "").strip()
    except EOFError:
        return ""
