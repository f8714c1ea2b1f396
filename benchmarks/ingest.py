"""How much of taking files in is the encoder's own work: the rest is ours to keep small."""

import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.passages import passages, source_texts
from benchmarks.rounds import Spread, alternate
from benchmarks.table import Row, Table
from rag import Assistant, Settings

_FILES, _PASSAGES, _TOKENS = 500, 2000, 120
_SHARE = 0.75  # at least


def measure(*, models: Path, encoder: str, data: Path | None, rounds: int, threads: int) -> Table:
    """Files through the product, and their passages through the encoder alone, in turns.

    Args:
        models: the folder of pulled models
        encoder: name or folder
        data: folder of public corpora
        rounds: that count
        threads: of the encoder
    """
    corpus, texts = source_texts(data)
    settings = Settings(models_dir=models, encoder=encoder, threads=threads)
    with TemporaryDirectory() as scratch, Assistant.open(settings) as attest:
        embedder = attest.models.embedder(encoder)
        cut = passages(texts, _PASSAGES, tokens=_TOKENS, count=embedder.count)
        folder = written(cut, Path(scratch) / "files", _FILES)
        seen: list[str] = []
        contenders = {
            "files through the product": lambda: _taken_in(attest, folder, Path(scratch), seen),
            "the encoder alone": lambda: _encoded(attest, encoder, seen),
        }
        seconds = alternate(contenders, rounds)
    shares = Spread.of(
        alone / whole for whole, alone in zip(*(seconds[name] for name in contenders), strict=True)
    )
    rows: list[Row] = [
        {"name": name, "seconds": Spread.of(seconds[name]), "chunks": len(seen)}
        for name in contenders
    ]
    rows[0] |= {"encoder_share": shares, "target_share": _SHARE}
    return Table(
        "ingest",
        f"Ingest, {encoder}: {_FILES} files, {_PASSAGES} passages of {_TOKENS} tokens ({corpus})",
        tuple(rows),
        ("models and loader processes were started before; search indexes are brought up to date",),
    )


def written(cut: Sequence[str], folder: Path, files: int) -> Path:
    """A folder of so many files with the passages in them, each a chunk of its own."""
    folder.mkdir()
    each = len(cut) // files
    for i in range(files):
        own = cut[i * each : (i + 1) * each]
        # Each passage under a heading of its own, so that none is joined with the next.
        text = "\n\n".join(f"# Part {i}.{j}\n\n{passage}" for j, passage in enumerate(own))
        (folder / f"{i:03}.md").write_text(text, encoding="utf-8")
    return folder


def _taken_in(attest: Assistant, folder: Path, scratch: Path, seen: list[str]) -> float:
    """Seconds of adding the folder to a fresh home, with the models that are there already."""
    with TemporaryDirectory(dir=scratch) as home:
        settings = attest.settings.model_copy(update={"home": Path(home)})
        with Assistant.open(settings) as fresh:
            fresh.models = attest.models
            fresh.load(next(folder.iterdir()))  # starts a loader process
            began = time.perf_counter()
            fresh.add(folder)
            took = time.perf_counter() - began
            seen[:] = _texts(fresh)
    return took


def _texts(attest: Assistant) -> list[str]:
    from rag.chunking import encoded_text

    chunks = [part for row in attest.documents() for part in attest.catalog.chunks_of(row.id)]
    return [encoded_text(part.document.title, part.heading, part.text) for part in chunks]


def _encoded(attest: Assistant, encoder: str, seen: Sequence[str]) -> float:
    embedder = attest.models.embedder(encoder)
    began = time.perf_counter()
    embedder.embed_documents(seen)
    return time.perf_counter() - began
