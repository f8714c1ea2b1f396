"""What taking files in with Ray costs on one machine.

The commands are run as a user runs them, starts of Python, models and Ray included. Two sizes tell
the start from what each document costs.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.ingest import written
from benchmarks.passages import passages, source_texts
from benchmarks.processes import running
from benchmarks.rounds import Spread
from benchmarks.table import Row, Table
from encoder import Embedder
from rag.models import locate

_TOKENS, _EACH = 120, 4  # of a passage; passages of a file
_SIZES = (100, 500)  # files


def measure(*, models: Path, encoder: str, data: Path | None, rounds: int, threads: int) -> Table:
    """Both engines in turns, on each number of files.

    Args:
        models: the folder of pulled models
        encoder: name or folder
        data: folder of public corpora
        rounds: that count
        threads: of the encoder, and workers of Ray
    """
    corpus, texts = source_texts(data)
    count = Embedder.load(locate(encoder, models)).count
    cut = passages(texts, max(_SIZES) * _EACH, tokens=_TOKENS, count=count)
    settings = {
        "ATTEST_MODELS_DIR": str(models),
        "ATTEST_ENCODER": encoder,
        "ATTEST_THREADS": str(threads),
    }
    with TemporaryDirectory() as scratch:
        rows = [
            _compared(
                written(cut[: files * _EACH], Path(scratch) / f"{files}", files), settings, rounds
            )
            for files in _SIZES
        ]
    return Table(
        "cluster",
        f"attest add with and without Ray, {encoder}: files of {_EACH} passages ({corpus})",
        tuple(rows),
        (f"{threads} threads or workers on one machine; cpu: of all processes, as seconds",),
    )


def _compared(folder: Path, settings: dict[str, str], rounds: int) -> Row:
    taken: dict[str, list[tuple[float, float]]] = {"plain": [], "ray": []}
    for _ in range(rounds):
        for engine, seen in taken.items():
            seen.append(_added(folder, settings, ["--engine", "ray"] if engine == "ray" else []))
    row: dict[str, Spread | str | int] = {"name": f"{folder.name} files"}
    for column, what in enumerate(("seconds", "cpu")):
        plain, ray = ([each[column] for each in taken[engine]] for engine in taken)
        row[f"plain_{what}"] = Spread.of(plain)
        row[f"ray_{what}"] = Spread.of(ray)
        row[f"{what}_ratio"] = Spread.of(b / a for a, b in zip(plain, ray, strict=True))
    return row


def _added(folder: Path, settings: dict[str, str], flags: Sequence[str]) -> tuple[float, float]:
    """Seconds that the command took, and processor seconds of it and its children."""
    with TemporaryDirectory() as home:
        began = time.perf_counter()
        with running(
            "rag.cli", ["add", str(folder), *flags], {**settings, "ATTEST_HOME": home}
        ) as program:
            program.finish()
            took = time.perf_counter() - began
        return took, program.usage.cpu_seconds
