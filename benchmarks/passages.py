"""Texts to measure on: passages of a given length, of a public corpus or of the samples."""

import itertools
import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

Count = Callable[[str], int]  # tokens of a text, special ones included

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
_SHORTEST = 0.9  # of the length asked for


def source_texts(data: Path | None) -> tuple[str, Iterator[str]]:
    """The name of what is there to read, and its texts: scifact's abstracts, else the samples."""
    corpus = data / "scifact" / "corpus.jsonl" if data else None
    if corpus is None or not corpus.is_file():
        return "samples/library", library_texts()
    return "scifact", _abstracts(corpus)


def library_texts() -> Iterator[str]:
    """The English sample documents as the product reads them."""
    from rag.loaders import load, walk

    for file in walk([SAMPLES / "library"]):
        if "korea" not in file.parts:
            yield load(file).text


def passages(texts: Iterator[str], n: int, *, tokens: int, count: Count) -> list[str]:
    """The first n passages of nearly so many tokens; where there are fewer, they are repeated.

    Raises:
        ValueError: not one passage is that long.
    """
    cut = (part for text in texts for part in _cut(text.split(), tokens, count))
    found = list(itertools.islice(cut, n))
    if not found:
        raise ValueError(f"no text has {tokens} tokens: give longer texts or ask for fewer tokens")
    return list(itertools.islice(itertools.cycle(found), n))


def shortened(text: str, limit: int, count: Count) -> str:
    """The text if it has no more than `limit` tokens, else as many whole words as fit."""
    return text if count(text) <= limit else " ".join(_fitting(text.split(), limit, count))


def _abstracts(corpus: Path) -> Iterator[str]:
    with corpus.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)["text"]


def _cut(words: Sequence[str], tokens: int, count: Count) -> Iterator[str]:
    while words:
        part = _fitting(words[:tokens], tokens, count)
        text = " ".join(part)
        if count(text) >= _SHORTEST * tokens:
            yield text
        words = words[max(1, len(part)) :]


def _fitting(words: Sequence[str], limit: int, count: Count) -> Sequence[str]:
    """As many of the first words as `limit` tokens hold; a word has a token at least."""
    first = words[:limit]
    fits = bisect_right(range(len(first) + 1), limit, key=lambda n: count(" ".join(first[:n])))
    return first[: max(0, fits - 1)]
