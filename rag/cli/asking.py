"""Commands that ask the library something."""

import sys
from typing import Annotated, Literal

import typer

from rag.cli.filtering import filtered
from rag.cli.options import Collection, Home, Json, K, assistant, show, text_of
from rag.errors import EngineError, TooLong, UsageError
from rag.records import EVERYWHERE, Exchange, Within

AnswerModes = Annotated[
    Literal["auto", "generate", "extract"],
    typer.Option("--mode", help="Quote and then phrase, let the generator write, or only quote."),
]

Rerank = Annotated[
    bool | None,
    typer.Option(
        "--rerank/--no-rerank",
        help="Let the generator vote on the best hits; the library decides if not given.",
    ),
]


@filtered
def search(
    query: Annotated[str, typer.Argument(help="What to look for; - reads standard input.")],
    k: K = 5,
    mode: Annotated[
        Literal["hybrid", "dense", "lexical"], typer.Option(help="Meaning and words, or one.")
    ] = "hybrid",
    explain: Annotated[
        bool, typer.Option("--explain", help="Say of each hit why it was found.")
    ] = False,
    rerank: Rerank = None,
    within: Within = EVERYWHERE,
    collection: Collection = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Find the passages nearest to a query."""
    from rag import shapes, terminal

    with assistant(home, collection) as attest:
        found = attest.search(
            text_of(query), k=k, mode=mode, within=within, explain=explain, rerank=rerank
        )
    show(found, as_json, shapes.search, terminal.explained if explain else terminal.search)


@filtered
def ask(
    question: Annotated[str, typer.Argument(help="The question; - reads standard input.")],
    mode: AnswerModes = "auto",
    rerank: Rerank = None,
    within: Within = EVERYWHERE,
    collection: Collection = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Answer a question from the documents, with citations."""
    from rag import shapes, terminal

    with assistant(home, collection) as attest:
        given = attest.ask(text_of(question), mode=mode, within=within, rerank=rerank)
    show(given, as_json, shapes.answer, terminal.answer)


def chat(
    mode: AnswerModes = "auto",
    documents: Annotated[
        list[str] | None, typer.Option("--in", help="Stay within this document; repeatable.")
    ] = None,
    collection: Collection = None,
    home: Home = None,
) -> None:
    """Ask one question after another; an empty line or Ctrl-D ends."""
    from rag import terminal

    within, earlier = Within(documents=tuple(documents or ())), tuple[Exchange, ...]()
    with assistant(home, collection) as attest:
        while question := _asked():
            try:
                given = attest.ask(question, mode=mode, within=within, earlier=earlier)
            except (UsageError, TooLong, EngineError) as error:  # the next one may do better
                typer.echo(f"attest: {error}", err=True)
                continue
            earlier = (*earlier, Exchange.of(given))
            typer.echo(terminal.answer(given) + "\n")


def _asked() -> str:
    try:
        return input("> " if sys.stdin.isatty() else "").strip()
    except EOFError:
        return ""
