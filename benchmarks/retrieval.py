"""Ranking quality: nDCG@10 of whole documents, and of the product's own chunks and index."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.beir import DEPTH, Task, ndcg, read
from benchmarks.passages import shortened
from benchmarks.table import Row, Table
from encoder import Embedder
from rag.metrics import per_query
from rag.trial import Side, asked, library_of
from rag.vector_cache import embedded

_SIDES: tuple[Side, ...] = ("dense", "lexical", "fused")
_NOTES = (
    "cut: documents cut to the encoder's limit, as sentence-transformers does; this proves the "
    "harness (minilm on scifact: 64.5 ± 0.5)",
    "dense, lexical, fused: a document ranks by its best chunk; fused is what a search gives, by "
    "words alone where the encoder does not speak the query's language",
    "targets on scifact: dense 65.5, fused 72.3",
)


def measure(
    *, encoder: Path, name: str, data: Path | None, tasks: Sequence[str], cache: Path | None
) -> Table:
    """One row a task.

    Args:
        encoder: a checkpoint folder
        name: of the encoder in the manifest, which knows its languages; else its path
        data: the folder with a folder a task
        tasks: names of folders
        cache: keeps vectors and libraries between runs
    """
    embedder = Embedder.load(encoder)
    rows: list[Row] = []
    for task_name in tasks:
        folder = data / task_name if data else None
        if folder is None or not folder.is_dir():
            rows.append({"name": task_name, "missing": "no such data: name its folder with --data"})
        else:
            rows.append(_row(read(folder), embedder, name, cache))
    return Table("retrieval", f"Retrieval: nDCG@{DEPTH}, {name}", tuple(rows), _NOTES)


def _row(task: Task, embedder: Embedder, name: str, cache: Path | None) -> Row:
    with library_of(task.documents, embedder, name, cache=cache) as trial:
        found = asked(trial, task.queries)

    def measured(side: Side) -> float:
        ranked = {key: one.documents for key, one in found[side].items()}
        return 100 * float(per_query(task.judged, ranked)["ndcg_at_10"].mean())

    return {
        "name": task.name,
        "documents": len(task.documents),
        "queries": len(task.queries),
        "cut": ndcg(task, _whole(task, embedder, cache)),
        **{side: measured(side) for side in _SIDES},
    }


def _whole(task: Task, embedder: Embedder, cache: Path | None) -> dict[str, dict[str, float]]:
    """Documents of one vector each, cut here because the product never cuts."""
    texts = [
        shortened(f"{document.title} {document.text}", embedder.max_tokens, embedder.count)
        for document in task.documents
    ]
    scores = (
        embedder.embed_queries(list(task.queries.values())) @ embedded(texts, embedder, cache).T
    )  # (queries, documents)
    best = np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH]
    return {
        query: {task.documents[i].id: float(row[i]) for i in chosen}
        for query, row, chosen in zip(task.queries, scores, best, strict=True)
    }
