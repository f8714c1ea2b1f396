"""Documents like a document, as JSON and as text for a terminal."""

import textwrap
from typing import Any

from index import StoredChunk
from rag import shapes
from rag.similar import Aligned, Passage, Similar

_WIDTH = 96
_SHOWN = 160  # characters of a passage in a pair


def shape(found: Similar) -> dict[str, Any]:
    """As `search` has it, with the pairs of passages that match in `aligned` of each hit."""
    made = shapes.search(found)
    for hit, pairs in zip(made["hits"], found.aligned, strict=True):
        hit["aligned"] = [_pair(pair) for pair in pairs]
    return made


def text(found: Similar) -> str:
    """As a person reads it: each document, and below it which passages match which."""
    if not found.hits:
        return "there is no other document to compare it with"
    blocks = []
    for hit, pairs in zip(found.hits, found.aligned, strict=True):
        document = hit.chunk.document
        lines = [f"{hit.rank}. {document.title}  (likeness {hit.score:.3f})", f"   {document.path}"]
        for pair in pairs:
            lines.append(f"   {pair.cosine:.3f}")
            lines += _lines("here: ", pair.asked) + _lines("there:", pair.other)
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _pair(pair: Aligned) -> dict[str, Any]:
    mine, other = pair.asked, pair.other
    return {
        "cosine": pair.cosine,
        "asked": {
            "text": mine.text,
            "start": mine.start,
            "end": mine.end,
            "page": mine.page,
            "heading": list(mine.heading),
        },
        "chunk_id": other.id,
        "text": other.text,
        "start": other.start,
        "end": other.end,
        "page": other.page,
        "heading": list(other.heading),
    }


def _lines(name: str, of: Passage | StoredChunk) -> list[str]:
    page = "" if of.page is None else f"(page {of.page}) "
    flat = textwrap.shorten(f"{page}{of.text}", _SHOWN, placeholder=" …")
    return textwrap.wrap(
        f"{name} {flat}", _WIDTH, initial_indent="     ", subsequent_indent="            "
    )
