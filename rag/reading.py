"""A file as the library takes it in: its text, its chunks, and what the encoder reads of them."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from index.records import Chunk
from index.titles import found_title
from rag.chunking import chunk, encoded_text
from rag.loaders import load
from rag.records import ExtractedText

if TYPE_CHECKING:
    from encoder import Embedder


@dataclass(frozen=True, slots=True)
class Reading:
    """A file that was read."""

    text: ExtractedText
    chunks: tuple[Chunk, ...]
    encoded: tuple[str, ...]  # one a chunk, within the encoder's limit


def read(file: Path, embedder: "Embedder") -> Reading:
    """Load a file and cut it for an encoder.

    Raises:
        LoadError: it cannot be read; the message is the reason.
    """
    text = load(file)
    # A file's name says where a text lies, not what it says: a rename must move no vector.
    title = found_title(str(file), text.title)
    titled = replace(text, title=title)
    chunks = chunk(titled, count=embedder.count, size=embedder.max_tokens)
    encoded = tuple(encoded_text(title, part.heading, part.text) for part in chunks)
    return Reading(text, chunks, encoded)
