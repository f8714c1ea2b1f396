"""What a table of every document has found, kept in the home: a restart loses no finished cell.

A file for each question, a line for each cell. Of sentences it holds the places and vectors, never
the text, which is read from the document again. Files are only a shortcut: they can always be
deleted. A document that has changed, or another model, makes another cell.
"""

import base64
import hashlib
import json
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from index import StoredDocument
from index.errors import UnknownDocument
from rag.every_finding import Found, Sentence

Place = tuple[int, int]  # a question's, and a document's id
Note = Callable[[Place, Found], None]
Json = dict[str, Any]

FOLDER = "every"
_MOST = 256_000_000  # bytes of all files; what was asked first goes first
_VERSION = 1  # of the lines

_log = logging.getLogger(__name__)


class KeptCells:
    """What the documents of a collection were found to hold on some questions.

    Args:
        home: that they are kept in
        made_by: what a cell depends on besides question and document: collection and model
        questions: of the table, by their places
        documents: likewise, by their ids
    """

    def __init__(
        self,
        home: Path,
        made_by: Sequence[object],
        questions: Sequence[str],
        documents: Sequence[StoredDocument],
    ) -> None:
        self._folder = home / FOLDER / _hashed(_VERSION, *made_by)
        self._files = [self._folder / f"{_hashed(question)}.jsonl" for question in questions]
        self._versions = {row.id: [row.id, row.sha256, row.chunks] for row in documents}

    def read(self, text_of: Callable[[int], str]) -> Iterator[tuple[Place, Found]]:
        """The cells that are there, document by document.

        Args:
            text_of: the text of a document
        """
        kept = {
            (question, line["document"][0]): line
            for question, file in enumerate(self._files)
            for line in _lines(file)
            if line["document"] == self._versions.get(line["document"][0])
        }
        places = sorted(kept, key=lambda place: place[1])
        for document, of_it in groupby(places, key=lambda place: place[1]):
            with suppress(UnknownDocument):  # it has just been removed
                text = text_of(document)
                for place in of_it:
                    yield place, _found(kept[place], text)

    @contextmanager
    def noting(self) -> Iterator[Note]:
        """Adds cells. Whoever asks the same collection meanwhile keeps none."""
        self._folder.mkdir(parents=True, exist_ok=True)
        _make_room(self._folder.parent, self._files)
        # Held from a step to the next, each of which may run in another thread.
        lock = FileLock(self._folder.with_suffix(".lock"), timeout=0, thread_local=False)
        try:
            lock.acquire()
        except Timeout:
            yield lambda _place, _found: None
            return
        try:
            yield self._note
        finally:
            lock.release()

    def _note(self, place: Place, found: Found) -> None:
        try:
            with self._files[place[0]].open("ab") as out:
                # First, for a kill may have cut off the line before.
                out.write(b"\n" + _line(self._versions[place[1]], found))
        except OSError as error:
            _log.warning("a cell was not kept: %s", error)


def forget(home: Path) -> None:
    """Delete the cells of all tables."""
    for file in (home / FOLDER).glob("*/*.jsonl"):
        with suppress(OSError):
            file.unlink()


def _hashed(*told: object) -> str:
    return hashlib.sha256(json.dumps(told, ensure_ascii=False).encode()).hexdigest()[:32]


def _make_room(root: Path, coming: Sequence[Path]) -> None:
    aged = []
    for file in root.glob("*/*.jsonl"):
        with suppress(OSError):  # another process has made room
            aged.append((file.stat().st_mtime, file.stat().st_size, file))
    total = sum(size for _, size, _ in aged)
    for _, size, file in sorted(aged):
        if file in coming:
            continue
        if total <= _MOST:
            return
        with suppress(OSError):
            file.unlink()
            total -= size


def _lines(file: Path) -> Iterator[Json]:
    try:
        lines = file.read_bytes().split(b"\n")
    except OSError:
        return
    for line in lines:
        with suppress(ValueError):  # blank, or cut off by a kill
            yield json.loads(line)


def _line(version: Sequence[object], found: Found) -> bytes:
    kept: Json = {
        "document": version,
        "offered": [
            (each.chunk_id, each.start, each.end, each.page, each.similarity, each.score)
            for each in found.offered
        ],
        "usual": found.usual,
        "by_words": found.by_words,
        "vectors": None,
    }
    if found.vectors is not None:
        kept["vectors"] = base64.b64encode(found.vectors.astype("<f2").tobytes()).decode()
    return json.dumps(kept).encode()


def _found(kept: Json, text: str) -> Found:
    offered = tuple(
        Sentence(text[start:end], chunk, start, end, page, similarity, score)
        for chunk, start, end, page, similarity, score in kept["offered"]
    )
    vectors = None
    if kept["vectors"] is not None:
        rows = np.frombuffer(base64.b64decode(kept["vectors"]), "<f2")
        vectors = rows.reshape(len(offered), -1).astype(np.float16)
    return Found(offered, vectors, kept["usual"], kept["by_words"])
