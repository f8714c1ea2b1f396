"""Trains a classifier on a table of the user's own examples, as a TOML file says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rag.classifying import for_people
from rag.errors import Unreadable, UsageError
from rag.labelled import Rows, read_rows
from rag.models import locate
from rag.settings import Settings

if TYPE_CHECKING:
    from encoder.examples import Example
    from transformer.training import Watch


@dataclass(frozen=True, slots=True)
class DataConfig:
    """The examples: a table, and the names of its columns."""

    file: Path  # .csv, .tsv or .jsonl; as the config's own folder sees it
    text: str = "text"
    label: str = "label"
    second: str | None = None  # the other text of each pair


@dataclass(frozen=True, slots=True)
class TrainedClassifier:
    """What training a classifier left behind."""

    folder: str
    encoder: str
    labels: tuple[str, ...]  # empty of a regression
    learned_from: int  # examples
    held_out: int  # examples that the metrics are taken on
    cut: int  # examples over the limit of tokens, of which the beginning was read
    steps: int
    minutes: float
    size_bytes: int
    metrics: Mapping[str, float]


def train(
    config: Path,
    folder: Path,
    settings: Settings,
    *,
    overrides: Sequence[str] = (),
    watch: "Watch" = lambda _: None,
) -> TrainedClassifier:
    """Train a classifier as a TOML file says.

    Args:
        config: `encoder`, and the tables `data` (see `DataConfig`) and `classifier` (see
            `encoder.classify.ClassifierConfig`)
        folder: for the classifier; a run that was killed goes on there
        settings: say where models are, and name the encoder where the config does not
        overrides: `table.key=value`, over what the file says
        watch: told of every step

    Raises:
        UsageError: a setting that cannot be, or a column that the table lacks.
        Unreadable: a table or a model that cannot be read.
        AttestError: the examples cannot teach anything, the folder holds a finished classifier, or
            training failed.
    """
    from encoder import headed
    from encoder.classify import ClassifierConfig, train_classifier
    from transformer import configuring, runtime

    with for_people():
        tables = configuring.read(config, overrides)
        for name in tables:
            configuring.require_known(name, ("encoder", "data", "classifier"), "")
        data = configuring.build(DataConfig, _table(tables, "data"), "data")
        learning = configuring.build(ClassifierConfig, _table(tables, "classifier"), "classifier")
        headed.require_free(folder)
        name, base = _encoder(tables.get("encoder", settings.encoder), config, settings)
        examples = _examples(data, config.parent, numbers=learning.task == "regression")
        runtime.set_threads(settings.threads)
        classifier = train_classifier(base, examples, learning, folder, base_name=name, watch=watch)
    note = classifier.note
    return TrainedClassifier(
        folder=str(folder),
        encoder=name,
        labels=classifier.labels,
        learned_from=note["learned_from"],
        held_out=note["held_out"],
        cut=note["cut"],
        steps=note["steps"],
        minutes=note["minutes"],
        size_bytes=headed.size(folder),
        metrics=classifier.metrics,
    )


def _table(tables: Mapping[str, object], name: str) -> Mapping[str, object]:
    table = tables.get(name, {})
    if not isinstance(table, dict):
        raise UsageError(f"{name} ({table!r}) must be a table: [{name}]")
    return table


def _encoder(given: object, config: Path, settings: Settings) -> tuple[str, Path]:
    """Name and folder of the encoder; a folder of the user's own goes by its whole path."""
    if not isinstance(given, str):
        raise UsageError(f"encoder ({given!r}) must be the name or the folder of a model")
    beside = config.parent / given
    named = str(beside.resolve()) if beside.is_dir() else given
    folder = locate(named, settings.models_dir)
    return (named if folder.parent == settings.models_dir else str(folder)), folder


def _examples(data: DataConfig, beside: Path, *, numbers: bool) -> "list[Example]":
    from encoder.examples import Example

    needs = [data.text, data.label, *([data.second] if data.second else [])]
    rows = read_rows(beside / data.file.expanduser(), needs=needs)
    labels = _numbers(rows, data.label) if numbers else _names(rows, data.label)
    texts = rows.texts(data.text)
    seconds = rows.texts(data.second) if data.second else [None] * len(texts)
    return [Example(a, each, b) for a, each, b in zip(texts, labels, seconds, strict=True)]


def _names(rows: Rows, column: str) -> Sequence[str | float]:
    return [_name(cell) for cell in rows.column(column)]


def _name(cell: str | float) -> str:
    """1 and 1.0 of JSON are one label; so is a text with white space around it and without."""
    whole = isinstance(cell, float) and cell.is_integer()
    return f"{cell:.0f}" if whole else str(cell).strip()


def _numbers(rows: Rows, column: str) -> Sequence[str | float]:
    numbers: list[float] = []
    for cell, line in zip(rows.column(column), rows.places, strict=True):
        try:
            numbers.append(float(cell))
        except (ValueError, OverflowError) as error:
            raise Unreadable(
                f"{rows.file}, line {line}: {cell!r} in the column {column!r} is no number; mend "
                'it, or set classifier.task = "classes"'
            ) from error
    return numbers
