"""Likelihoods of many questions behind passages, kept in a file that a stopped run goes on from."""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from generator import Writer
from generator.likelihood import PASSAGE_TOKENS, pair_likelihoods

_AT_ONCE = 64  # passages between two writes: what a stop loses at most


def kept_likelihoods(
    writer: Writer,
    questions: Sequence[str],
    passages: Sequence[str],
    pairs: Sequence[tuple[int, int]],
    cache: Path | None,
    *,
    passage_tokens: int = PASSAGE_TOKENS,
) -> NDArray[np.float32]:
    """As `generator.likelihood.pair_likelihoods`, from a cache as far as it goes.

    Args:
        writer: its weights name the file; empty the folder when its code changes
        questions: of the pairs
        passages: of the pairs
        pairs: places of a question and a passage
        cache: a folder; None keeps nothing
        passage_tokens: a longer passage is cut to so many
    """
    file = None if cache is None else _file(writer, passage_tokens, cache)
    known = {} if file is None or not file.is_file() else _read(file)
    keys = [_key(questions[question], passages[passage]) for question, passage in pairs]
    # By passage: its questions share the work on it.
    missing = sorted((p for p in range(len(pairs)) if keys[p] not in known), key=_by(pairs))
    for part in _parts(missing, pairs):
        asked = [pairs[p] for p in part]
        values = pair_likelihoods(
            writer, questions, passages, asked, passage_tokens=passage_tokens
        ).tolist()
        found = dict(zip([keys[p] for p in part], values, strict=True))
        known |= found
        if file is not None:
            _append(file, found)
    return np.array([known[key] for key in keys], np.float32)


def _file(writer: Writer, passage_tokens: int, cache: Path) -> Path:
    cache.mkdir(parents=True, exist_ok=True)
    return cache / f"likelihoods_{writer.fingerprint[:16]}_{passage_tokens}.jsonl"


def _key(question: str, passage: str) -> str:
    return hashlib.sha256(f"{len(question)} {question} {passage}".encode()).hexdigest()[:32]


def _by(pairs: Sequence[tuple[int, int]]) -> Callable[[int], tuple[int, int]]:
    return lambda place: (pairs[place][1], pairs[place][0])


def _parts(missing: Sequence[int], pairs: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Places in order, those of `_AT_ONCE` passages together."""
    parts: list[list[int]] = []
    count, latest = _AT_ONCE, None
    for place in missing:
        if pairs[place][1] != latest:
            count, latest = count + 1, pairs[place][1]
        if count > _AT_ONCE:
            parts.append([])
            count = 1
        parts[-1].append(place)
    return parts


def _read(file: Path) -> dict[str, float]:
    """The lines of earlier runs; one that a stop cut short is passed over."""
    known: dict[str, float] = {}
    for line in file.read_text(encoding="utf-8").split("\n")[:-1]:
        try:
            known |= json.loads(line)
        except ValueError:
            continue
    return known


def _append(file: Path, found: dict[str, float]) -> None:
    with file.open("a", encoding="utf-8") as lines:
        lines.write("".join(f"{json.dumps({key: value})}\n" for key, value in found.items()))
