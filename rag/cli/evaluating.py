"""Commands that measure how good the library is."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli.asking import AnswerModes
from rag.cli.options import Collection, Home, Json, assistant, show
from rag.errors import UsageError

if TYPE_CHECKING:
    from rag.evaluate import Watch

evaluating = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@evaluating.callback()
def _commands() -> None:
    """Measure how well the library finds and answers."""


@evaluating.command("retrieval")
def evaluate_retrieval(
    data: Annotated[
        Path, typer.Argument(help="A folder in BEIR's layout, or a questions.jsonl of your own.")
    ],
    against: Annotated[
        str | None,
        typer.Option(help="Compare with an encoder, or with the .json of an earlier run."),
    ] = None,
    cache: Annotated[Path | None, typer.Option(help="Keep vectors here between runs.")] = None,
    per_query: Annotated[
        bool, typer.Option("--per-query", help="Each question's figures, in the JSON.")
    ] = False,
    collection: Collection = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Measure search by words, by meaning, by both, and as the library has learned."""
    from rag import evaluate, evaluation_file, evaluation_text, measured

    if per_query and not as_json:
        raise UsageError("--per-query is for programs: add --json")
    with assistant(home, collection) as attest, _bar() as watch:
        made = evaluate.evaluate(attest, data, against=against, cache=cache, watch=watch)
        measured.keep_retrieval(attest, made)
    shape = partial(evaluation_file.evaluation, each=per_query)
    show(made, as_json, shape, evaluation_text.evaluation)


@evaluating.command("answers")
def evaluate_answers(
    file: Annotated[
        Path, typer.Argument(help='Questions, a line each: {"question", "answers", "document", …}.')
    ],
    mode: AnswerModes = "auto",
    against: Annotated[
        str | None,
        typer.Option(
            help="Compare with another mode, another generator, or the rows of an earlier run."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write what became of each question here, a line each.")
    ] = None,
    collection: Collection = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Measure what the library answers, what it cites, and when it declines."""
    from rag import answer_evaluation, answer_evaluation_file, answer_evaluation_text, measured

    with assistant(home, collection) as attest, _bar() as watch:
        made = answer_evaluation.evaluate_answers(
            attest, file, mode=mode, against=against, out=out, watch=watch
        )
        measured.keep_answers(attest, made)
    show(made, as_json, answer_evaluation_file.evaluation, answer_evaluation_text.evaluation)
    raise typer.Exit(3 if made.failed else 0)


@contextmanager
def _bar() -> "Iterator[Watch]":
    """A bar on stderr for what is being done."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def watch(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)

        yield watch
