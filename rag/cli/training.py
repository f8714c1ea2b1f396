"""Commands that train models of one's own."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag.cli.options import Json, settings, show, stoppable
from rag.errors import AttestError, UsageError

if TYPE_CHECKING:
    from transformer.staged import Finished
    from transformer.training import Moment, Watch

Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A setting over the file's; repeatable."),
]
Output = Annotated[Path, typer.Option("-o", "--output", help="The model's folder to be made.")]


def train_encoder(
    config: Annotated[Path, typer.Argument(help="A config file, such as configs/encoder-en.toml.")],
    output: Output,
    set_: Set = None,
    as_json: Json = False,
) -> None:
    """Train an encoder from nothing; started again, it goes on where it was."""
    from encoder import scratch
    from transformer import processes, runtime
    from transformer.staged import quiet

    runtime.set_threads(settings().threads)
    with refusing(), stoppable() as stop:
        first = processes.joined().first  # of those that torchrun started: it alone tells
        watch = bars(stop) if first else quiet
        done = scratch.run(config, set_ or (), output, watch=watch)
    if first:
        show(done, as_json, _shape, _text)


def train_generator(
    config: Annotated[
        Path, typer.Argument(help="A config file, such as configs/generator-en.toml.")
    ],
    output: Output,
    set_: Set = None,
    as_json: Json = False,
) -> None:
    """Train a generator from nothing or from one that there is; started again, it goes on."""
    from generator import making
    from rag.models import locate
    from transformer import processes, runtime
    from transformer.staged import quiet

    chosen = settings()
    runtime.set_threads(chosen.threads)
    with refusing(), stoppable() as stop:
        first = processes.joined().first
        done = making.run(
            config,
            set_ or (),
            output,
            locate=lambda name: locate(name, chosen.models_dir),
            watch=bars(stop) if first else quiet,
        )
    if first:
        show(done, as_json, _shape, _text)


def bars(stop: Callable[[], bool]) -> "Callable[[str], AbstractContextManager[Watch]]":
    """A bar for each stage of training, and its end behind the step in which Ctrl-C came."""
    from transformer.progress import bar

    @contextmanager
    def of(stage: str) -> "Iterator[Watch]":
        with bar(stage) as shown:

            def watch(moment: "Moment") -> None:
                shown(moment)
                if stop():
                    raise KeyboardInterrupt

            yield watch

    return of


@contextmanager
def refusing() -> Iterator[None]:
    """What the models raise, as the errors that a command ends with."""
    from transformer.errors import ConfigError, ModelError

    try:
        yield
    except ConfigError as error:
        raise UsageError(str(error)) from error
    except ModelError as error:
        raise AttestError(str(error)) from error


def _shape(done: "Finished") -> dict[str, Any]:
    from dataclasses import asdict

    return {**asdict(done), "folder": str(done.folder)}


def _text(done: "Finished") -> str:
    lines = [f"{done.folder}  {done.parameters:,} parameters, fingerprint {done.fingerprint}"]
    for name, stage in done.stages.items():
        measured = "".join(f", {metric} {value:.3f}" for metric, value in stage.metrics.items())
        lines.append(f"{name}: {stage.steps:,} steps in {stage.minutes:.1f} minutes{measured}")
    return "\n".join(lines)
