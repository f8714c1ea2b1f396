"""The command that lets a library learn from use."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rag.cli.options import Collection, Home, Json, assistant, show
from rag.errors import UsageError

if TYPE_CHECKING:
    from rag.adapting_run import Wish


def adapt(
    questions: Annotated[
        Literal["log", "pseudo", "both"],
        typer.Option(help="Learn from what was asked, from made questions, or from both."),
    ] = "both",
    queries: Annotated[
        Path | None, typer.Option(help="Judged questions: a folder in BEIR's layout.")
    ] = None,
    two_sided: Annotated[
        bool, typer.Option("--two-sided", help="Passages learn too, and are encoded anew.")
    ] = False,
    rerank: Annotated[
        bool, typer.Option("--rerank", help="Try the generator's vote on the best hits as well.")
    ] = False,
    rollback: Annotated[
        bool, typer.Option("--rollback", help="Take back what was learned, at once.")
    ] = False,
    minutes: Annotated[float, typer.Option(help="How long it may take, about.")] = 10.0,
    seed: Annotated[int, typer.Option(help="Of everything that is drawn by chance.")] = 0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the report as an HTML page.")
    ] = None,
    collection: Collection = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Let the library learn from its questions, and keep what is better with confidence."""
    from rag.adapting_run import Wish

    if rollback:
        _rollback(home, collection, as_json)
        return
    if queries is not None and not queries.is_dir():
        raise UsageError(f"{queries}: no such folder")
    if output is not None:  # once the library has learned it is too late to say so
        if output.is_dir():
            raise UsageError(f"{output} is a folder: name a file for the report")
        output.parent.mkdir(parents=True, exist_ok=True)
    _adapt(
        Wish(questions, queries, two_sided, rerank, minutes, seed),
        output,
        collection,
        home,
        as_json,
    )


def _adapt(
    wish: "Wish", output: Path | None, collection: str | None, home: Path | None, as_json: bool
) -> None:
    from rag import adaptation_report as report
    from rag.adapting import adapt
    from rag.adapting_progress import watching

    with assistant(home, collection) as attest:
        with watching() as watch:
            made = adapt(attest, wish, watch=watch)
        if output is not None:
            report.write_page(made, output)
    show(made, as_json, report.record, report.text)


def _rollback(home: Path | None, collection: str | None, as_json: bool) -> None:
    from rag.adapting import rollback

    with assistant(home, collection) as attest:
        taken = rollback(attest)
    show(taken, as_json, lambda was: {"rolled_back": was}, _taken)


def _taken(was: str | None) -> str:
    return "nothing was learned yet" if was is None else f"took back {was}"
