"""The generator's votes on many questions, kept in a file that a stopped run goes on from."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from generator import Writer
from generator.likelihood import PASSAGE_TOKENS
from rag import prompts
from rag.records import Hit
from rag.rerank import passage, votes


def kept_votes(
    writer: Writer, asked: Iterable[tuple[str, Sequence[Hit]]], cache: Path | None
) -> list[NDArray[np.float32]]:
    """The votes on each question's hits, as in a search, from a file where it can.

    Args:
        writer: its weights and what it is told name the file; empty the folder when its code
            changes
        asked: questions with the hits that are voted on
        cache: a folder; None keeps nothing
    """
    file = None if cache is None else _file(writer, cache)
    known = {} if file is None or not file.is_file() else _read(file)
    found = []
    for question, hits in asked:
        key = _key(question, [passage(hit) for hit in hits])
        if key not in known:
            known[key] = votes(writer, question, hits).tolist()
            if file is not None:
                _append(file, key, known[key])
        found.append(np.array(known[key], np.float32))
    return found


def _file(writer: Writer, cache: Path) -> Path:
    cache.mkdir(parents=True, exist_ok=True)
    told = hashlib.sha256(prompts.system(writer).encode()).hexdigest()[:8]
    return cache / f"votes_{writer.fingerprint[:16]}_{told}_{PASSAGE_TOKENS}.jsonl"


def _key(question: str, passages: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps([question, *passages]).encode()).hexdigest()[:32]


def _read(file: Path) -> dict[str, list[float]]:
    """The lines of earlier runs; one that a stop cut short is passed over."""
    known: dict[str, list[float]] = {}
    for line in file.read_text(encoding="utf-8").split("\n")[:-1]:
        try:
            known |= json.loads(line)
        except ValueError:
            continue
    return known


def _append(file: Path, key: str, found: list[float]) -> None:
    with file.open("a", encoding="utf-8") as lines:
        lines.write(f"{json.dumps({key: found})}\n")
