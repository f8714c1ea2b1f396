"""A text as the library takes it in: its chunks, and what the encoder reads of each."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from index.records import Chunk, StoredText
from index.titles import found_title
from rag.chunking import chunk, encoded_text
from rag.loaders.names import shown_name
from rag.records import ExtractedText, Page, Section

if TYPE_CHECKING:
    from encoder import Embedder

Load = Callable[[Path], ExtractedText]


@dataclass(frozen=True, slots=True)
class Reading:
    """A text that was cut for an encoder."""

    title: str  # found in the document, else ""
    chunks: tuple[Chunk, ...]
    encoded: tuple[str, ...]  # one a chunk, within the encoder's limit


def read(file: Path, path: str, load: Load) -> ExtractedText:
    """The text of a file as it is catalogued.

    A text without a title is called after its catalogued name, whatever its file is called.

    Args:
        file: where it lies
        path: the name that it is catalogued under

    Raises:
        LoadError: it cannot be read; the message is the reason.
    """
    text = load(file)
    return replace(text, title=Path(path).stem) if text.title == shown_name(file.stem) else text


def cut(text: ExtractedText, path: str, embedder: "Embedder") -> Reading:
    """Cut a text for an encoder.

    A file's name says where a text lies, not what it says: no title that repeats it is encoded, so
    that a rename moves no vector.
    """
    title = found_title(path, text.title)
    titled = replace(text, title=title)
    chunks = chunk(titled, count=embedder.count, size=embedder.max_tokens)
    encoded = tuple(encoded_text(title, part.heading, part.text) for part in chunks)
    return Reading(title, chunks, encoded)


def cut_again(stored: StoredText, embedder: "Embedder") -> Reading:
    """Cut a stored text for another encoder than the one that it came in with."""
    text = ExtractedText(
        text=stored.text,
        title=stored.title,
        media_type=stored.media_type,
        pages=tuple(Page(**page) for page in stored.layout.get("pages", ())),
        sections=tuple(
            Section(section["start"], tuple(section["heading"]))
            for section in stored.layout.get("sections", ())
        ),
    )
    return cut(text, stored.path, embedder)


def layout(text: ExtractedText) -> dict[str, Any]:
    """What `cut_again` needs to know of a text beside its characters."""
    return {
        "pages": [asdict(page) for page in text.pages],
        "sections": [asdict(section) for section in text.sections],
    }
