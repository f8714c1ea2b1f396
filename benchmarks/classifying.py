"""`python -m benchmarks.classifying NAME… --runs FOLDER`: what heads learn, on public data.

Every run is kept in its own folder under FOLDER: one that was killed goes on where it was, one that
is finished is only judged again. Rows of data that may not train what ships are measured here too.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from benchmarks import labelled_data, questioned_data
from benchmarks.table import Row, Table, as_json, show
from encoder.classify import Classifier, ClassifierConfig, train_classifier
from encoder.entities import entity_scores
from encoder.examples import Example
from encoder.headed import ADAPTER
from encoder.label_scores import accuracy, macro_f1
from encoder.metrics import pearson, spearman
from encoder.reader import Reader
from encoder.reading import ReaderConfig, answer_scores, train_reader
from encoder.tagging import Tagger, TaggerConfig, train_tagger
from rag import Settings
from rag.models import locate
from transformer import runtime
from transformer.lora import LoraConfig
from transformer.training import Moment, TrainingConfig

_DATA = Path(__file__).parent.parent.parent / "shared" / "data"


def _config(
    steps: int, *, batch: int = 32, max_tokens: int = 128, **rest: object
) -> ClassifierConfig:
    training = TrainingConfig(
        steps=steps, learning_rate=5e-4, evaluate_every=max(50, steps // 6), checkpoint_minutes=2
    )
    return ClassifierConfig(
        max_tokens=max_tokens,
        batch=batch,
        held_out=0.05,
        lora=LoraConfig(rank=16, last_layers=8),
        training=training,
        **rest,  # type: ignore[arg-type]
    )


class Learned(StrEnum):
    """What can be measured."""

    nsmc = "nsmc"
    trec = "trec"
    stsb = "stsb"
    stsb_apart = "stsb_apart"
    klue_ner = "klue_ner"
    korquad = "korquad"
    covid = "covid"


@dataclass(frozen=True, slots=True)
class _Labels:
    read: Callable[[Path], labelled_data.Labels]
    config: ClassifierConfig


_LABELS = {
    Learned.nsmc: _Labels(labelled_data.nsmc, _config(1100, max_tokens=96)),
    Learned.trec: _Labels(labelled_data.trec, _config(500, max_tokens=64)),
    Learned.stsb: _Labels(labelled_data.stsb, _config(700, task="regression")),
    Learned.stsb_apart: _Labels(labelled_data.stsb, _config(500, task="regression", apart=True)),
}


_TAGS = TaggerConfig(
    max_tokens=128,
    held_out=0.05,
    lora=LoraConfig(rank=16, last_layers=8),
    training=TrainingConfig(  # twice the rate, on all layers, never learned more than "no entity"
        steps=500, learning_rate=5e-4, evaluate_every=100, checkpoint_minutes=2
    ),
)
_QUESTIONS = {Learned.korquad: questioned_data.korquad, Learned.covid: questioned_data.covid}
_READING = ReaderConfig(
    longest=128,
    evaluate_on=40,
    lora=LoraConfig(rank=16),
    training=TrainingConfig(
        steps=300, learning_rate=5e-4, evaluate_every=100, checkpoint_minutes=2
    ),
)
# A paper is read in some twenty windows, of which one or two answer: to say "not here" is most of
# what is asked.
_PAPERS = replace(
    _READING, empty=2.0, training=replace(_READING.training, steps=600, evaluate_every=200)
)


def labels(name: Learned, data: Path, base: Path, folder: Path) -> Row:
    """Train a classifier or a regression, and judge it on the test."""
    about = _LABELS[name]
    examples = about.read(data)
    if not (folder / ADAPTER).is_file():
        train_classifier(
            base, examples.train, about.config, folder, base_name=base.name, watch=_watch
        )
    classifier = Classifier.load(folder, base)
    began = time.perf_counter()
    scores = _judged(classifier, examples.test)
    seconds = time.perf_counter() - began
    return {
        "name": f"{examples.name}{', apart' if about.config.apart else ''}, {base.name}",
        **scores,
        **_spent(classifier.note, folder, len(examples.train), len(examples.test), seconds),
    }


def tags(data: Path, base: Path, folder: Path) -> Row:
    """Train a tagger on Korean names, and judge it on the test."""
    train, test = labelled_data.klue_ner(data)
    if not (folder / ADAPTER).is_file():
        train_tagger(base, train, _TAGS, folder, base_name=base.name, watch=_watch)
    tagger = Tagger.load(folder, base)
    began = time.perf_counter()
    told = tagger.tag([each.text for each in test])
    seconds = time.perf_counter() - began
    scores = entity_scores(told, [each.entities for each in test])
    return {
        "name": f"klue_ner, {base.name}",
        **{f"{name}_pct": 100 * value for name, value in scores.items()},
        **_spent(tagger.note, folder, len(train), len(test), seconds),
    }


def answers(name: Learned, data: Path, base: Path, folder: Path) -> Row:
    """Train a reader, and judge it on passages that it has not seen."""
    found = _QUESTIONS[name](data)
    if not (folder / ADAPTER).is_file():
        reading = _PAPERS if name is Learned.covid else _READING
        config = replace(reading, by=found.by)
        train_reader(base, found.train, config, folder, base_name=base.name, watch=_watch)
    reader = Reader.load(folder, base)
    began = time.perf_counter()
    told = reader.read_all([(each.question, each.passage) for each in found.test])
    seconds = time.perf_counter() - began
    scores = answer_scores(told, found.test, by=found.by)
    return {
        "name": f"{found.name}, {base.name}",
        **{f"{name}_pct": 100 * value for name, value in scores.items()},
        "answers_lost": found.lost,
        **_spent(reader.note, folder, len(found.train), len(found.test), seconds),
    }


def _spent(
    note: Mapping[str, Any], folder: Path, train: int, test: int, seconds: float
) -> dict[str, float | int]:
    return {
        "learned_from": train,
        "tested_on": test,
        "steps": int(note["steps"]),
        "minutes": float(note["minutes"]),
        "rows_per_s": test / seconds,
        "adapter_mb": (folder / ADAPTER).stat().st_size / 1e6,
    }


def _judged(classifier: Classifier, examples: tuple[Example, ...]) -> Row:
    seconds = [each.second for each in examples if each.second is not None]
    told = classifier.classify([each.text for each in examples], seconds)
    if not classifier.labels:
        numbers = [each.score for each in told], [float(each.label) for each in examples]
        return {"pearson_pct": 100 * pearson(*numbers), "spearman_pct": 100 * spearman(*numbers)}
    names, true = [str(each.label) for each in told], [str(each.label) for each in examples]
    return {
        "accuracy_pct": 100 * accuracy(names, true),
        "macro_f1_pct": 100 * macro_f1(names, true),
    }


def _watch(moment: Moment) -> None:
    if moment.metrics or moment.step % 25 == 0:
        said = " ".join(f"{name} {value:.4f}" for name, value in moment.metrics.items())
        typer.echo(
            f"step {moment.step} loss {moment.loss:.4f} {moment.minutes:.1f} min {said}", err=True
        )


def main(
    names: Annotated[list[Learned], typer.Argument(help="What to learn.")],
    runs: Annotated[Path, typer.Option(help="Folder that keeps every run.")],
    base: Annotated[
        str, typer.Option(help="Name or folder of the encoder to begin from.")
    ] = "e5-small",
    data: Annotated[Path, typer.Option(help="Folder of public data.")] = _DATA,
    threads: Annotated[int, typer.Option(min=1)] = 1,
) -> None:
    """Train heads on public data, and print how well they do on what they have not seen."""
    runtime.set_threads(threads)
    encoder = locate(base, Settings().models_dir)
    rows = []
    for name in names:
        folder = runs / f"{name}-{encoder.name}"
        rows.append(_measured(name, data, encoder, folder))
        file = folder / "figures.json"
        file.write_text(json.dumps(rows[-1], ensure_ascii=False, indent=2), encoding="utf-8")
    table = Table("classifying", "What heads learn, on rows they have not seen", tuple(rows))
    show(table, Console())
    typer.echo(json.dumps(as_json(table), ensure_ascii=False), err=True)


def _measured(name: Learned, data: Path, base: Path, folder: Path) -> Row:
    if name in _LABELS:
        return labels(name, data, base, folder)
    return (
        tags(data, base, folder) if name is Learned.klue_ner else answers(name, data, base, folder)
    )


if __name__ == "__main__":
    typer.run(main)
