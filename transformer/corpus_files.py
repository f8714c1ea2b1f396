"""Texts to learn from, out of files: a document a line, plain or as JSON."""

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from transformer.errors import TrainingError


@dataclass(frozen=True, slots=True)
class Document:
    """A text, and what it is called where that is known."""

    text: str
    title: str = ""

    @property
    def whole(self) -> str:
        """The title, and the text below it."""
        return f"{self.title}\n{self.text}".strip()


def read_documents(files: Sequence[Path]) -> list[Document]:
    """The documents of files, in order.

    Args:
        files: .txt with a document a line, or .jsonl with {"text", "title"}, where the title may be
            missing; either may be packed as .gz

    Raises:
        TrainingError: a file is missing, of another kind, not UTF-8, or has a line that is no such
            object; or there is no text in any of them.
    """
    found = [document for file in files for document in _documents(file)]
    if not found:
        named = ", ".join(map(str, files)) or "no file"
        raise TrainingError(f"there is no text in what data.texts names: {named}")
    return found


def _documents(file: Path) -> Iterator[Document]:
    packed = file.suffix.lower() == ".gz"
    suffix = (Path(file.stem) if packed else file).suffix.lower()
    if suffix not in (".txt", ".jsonl"):
        raise TrainingError(f"{file}: texts are read from .txt and .jsonl, plain or as .gz")
    opening = gzip.open if packed else open
    try:
        with opening(file, "rt", encoding="utf-8-sig") as lines:  # -sig: Notepad writes a mark
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    at = f"{file}, line {number}"
                    yield Document(line.strip()) if suffix == ".txt" else _of_json(line, at)
    except FileNotFoundError as error:
        raise TrainingError(f"{file}: no such file; name texts with data.texts") from error
    except UnicodeDecodeError as error:
        raise TrainingError(f"{file} cannot be read: save it as UTF-8 ({error})") from error
    except (OSError, EOFError, zlib.error) as error:
        raise TrainingError(f"{file} cannot be read: {error}") from error


def _of_json(line: str, at: str) -> Document:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise TrainingError(f"{at} is not JSON: {error}") from error
    text = row.get("text") if isinstance(row, dict) else None
    title = (row.get("title") or "") if isinstance(row, dict) else None
    if not isinstance(text, str) or not isinstance(title, str):
        raise TrainingError(f'{at} must hold a JSON object with a "text", and perhaps a "title"')
    try:
        (title + text).encode()
    except UnicodeEncodeError as error:  # JSON can write what no text holds
        raise TrainingError(f"{at} holds half of a character: {error}") from error
    return Document(text.strip(), title.strip())
