"""Very many short passages of public corpora, and questions that people asked over some of them."""

import gzip
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

_FOLDERS = ("asqa_sample", "cisi", "cranfield", "hotpotqa_sample", "msmarco_sample", "scifact")
_WORDS = 30  # of a passage: about 40 tokens, so that two cores encode 10^5 in a quarter of an hour
_LEAST = 10  # words, below which a rest is left out
_LONGEST = 250  # characters, so that no encoder finds it too long; encoded binaries drop out too
_SEED = 20


def short_passages(data: Path) -> list[str]:
    """Distinct passages in an order that mixes the corpora, the same in every process."""
    found = dict.fromkeys(part for text in texts(data) for part in _cut(text.split()))
    return _mixed(list(found))


def questions(data: Path) -> list[str]:
    """Questions and claims, none of which is a passage."""
    found: dict[str, None] = {}
    for name in _FOLDERS:
        file = data / name / "queries.jsonl"
        if file.is_file():
            found.update(dict.fromkeys(row["text"] for row in _rows(file)))
    return _mixed(list(found))


def texts(data: Path) -> Iterator[str]:
    """Whole texts, corpus by corpus."""
    for name in _FOLDERS:
        file = data / name / "corpus.jsonl"
        if file.is_file():
            yield from (row["text"] for row in _rows(file))
    wiki = data / "lm_text" / "en_wiki.txt"
    if wiki.is_file():
        yield from wiki.read_text(encoding="utf-8").splitlines()
    for file in sorted((data / "newsgroups20").glob("*.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            # Headers are the same from post to post.
            yield from (json.loads(line)["text"].partition("\n\n")[2] for line in lines)


def _rows(file: Path) -> Iterator[dict[str, str]]:
    with file.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _cut(words: Sequence[str]) -> Iterator[str]:
    for start in range(0, len(words), _WORDS):
        part = words[start : start + _WORDS]
        if len(part) >= _LEAST:
            yield " ".join(part)


def _mixed(texts: list[str]) -> list[str]:
    short = [text for text in texts if len(text) <= _LONGEST]
    random.Random(_SEED).shuffle(short)
    return short
