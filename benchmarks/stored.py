"""`python -m benchmarks.stored DATA`: the bytes that a chunk of 120 tokens takes, where it lies.

Vectors are drawn by chance, for their bytes do not depend on what they say.
"""

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from benchmarks.corpus import texts
from benchmarks.passages import passages
from benchmarks.table import Row, Table, show
from index import Catalog, Chunk, Collection, Model, NewDocument
from index.analysis import tokens
from rag.models import locate
from rag.settings import load_settings
from transformer.checkpoint import TOKENIZER
from transformer.tokenizer import Tokenizer

_TOKENS, _PER_DOCUMENT, _WIDTH = 120, 20, 384
_COUNTED = 2000  # chunks, for their distinct words


def measure(data: Path, *, chunks: int) -> Table:
    """One row: bytes of database, dense and lexical index for each chunk, and its distinct words.

    Args:
        data: folder of public corpora
        chunks: over 30,000, so that the dense index has its lists
    """
    tokenizer = Tokenizer.load(locate("minilm", load_settings({}).models_dir) / TOKENIZER)
    cut = passages(texts(data), chunks, tokens=_TOKENS, count=tokenizer.count)
    with TemporaryDirectory() as scratch:
        row = _stored(cut, Path(scratch))
    words = statistics.fmean(len(set(tokens(text))) for text in cut[:_COUNTED])
    characters = statistics.fmean(map(len, cut))
    sizes: Row = {"name": f"{chunks:,} chunks", "characters": characters, "words": words, **row}
    notes = (f"bytes a chunk of {_TOKENS} tokens; {_PER_DOCUMENT} to a document; vectors of 384",)
    return Table("stored", "What a chunk takes", (sizes,), notes)


def _stored(cut: Sequence[str], home: Path) -> dict[str, float]:
    rng = np.random.default_rng(0)
    with Catalog(home) as catalog:
        model = Model("drawn", "0" * 16, _WIDTH)
        collection = Collection.open(catalog, "default", model, threads=1)
        for document in _documents(cut):
            vectors = rng.standard_normal((len(document.chunks), _WIDTH), np.float32)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            collection.add(document, vectors)
        collection.rebuild()
        collection.lexical("water", 1)
        collection.dense(vectors[0], 1)
    parts = {
        "database": home.glob("attest.db*"),
        "dense": home.rglob("dense-*.index"),
        "lexical": home.glob("indexes/*/lexical-*/**/*"),
    }
    return {name: _bytes(files) / len(cut) for name, files in parts.items()}


def _documents(cut: Sequence[str]) -> Iterator[NewDocument]:
    for start in range(0, len(cut), _PER_DOCUMENT):
        text, chunks = "", []
        for part in cut[start : start + _PER_DOCUMENT]:
            chunks.append(Chunk(part, len(text), len(text) + len(part), None, (), _TOKENS))
            text += part + "\n"
        name = f"part-{start:07d}.txt"
        yield NewDocument(name, name, "text/plain", f"{start:064x}", len(text), text, tuple(chunks))


def _bytes(files: Iterator[Path]) -> int:
    return sum(file.stat().st_size for file in files if file.is_file())


def main(
    data: Annotated[Path, typer.Argument(help="Folder of public corpora.")],
    chunks: Annotated[int, typer.Option(help="How many; over 30,000.")] = 40_000,
) -> None:
    """Measure and print."""
    show(measure(data, chunks=chunks), Console())


if __name__ == "__main__":
    typer.run(main)
