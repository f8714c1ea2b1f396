"""`python -m benchmarks.claims FOLDER`: what is told of encoders, looked up in a trained one.

    senses      one word in two contexts gets two vectors, and they go by the sense
    kinds       words of a kind lie near one another
    pronouns    a pronoun attends to what it stands for
    attended    what "it" attends to in one sentence, drawn with --svg
    order       the same words in another order make another vector
    similarity  how well cosines follow people's grades (--data), beside what is not trained

With --before, the encoder as it was before contrast stands beside it.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer
from rich.console import Console

from benchmarks import heat, kinds, pronouns, senses, similarity
from benchmarks.inside import Language
from benchmarks.passages import SAMPLES
from benchmarks.table import Row, Table, as_json, show
from encoder import Embedder, checkpoint, metrics
from rag.metrics import bootstrap_interval
from transformer.errors import ModelError

_DATA = SAMPLES.parent.parent / "shared" / "data"
_TEXTS: dict[Language, str] = {"en": "en_wiki.txt", "ko": "ko_sentences.txt"}
_SWAPS = Path(__file__).with_name("swaps.jsonl")
_ORDER_NOTES = (
    "100 times cosine of the vectors of two sentences, pooled as the model pools",
    "swapped: who does it and to whom it is done changed places, with the bootstrap's 95 % "
    "interval; a model without positions has 100",
    "others: the same sentences beside those of the other pairs",
)

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


def measure(
    folders: Mapping[str, Path], language: Language, *, texts: Path | None, data: Path | None
) -> Iterator[Table]:
    """Each table as soon as it is there.

    Args:
        folders: of encoders, by the name of their rows
        texts: where words of a kind are looked up, and what static vectors are made of; None
            leaves both out
        data: folder of graded pairs; None leaves them out
    """
    models = {name: checkpoint.load(folder) for name, folder in folders.items()}
    yield senses.measure(models, language)
    if texts is not None:
        yield kinds.measure(models, texts, language)
    yield pronouns.measure(models, language)
    example = pronouns.read(language)[0]
    yield pronouns.attended(models, example.texts[0], example.pronoun)
    yield order(folders, language)
    if data is not None:
        yield similarity.measure(encoders=list(folders.values()), data=data, texts=texts)


def order(folders: Mapping[str, Path], language: Language) -> Table:
    """A row a model: sentences of the same words beside one another, and beside other sentences."""
    rows = [
        _order(name, Embedder.load(folder, dtype=torch.float32), language)
        for name, folder in folders.items()
    ]
    return Table("order", "The same words in another order", tuple(rows), _ORDER_NOTES)


def _order(name: str, embedder: Embedder, language: Language) -> Row:
    rows = [json.loads(line) for line in _SWAPS.read_text(encoding="utf-8").splitlines()]
    left, right = (
        embedder.embed_documents([row[side] for row in rows if row["language"] == language])
        for side in ("left", "right")
    )
    swapped = 100 * metrics.cosines(left, right)
    others = 100 * metrics.cosines(left, np.roll(right, 1, axis=0))
    low, high = bootstrap_interval(swapped, rng=np.random.default_rng(0))
    return {
        "name": name,
        "Squatch_and_pizza": float(swapped[0]),
        "pairs": len(swapped),
        "swapped": float(swapped.mean()),
        "low": low,
        "high": high,
        "others": float(others.mean()),
    }


@app.command()
def run(
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="An encoder.")],
    before: Annotated[
        Path | None,
        typer.Option(
            exists=True, file_okay=False, help="The same one before: OUTPUT.training/pretrained."
        ),
    ] = None,
    language: Annotated[Language, typer.Option(help="Of the sentences.")] = "en",
    texts: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="A text a line, to look words up in."),
    ] = None,
    data: Annotated[Path, typer.Option(help="Folder of public data.")] = _DATA,
    svg: Annotated[Path | None, typer.Option(help="Draw here what the pronoun attends to.")] = None,
    output: Annotated[Path | None, typer.Option("--json", help="Write the figures here.")] = None,
) -> None:
    """Put each claim to an encoder, in figures with intervals."""
    console = Console(width=None if Console().is_terminal else 160)
    folders = {folder.name: folder} if before is None else {"before": before, "after": folder}
    public = data / "lm_text" / _TEXTS[language]
    found = []
    for table in measure(
        folders,
        language,
        texts=texts or (public if public.is_file() else None),
        data=data if data.is_dir() else None,
    ):
        show(table, console)
        found.append(table)
        if svg is not None and table.name == "attended":
            svg.write_text(heat.drawn(table), encoding="utf-8")
    if output is not None:
        figures = {table.name: as_json(table) for table in found}
        output.write_text(json.dumps(figures, ensure_ascii=False, indent=2), encoding="utf-8")


def main() -> None:
    try:
        app()
    except ModelError as error:
        typer.echo(f"claims: {error}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
