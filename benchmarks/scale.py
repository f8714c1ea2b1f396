"""How the index grows: libraries of 10^4 to 10^6 chunks in the product's own storage."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.scale_library import NEAREST, REAL, made, source
from benchmarks.table import Row, Table

_TARGETS_MS = {  # of a search by one client, at most
    100_000: {"dense, k=1000": 5.0},
    1_000_000: {"dense, k=1000": 10.0, "hybrid": 25.0},
}
_LIBRARY_NOTES = (
    "targets at 1,000,000 chunks: open 3 s, resident 1.5 GB, recall 0.98",
    f"recall: of the {NEAREST} nearest among the first {NEAREST} of 1000, against looking at all; "
    "queries are real questions, none of them a passage",
    f"passages are real and encoded up to {REAL:,}; past them vectors are copies with half the "
    "difference of two others added (cosine to the original near 0.8)",
    "per s: chunks with ready vectors into the database and each index, when the library was made",
    "open: until both sides have answered; own: resident without pages of files",
)
_SEARCH_NOTES = (
    "hybrid is all that a search does but encode its query; cpu: mean of the one client's thread",
)


def measure(
    *, encoder: Path, data: Path | None, cache: Path, sizes: Sequence[int]
) -> tuple[Table, Table]:
    """The libraries, a row each, and the kinds of search in them.

    Args:
        encoder: a checkpoint folder
        data: folder of public corpora
        cache: keeps vectors and libraries; making them takes an hour, using them minutes
        sizes: chunks of each library
    """
    libraries: list[Row] = []
    searches: list[Row] = []
    if data is None:
        libraries.append({"name": "all", "missing": "no such data: name its folder with --data"})
    else:
        given = source(encoder, data, cache, max(sizes))
        for n in sizes:
            home = made(given, n, cache)
            found = _searched(home)
            libraries.append(_library(home, n, found))
            searches.extend(_searches(n, found["searches"]))
    title = f"{encoder.name}, short passages"
    return (
        Table("scale", f"Scale: libraries, {title}", tuple(libraries), _LIBRARY_NOTES),
        Table("scale_search", f"Scale: searches, {title}", tuple(searches), _SEARCH_NOTES),
    )


def _searched(home: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.scale_search", str(home)]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    found: dict[str, Any] = json.loads(said.stdout)
    return found


def _library(home: Path, n: int, found: dict[str, Any]) -> Row:
    assert found["chunks"] == n
    return {
        "name": f"{n:,}",
        **json.loads((home / "figures.json").read_text(encoding="utf-8")),
        "open_s": found["open_s"],
        "resident_gb": found["resident_gb"],
        "own_gb": found["own_gb"],
        "database_gb": _gigabytes(home.glob("attest.db*")),
        "dense_gb": _gigabytes(home.rglob("dense-*.index")),
        "lexical_gb": _gigabytes(home.glob("indexes/*/lexical-*/**/*")),
        "recall": found["recall"],
    }


def _searches(n: int, searches: dict[str, dict[str, float]]) -> Iterator[Row]:
    for name, figures in searches.items():
        target = _TARGETS_MS.get(n, {}).get(name)
        yield {"name": f"{n:,} {name}", **figures, **({"target_ms": target} if target else {})}


def _gigabytes(files: Iterator[Path]) -> float:
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e9
