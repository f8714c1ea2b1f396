"""`python -m benchmarks [NAME…]`: measure, print tables, keep the figures with --json."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.passages import SAMPLES
from benchmarks.table import Table, as_json, show
from rag.errors import AttestError
from rag.models import locate
from rag.settings import load_settings

_DATA = SAMPLES.parent.parent / "shared" / "data"
_SIZES = (10_000, 100_000, 1_000_000)
_TASKS = ("scifact", "cranfield", "autorag_ko")


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


class Benchmark(StrEnum):
    """What can be measured."""

    embedding = "embedding"
    generation = "generation"
    kept = "kept"
    ingest = "ingest"
    retrieval = "retrieval"
    answers = "answers"
    memory = "memory"
    similarity = "similarity"
    training = "training"
    scale = "scale"
    cluster = "cluster"
    all = "all"


# Only where they are named: a library of a million takes an hour to make, and Ray may be missing.
_BY_NAME = (Benchmark.scale, Benchmark.cluster)


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line said."""

    models: Path  # folder of pulled models
    encoder: str  # name or folder
    compared: str  # the encoder of a race: one that other tools read too
    generator: str  # name, folder or file
    data: Path | None
    tasks: tuple[str, ...]
    onnx: Path | None
    cache: Path | None
    rounds: int
    texts: int
    threads: int
    failures: bool
    sizes: tuple[int, ...]


@app.command()
def run(
    names: Annotated[
        list[Benchmark] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="embedding, generation, kept, ingest, retrieval, answers, memory, similarity, "
            "training, scale, cluster; all but the last two if none is named.",
        ),
    ] = None,
    models: Annotated[
        Path | None, typer.Option(help="Folder of pulled models; the user's own if not given.")
    ] = None,
    encoder: Annotated[str | None, typer.Option(help="Name or folder.")] = None,
    generator: Annotated[str | None, typer.Option(help="Name, folder or .gguf file.")] = None,
    data: Annotated[Path, typer.Option(help="Folder of public corpora.")] = _DATA,
    task: Annotated[
        list[str] | None, typer.Option(help="A corpus for retrieval; may be repeated.")
    ] = None,
    onnx: Annotated[
        Path | None, typer.Option(help="The encoder's int8 export, for onnxruntime.")
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Keep vectors here; scale's libraries too.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of a race that count.")] = 5,
    texts: Annotated[int, typer.Option(min=1, help="Passages to embed.")] = 512,
    threads: Annotated[int, typer.Option(min=1, help="Of each contender.")] = 2,
    failures: Annotated[bool, typer.Option("--failures", help="List failing questions.")] = False,
    size: Annotated[
        list[int] | None, typer.Option(min=1000, help="Chunks for scale; may be repeated.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--json", help="Write the figures here.")] = None,
) -> None:
    """Measure beside other tools, on the same machine and the same inputs."""
    settings = load_settings({"models_dir": models, "encoder": encoder, "generator": generator})
    options = Options(
        models=settings.models_dir,
        encoder=settings.encoder,
        compared=encoder or "minilm",
        generator=settings.generator,
        data=data if data.is_dir() else None,
        tasks=tuple(task or _TASKS),
        onnx=onnx,
        cache=cache,
        rounds=rounds,
        texts=texts,
        threads=threads,
        failures=failures,
        sizes=tuple(sorted(size or _SIZES)),
    )
    console = Console(width=None if Console().is_terminal else 160)
    tables = []
    for table in measured(names or [Benchmark.all], options):
        show(table, console)
        tables.append(table)
    if output is not None:
        figures = {table.name: as_json(table) for table in tables}
        output.write_text(json.dumps(figures, ensure_ascii=False, indent=2), encoding="utf-8")


def measured(names: list[Benchmark], options: Options) -> Iterator[Table]:
    """Each table as soon as it is there."""
    if Benchmark.all in names:
        names = [name for name in Benchmark if name not in (Benchmark.all, *_BY_NAME)]
    for name in names:
        if name is Benchmark.scale:
            yield from _scale(options)
        elif name is Benchmark.kept:
            yield from _kept(options)
        else:
            yield _table(name, options)


def _table(name: Benchmark, options: Options) -> Table:
    # What one benchmark loads must not weigh on another that is asked for alone.
    match name:
        case Benchmark.embedding:
            from benchmarks import embedding

            return embedding.measure(
                encoder=locate(options.compared, options.models),
                data=options.data,
                onnx=options.onnx,
                texts=options.texts,
                rounds=options.rounds,
                threads=options.threads,
            )
        case Benchmark.generation:
            from benchmarks import generation

            return generation.measure(
                generator=locate(options.generator, options.models),
                rounds=options.rounds,
                threads=options.threads,
            )
        case Benchmark.ingest:
            from benchmarks import ingest

            return ingest.measure(
                models=options.models,
                encoder=options.encoder,
                data=options.data,
                rounds=options.rounds,
                threads=options.threads,
            )
        case Benchmark.retrieval:
            from benchmarks import retrieval

            return retrieval.measure(
                encoder=locate(options.encoder, options.models),
                name=options.encoder,
                data=options.data,
                tasks=options.tasks,
                cache=options.cache,
            )
        case Benchmark.answers:
            from benchmarks import answers

            return answers.measure(
                models=options.models, encoder=options.encoder, failures=options.failures
            )
        case Benchmark.memory:
            from benchmarks import memory

            return memory.measure(
                models=options.models, encoder=options.encoder, generator=options.generator
            )
        case Benchmark.similarity:
            from benchmarks import similarity

            return similarity.measure(
                encoders=[locate(options.encoder, options.models)], data=options.data
            )
        case Benchmark.training:
            from benchmarks import training

            return training.measure(
                encoder=locate("minilm", options.models),
                data=options.data,
                steps=options.rounds,
                threads=options.threads,
            )
        case Benchmark.cluster:
            from benchmarks import cluster

            return cluster.measure(
                models=options.models,
                encoder=options.encoder,
                data=options.data,
                rounds=options.rounds,
                threads=options.threads,
            )
        case Benchmark.all | Benchmark.kept | Benchmark.scale:
            raise AssertionError("each is taken apart before")


def _kept(options: Options) -> Iterator[Table]:
    from benchmarks import kept

    return kept.measure(
        generator=locate(options.generator, options.models),
        data=options.data,
        rounds=options.rounds,
        threads=options.threads,
    )


def _scale(options: Options) -> tuple[Table, Table]:
    from benchmarks import scale

    if options.cache is None:
        raise typer.BadParameter("scale keeps its libraries: name a folder with --cache")
    return scale.measure(
        encoder=locate(options.encoder, options.models),
        data=options.data,
        cache=options.cache,
        sizes=options.sizes,
    )


def main() -> None:
    try:
        app()
    except AttestError as error:
        typer.echo(f"benchmarks: {error}", err=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
