"""`python -m benchmarks.reranking [TASK…]`: what the generator's vote on fused hits is worth."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.likelihoods import kept_votes
from benchmarks.passages import SAMPLES
from benchmarks.table import Row, Table, as_json, show
from encoder import Embedder
from generator import Writer
from generator.likelihood import PASSAGE_TOKENS
from rag.judged import JudgedCorpus, read_corpus
from rag.metrics import METRICS, paired, per_query
from rag.models import locate
from rag.records import Hit
from rag.rerank import TOP, WEIGHT, reranked
from rag.retrieve import retrieve
from rag.settings import load_settings
from rag.trial import Trial, library_of, listed
from transformer import runtime

TASKS = ("scifact", "msmarco_sample", "cranfield", "cisi", "hotpotqa_sample", "asqa_sample")

_DATA = SAMPLES.parent.parent / "shared" / "data"
_CHUNKS = 100  # asked for, so that ten documents are among them
_NOTES = (
    f"the vote on the first {TOP} fused hits counts {WEIGHT} beside the fused score, and reads "
    f"{PASSAGE_TOKENS} tokens of a passage; the length was chosen on scifact's training questions, "
    "the rest beforehand",
    "difference: mean of the paired differences, its 95 % bootstrap interval, and p of the test "
    "that swaps at random",
)


def measure(
    *,
    encoder: Path,
    name: str,
    generator: Path,
    data: Path | None,
    tasks: Sequence[str],
    cache: Path | None,
    most: int,
) -> Table:
    """One row a task.

    Args:
        encoder: a checkpoint folder
        name: of the encoder in the manifest, which knows its languages; else its path
        generator: of the vote
        data: the folder with a folder a task
        tasks: names of folders
        cache: keeps vectors and likelihoods between runs; a stopped run goes on from there
        most: questions of a task, drawn at random where it has more
    """
    embedder, writer = Embedder.load(encoder), Writer.load(generator)
    rows: list[Row] = []
    for task in tasks:
        folder = data / task if data else None
        if folder is None or not folder.is_dir():
            rows.append({"name": task, "missing": "no such data: name its folder with --data"})
            continue
        corpus = read_corpus(folder)
        with library_of(corpus.documents, embedder, name, cache=cache) as trial:
            keys = [key for key in drawn(corpus, most) if embedder.takes(corpus.queries[key])]
            hits = _hits(trial, keys, corpus.queries)
        rows.append(compared(corpus, hits, _votes(corpus, hits, writer, cache)))
    return Table("reranking", f"Re-ranking: nDCG@10, {name}", tuple(rows), _NOTES)


def drawn(corpus: JudgedCorpus, most: int) -> list[str]:
    """Ids of the questions, so many at random where there are more; always the same."""
    keys = sorted(corpus.queries)
    if len(keys) <= most:
        return keys
    chosen = np.random.default_rng(0).permutation(len(keys))[:most]
    return [keys[i] for i in chosen]


def compared(
    corpus: JudgedCorpus,
    hits: Mapping[str, Sequence[Hit]],
    votes: Mapping[str, NDArray[np.float32]],
    weight: float = WEIGHT,
) -> Row:
    """Before and after the votes, on the questions that have hits here."""
    judged = {key: corpus.judged[key] for key in hits}
    before = {key: listed(found).documents for key, found in hits.items()}
    after = {
        key: listed(reranked(found, votes[key], weight)).documents for key, found in hits.items()
    }
    fused, voted = (100 * per_query(judged, ranked)[METRICS[0]] for ranked in (before, after))
    difference = paired(fused, voted, rng=np.random.default_rng(0))
    return {
        "name": corpus.name,
        "queries": len(judged),
        "fused": float(fused.mean()),
        "reranked": float(voted.mean()),
        "difference": difference.mean,
        "low": difference.low,
        "high": difference.high,
        "p": difference.p,
        "better": int((voted > fused).sum()),
        "worse": int((voted < fused).sum()),
    }


def _hits(
    trial: Trial, keys: Sequence[str], queries: Mapping[str, str]
) -> dict[str, tuple[Hit, ...]]:
    return {
        key: retrieve(
            queries[key],
            collection=trial.collection,
            embedder=trial.embedder,
            k=_CHUNKS,
            weight=trial.weight,
        ).hits
        for key in keys
    }


def _votes(
    corpus: JudgedCorpus, hits: Mapping[str, Sequence[Hit]], writer: Writer, cache: Path | None
) -> dict[str, NDArray[np.float32]]:
    """Likelihoods of each question behind its first hits."""
    asked = ((corpus.queries[key], found[:TOP]) for key, found in hits.items())
    return dict(zip(hits, kept_votes(writer, asked, cache), strict=True))


def main(
    tasks: Annotated[list[str] | None, typer.Argument(help="Folders of --data.")] = None,
    models: Annotated[
        Path | None, typer.Option(help="Folder of pulled models; the user's own if not given.")
    ] = None,
    encoder: Annotated[str, typer.Option(help="Name or folder.")] = "minilm",
    generator: Annotated[str | None, typer.Option(help="Name, folder or .gguf file.")] = None,
    data: Annotated[Path, typer.Option(help="Folder of public corpora.")] = _DATA,
    cache: Annotated[
        Path | None, typer.Option(help="Keep vectors and likelihoods here, and go on from them.")
    ] = None,
    questions: Annotated[int, typer.Option(min=1, help="Of a task at most.")] = 300,
    threads: Annotated[int, typer.Option(min=1)] = 1,
) -> None:
    """Measure fused hits before and after the generator's vote on public corpora."""
    settings = load_settings({"models_dir": models, "encoder": encoder, "generator": generator})
    runtime.set_threads(threads)
    for task in tasks or TASKS:
        table = measure(
            encoder=locate(settings.encoder, settings.models_dir),
            name=settings.encoder,
            generator=locate(settings.generator, settings.models_dir),
            data=data if data.is_dir() else None,
            tasks=[task],
            cache=cache,
            most=questions,
        )
        show(table, Console(width=None if Console().is_terminal else 160))
        typer.echo(json.dumps(as_json(table), ensure_ascii=False), err=True)


if __name__ == "__main__":
    typer.run(main)
