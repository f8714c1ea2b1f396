"""A library of files made on the spot, and what became of each."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from rag import Assistant
from rag.ingest import Outcome
from rag.records import Hit


@dataclass(frozen=True)
class Shelf:
    """An assistant with the outcome of every file, by file name."""

    attest: Assistant
    folder: Path
    outcomes: dict[str, Outcome]

    @classmethod
    def filled(cls, attest: Assistant, folder: Path, files: Mapping[str, bytes]) -> "Shelf":
        folder.mkdir(exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
        return cls(attest, folder, {name_of(one.path): one for one in attest.add(folder)})

    def text(self, name: str) -> str:
        outcome = self.outcomes[name]
        assert outcome.status == "added", outcome
        return self.attest.text(outcome.id or 0)

    def hits(self, query: str, k: int = 50) -> list[Hit]:
        """By words: the tiny encoder knows no meaning."""
        return list(self.attest.search(query, k=k, mode="lexical").hits)

    def first(self, query: str) -> str:
        return name_of(self.hits(query)[0].chunk.document.path)

    def chunks(self, name: str) -> list[Hit]:
        """Every chunk of a file that the library can find, in the order of the text."""
        from rag.records import Within

        within = Within(documents=(self.outcomes[name].id or 0,))
        found = self.attest.search("a", k=10_000, mode="dense", within=within).hits
        return sorted(found, key=lambda hit: hit.chunk.start)


def name_of(path: str) -> str:
    return Path(path).name


def write(folder: Path, files: Mapping[str, str]) -> Path:
    """Text files in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def upload(client: TestClient, *files: tuple[str, bytes], **query: str) -> Any:
    parts = [("files", (name, content)) for name, content in files]
    return client.post("/api/documents", files=parts, params=query)
