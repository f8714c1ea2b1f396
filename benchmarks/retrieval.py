"""Ranking quality: nDCG@10 of whole documents, and of the product's own chunks and index."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np

from benchmarks.beir import DEPTH, JudgedDocument, Task, ndcg, read
from benchmarks.passages import shortened
from benchmarks.table import Row, Table
from benchmarks.vectors import embedded
from encoder import Embedder
from index import Catalog, Collection, Model, NewDocument
from index.analysis import is_korean
from rag.chunking import chunk, encoded_text
from rag.loaded import speaks
from rag.records import ExtractedText, Mode
from rag.retrieve import retrieve

_CHUNKS = 100  # asked for, so that ten documents are among them

Ranked = dict[str, dict[str, float]]
_NOTES = (
    "cut: documents cut to the encoder's limit, as sentence-transformers does; this proves the "
    "harness (minilm on scifact: 64.5 ± 0.5)",
    "dense, lexical, fused: a document ranks by its best chunk; fused is what a search gives, by "
    "words alone where the encoder does not speak the query's language",
    "targets on scifact: dense 65.5, fused 72.3",
)


@dataclass(frozen=True, slots=True)
class _Library:
    """A task's corpus in an index of its own."""

    collection: Collection
    names: dict[int, str]  # document row to the task's id
    weight: float


def measure(
    *, encoder: Path, name: str, data: Path | None, tasks: Sequence[str], cache: Path | None
) -> Table:
    """One row a task.

    Args:
        encoder: a checkpoint folder
        name: of the encoder in the manifest, which knows its languages; else its path
        data: the folder with a folder a task
        tasks: names of folders
        cache: keeps vectors between runs
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
    with _library(task, embedder, name, cache) as library:

        def ranked(mode: Mode, speaking: Callable[[str], bool]) -> float:
            return ndcg(
                task,
                {
                    key: _documents(query, library, embedder if speaking(query) else None, mode)
                    for key, query in task.queries.items()
                },
            )

        return {
            "name": task.name,
            "documents": len(task.documents),
            "queries": len(task.queries),
            "cut": ndcg(task, _whole(task, embedder, cache)),
            "dense": ranked("dense", lambda _: True),
            "lexical": ranked("lexical", lambda _: False),
            "fused": ranked("hybrid", lambda query: _speaks(name, query)),
        }


def _whole(task: Task, embedder: Embedder, cache: Path | None) -> Ranked:
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


def _documents(
    query: str, library: _Library, embedder: Embedder | None, mode: Mode
) -> dict[str, float]:
    found = retrieve(
        query,
        collection=library.collection,
        embedder=embedder,
        k=_CHUNKS,
        mode=mode,
        weight=library.weight,
    )
    best: dict[str, float] = {}
    for hit in found.hits:
        best.setdefault(library.names[hit.chunk.document.id], hit.score)
        if len(best) == DEPTH:
            break
    return best


@contextmanager
def _library(task: Task, embedder: Embedder, name: str, cache: Path | None) -> Iterator[_Library]:
    """Everything that adding a file does, from its text on."""
    documents = [made for document in task.documents if (made := _chunked(document, embedder))]
    texts = [
        encoded_text(document.title, part.heading, part.text)
        for document in documents
        for part in document.chunks
    ]
    vectors = embedded(texts, embedder, cache)
    model = Model(name, embedder.fingerprint, embedder.dimensions)
    stops = accumulate((len(document.chunks) for document in documents), initial=0)
    with tempfile.TemporaryDirectory() as home, Catalog(Path(home)) as catalog:
        collection = Collection.open(catalog, task.name, model)
        names = {
            collection.add(document, vectors[start:stop]).id: document.path
            for document, (start, stop) in zip(documents, pairwise(stops), strict=True)
        }
        yield _Library(collection, names, catalog.collection(task.name).fusion_weight)


def _chunked(document: JudgedDocument, embedder: Embedder) -> NewDocument | None:
    """None for a document without a text."""
    text = ExtractedText(document.text, document.title, "text/plain")
    chunks = chunk(text, count=embedder.count, size=embedder.max_tokens)
    if not chunks:
        return None
    # By its id too: two documents of one text are two, as the judgements count them.
    content = f"{document.id}\n{document.text}".encode()
    return NewDocument(
        document.id,
        document.title,
        text.media_type,
        sha256(content).hexdigest(),
        len(content),
        document.text,
        chunks,
    )


def _speaks(name: str, query: str) -> bool:
    return speaks(name, "ko" if is_korean(query) else "en")
