"""Commands that train classifiers and ask them."""

from pathlib import Path
from typing import Annotated

import typer

from rag.cli import training
from rag.cli.options import Collection, Home, Json, assistant, settings, show, stoppable, text_of
from rag.errors import UsageError

Trained = Annotated[Path, typer.Option("--classifier", help="Folder of a trained classifier.")]


def train_classifier(
    config: Annotated[Path, typer.Argument(help="A TOML file; see configs/classifier.toml.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the classifier.")],
    overrides: Annotated[
        list[str] | None, typer.Option("--set", help="Over the file: table.key=value; repeatable.")
    ] = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Train a classifier on a table of texts and labels."""
    from rag import classified, classifier_training
    from transformer import processes
    from transformer.staged import quiet

    given = settings(home=home)
    with training.refusing(), stoppable() as stop:
        first = processes.joined().first  # of those that torchrun started: it alone tells
        with (training.bars(stop) if first else quiet)("training") as watch:
            made = classifier_training.train(
                config, output, given, overrides=overrides or (), watch=watch
            )
    if first:
        show(made, as_json, classified.trained, classified.trained_text)


def classify(
    classifier: Trained,
    given: Annotated[
        str | None,
        typer.Argument(
            metavar="[TEXT|FILE]",
            help="A text, a document, or a .csv, .tsv or .jsonl of texts; - reads standard input.",
        ),
    ] = None,
    library: Annotated[
        bool, typer.Option("--library", help="Classify the library's documents, and tag them.")
    ] = False,
    prefix: Annotated[
        str | None, typer.Option("--as", help="With --library: tags are PREFIX/label.")
    ] = None,
    least: Annotated[
        float, typer.Option("--least", help="With --library: score that a tag needs.")
    ] = 0.0,
    text: Annotated[str, typer.Option(help="Of a table: the column of the texts.")] = "text",
    second: Annotated[
        str | None, typer.Option(help="Of a table: the column of the second texts of pairs.")
    ] = None,
    collection: Collection = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Tell what a text is, or label the documents of the library."""
    from rag import classified, classifying

    if library != (given is None) or library != (prefix is not None):
        raise UsageError("give a text or file, or else --library with --as PREFIX")
    with assistant(home, collection) as attest, stoppable() as stop:
        model = classifying.open_classifier(classifier, attest.settings)
        if given is not None:
            found = classifying.classify(model, text_of(given), attest, text=text, second=second)
            show(found, as_json, classified.texts, classified.texts_text)
        elif prefix is not None:
            tagged = classifying.label_library(model, attest, prefix, least=least, stop=stop)
            show(list(tagged), as_json, classified.documents, classified.documents_text)
