"""How well cosines follow people's grades: STS-B and KorSTS, for encoders and for baselines."""

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks import baselines, beir
from benchmarks.passages import shortened
from benchmarks.table import Row, Table
from encoder import Embedder, metrics
from index.analysis import tokens

Name = Literal["stsb", "korsts"]
Split = Literal["train", "dev", "test"]
Pooled = Callable[[Sequence[str]], baselines.Floats]
Cosines = Callable[[Sequence[str], Sequence[str]], NDArray[np.float64]]

NAMES: tuple[Name, ...] = ("stsb", "korsts")
_NOTES = (
    "100 times Spearman's correlation of cosine and grade, on the test split unless it says dev",
    "character n-grams are counted in the texts of the split itself; nothing is trained",
    "static: PPMI and SVD of the text that is named; mean over words, or rare words heavier; "
    "scifact: nDCG@10 over whole documents (of encoders and BM25: benchmarks retrieval)",
)


@dataclass(frozen=True, slots=True)
class Similarity:
    """Pairs of sentences and how alike people found them, 0 … 5."""

    left: tuple[str, ...]
    right: tuple[str, ...]
    grades: tuple[float, ...]


def read(data: Path, name: Name, split: Split) -> Similarity:
    """One split out of the folder of public data."""
    match name:
        case "stsb":
            with (data / "stsb_en" / f"stsb-en-{split}.csv").open(
                encoding="utf-8", newline=""
            ) as f:
                rows = [(left, right, float(grade)) for left, right, grade in csv.reader(f)]
        case "korsts":
            lines = (data / "korsts" / f"sts-{split}.tsv").read_text(encoding="utf-8").split("\n")
            cells = [line.split("\t") for line in lines[1:] if line]
            rows = [(cell[5], cell[6], float(cell[4])) for cell in cells]
    left, right, grades = zip(*rows, strict=True)
    return Similarity(left, right, grades)


def held_sentences(data: Path, names: Sequence[Name]) -> frozenset[str]:
    """What must be left out of the text that a model is trained on."""
    found = (read(data, name, "test") for name in names)
    return frozenset(text for each in found for text in (*each.left, *each.right))


def spearman(task: Similarity, cosines: Cosines) -> float:
    """100 times the correlation of cosines and grades."""
    return 100 * metrics.spearman(cosines(task.left, task.right), task.grades)


def measure(
    *,
    encoders: Sequence[Path],
    data: Path | None,
    texts: Path | None = None,
    split: Split = "test",
) -> Table:
    """One row a system, the baselines first.

    Args:
        encoders: checkpoint folders
        data: folder of public data
        texts: a file to train static vectors on, a text a line; test sentences in it are passed
            over. None leaves them out
        split: "dev" for choosing between recipes
    """
    if data is None:
        missing: Row = {"name": "all", "missing": "no data: name its folder with --data"}
        return Table("similarity", "Similarity", (missing,))
    tasks = {name: read(data, name, split) for name in NAMES if (data / _FOLDERS[name]).is_dir()}
    rows = [_row("character n-grams", tasks, baselines.character_cosines)]
    if texts is not None:
        vectors = _static(texts, held_sentences(data, list(tasks)))
        rows += [
            {
                **_row(f"static, {name} ({texts.name})", tasks, _cosines(pooled)),
                **_ranked(data, pooled),
            }
            for name, pooled in (("mean", vectors.mean), ("weighted", vectors.weighted))
        ]
    rows += [_row(folder.name, tasks, _embedded(Embedder.load(folder))) for folder in encoders]
    return Table("similarity", f"Similarity: STS, {split}", tuple(rows), _NOTES)


_FOLDERS: dict[Name, str] = {"stsb": "stsb_en", "korsts": "korsts"}


def _row(name: str, tasks: dict[Name, Similarity], cosines: Cosines) -> Row:
    return {"name": name, **{task: spearman(pairs, cosines) for task, pairs in tasks.items()}}


def _static(texts: Path, left_out: frozenset[str]) -> baselines.StaticVectors:
    lines = texts.read_text(encoding="utf-8").splitlines()
    kept = (line for line in lines if line.strip() and line not in left_out)
    return baselines.StaticVectors(kept, tokens)


def _cosines(pooled: Pooled) -> Cosines:
    def of(left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        both = pooled([*left, *right])
        return metrics.cosines(both[: len(left)], both[len(left) :])

    return of


def _ranked(data: Path, pooled: Pooled) -> Row:
    """Dense retrieval by the same vectors, which only `benchmarks retrieval` has for encoders."""
    folder = data / "scifact"
    if not folder.is_dir():
        return {}
    task = beir.read(folder)
    both = pooled([*task.queries.values(), *(f"{d.title} {d.text}" for d in task.documents)])
    unit = both / np.maximum(np.linalg.norm(both, axis=1, keepdims=True), 1e-12)
    scores = unit[: len(task.queries)] @ unit[len(task.queries) :].T  # (queries, documents)
    names = [document.id for document in task.documents]
    ranking = {
        query: {names[i]: float(row[i]) for i in np.argsort(-row)[: beir.DEPTH]}
        for query, row in zip(task.queries, scores, strict=True)
    }
    return {"scifact_ndcg": beir.ndcg(task, ranking)}


def _embedded(embedder: Embedder) -> Cosines:
    """Both sides as questions, which is how models with prefixes are meant to compare."""

    def cut(texts: Sequence[str]) -> list[str]:
        return [shortened(text, embedder.max_tokens, embedder.count_query) for text in texts]

    def cosines(left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        sides = embedder.embed_queries(cut(left)), embedder.embed_queries(cut(right))
        return metrics.cosines(*sides)

    return cosines
