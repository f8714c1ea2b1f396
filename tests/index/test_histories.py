"""Whatever happens in whatever order: the rows agree, and searches find what a dictionary holds."""

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from index import Catalog, Chunk, Collection, Model
from index.records import Filter, StoredText
from index.verify import verify
from tests.index.library import MODEL, document, rejected, reopened
from tests.index.postgres import Server

OTHER = Model("other", "fingerprint-of-other", 12)
PATHS = ("a", "b", "c", "d")
CONTENTS = (
    ("the pump",),
    ("the crane", "휴가는 15일"),
    ("the winch", "the pump", "the crane again"),
    ("휴가 신청서",),
)
WORDS = ("pump", "crane", "winch", "휴가", "heading", "nothing")
TAGS = ("law", "draft")

Opened = Callable[[], Catalog]


def _vector(text: str, model: Model) -> NDArray[np.float32]:
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
    row = np.random.default_rng(seed).standard_normal(model.dimensions).astype(np.float32)
    return np.asarray(row / np.linalg.norm(row), np.float32)


def _vectors(texts: tuple[str, ...], model: Model) -> NDArray[np.float32]:
    return np.stack([_vector(text, model) for text in texts])


class Held:
    """What should be there, as plainly as it can be kept."""

    def __init__(self) -> None:
        self.contents: dict[str, tuple[str, ...] | None] = {}  # by path, oldest first; None: failed
        self.originals: dict[tuple[str, ...], str] = {}
        self.vectors: dict[tuple[str, ...], list[bool]] = {}
        # For the other model: on the way in, or left by a move that was killed at its end.
        self.others: dict[tuple[str, ...], list[bool]] = {}
        self.tags: dict[str, set[str]] = {}

    def add(self, path: str, content: tuple[str, ...], *, vectors: bool) -> None:
        if self.originals.get(content, path) == path:
            if self.contents.get(path) != content:
                self._let_go(path)
            self.originals[content] = path
            self.vectors[content] = [vectors] * len(content)
            self.others.pop(content, None)
        else:
            self._let_go(path)
        self.contents[path] = content
        self.tags.setdefault(path, set())

    def reject(self, path: str) -> None:
        self.contents.setdefault(path, None)
        self.tags.setdefault(path, set())

    def remove(self, path: str) -> None:
        self._let_go(path)
        del self.contents[path], self.tags[path]

    def rename(self, path: str, new: str) -> None:
        if new == path:
            return
        if new in self.contents:
            self.remove(new)
        self.contents = {new if key == path else key: v for key, v in self.contents.items()}
        self.tags[new] = self.tags.pop(path)
        for content, original in self.originals.items():
            if original == path:
                self.originals[content] = new

    def _let_go(self, path: str) -> None:
        content = self.contents.get(path)
        if content is None or self.originals[content] != path:
            return
        heirs = [key for key, held in self.contents.items() if held == content and key != path]
        if heirs:
            self.originals[content] = heirs[0]
        else:
            del self.originals[content], self.vectors[content]
            self.others.pop(content, None)

    def status(self, path: str) -> str:
        content = self.contents[path]
        if content is None:
            return "failed"
        return "indexed" if self.originals[content] == path else "duplicate"

    def chunks(self) -> list[tuple[str, str, bool]]:
        """(path of the original, passage, whether it has its vector)."""
        return [
            (path, passage, made)
            for content, path in self.originals.items()
            for passage, made in zip(content, self.vectors[content], strict=True)
        ]


class History:
    """A library and what should be in it, side by side."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.model = MODEL
        self.held = Held()
        self.was_killed = False  # before it cleared away what a move had left
        catalog.create("default", MODEL)
        self.collection = Collection.open(catalog, "default", MODEL)

    def take(self, step: tuple[object, ...]) -> None:
        match step:
            case "add", str(path), int(number), bool(vectors):
                self._add(path, CONTENTS[number], vectors=vectors)
            case "reject", str(path):
                self.collection.reject(rejected(path))
                self.held.reject(path)
            case "vectors", int(n):
                self._add_vectors(n)
            case "reembed", int(n):
                self._reembed(n)
            case ("search",):
                self.check()
            case ("reopen",):
                self.catalog.close()
                self.catalog = reopened(self.catalog)
                self.collection = Collection.open(self.catalog, "default", self.model)
            case ("rebuild",):
                self.collection.rebuild()
            case _, str(path), *_ if path in self.held.contents:
                self._change(step, path, self.catalog.find("default", path).id)

    def _change(self, step: tuple[object, ...], path: str, key: int) -> None:
        match step:
            case "remove", _:
                self.collection.remove(key)
                self.held.remove(path)
            case "rename", _, str(new):
                self.catalog.rename(key, new, None)
                self.held.rename(path, new)
            case "tag", _, str(name):
                self.catalog.tag(key, add=[name])
                self.held.tags[path].add(name)
            case "untag", _, str(name):
                self.catalog.tag(key, remove=[name])
                self.held.tags[path].discard(name)

    def _add(self, path: str, content: tuple[str, ...], *, vectors: bool) -> None:
        self.collection.add(
            document(path, *content), _vectors(content, self.model) if vectors else None
        )
        self.held.add(path, content, vectors=vectors)

    def _add_vectors(self, n: int) -> None:
        for waiting in self.catalog.waiting("default", limit=n):
            self.collection.add_vectors([waiting.id], _vector(waiting.text, self.model)[None])
            (chunk,) = self.catalog.chunks([waiting.id])
            content = self.held.contents[chunk.document.path]
            assert content is not None
            position = self.catalog.chunk_ids(chunk.document.id).index(waiting.id)
            self.held.vectors[content][position] = True

    def _reembed(self, n: int) -> None:
        """Moves n documents, and the collection when they were the last."""
        new = OTHER if self.model == MODEL else MODEL
        self.catalog.clear_former("default", keep=[new.fingerprint])
        self.was_killed = False
        move = self.catalog.move("default", new)
        for text in move.texts(0, n):
            passages = tuple(text.text.split("\n"))
            assert move.add(text, _cut(text), _vectors(passages, new))
            self.held.others[passages] = [True] * len(passages)
        assert move.finish() == (self.held.others.keys() == self.held.vectors.keys())
        if self.catalog.collection("default").model == new:
            self.model = new
            self.collection = Collection.open(self.catalog, "default", new)
            self.held.vectors, self.held.others = self.held.others, self.held.vectors
            self.was_killed = not n % 2
            if not self.was_killed:
                self.catalog.clear_former("default")
                self.held.others = {}

    def check(self) -> None:
        self._check_rows()
        chunks = self.held.chunks()
        with_vector = [(path, passage) for path, passage, made in chunks if made]
        self._check_dense(with_vector)
        for word in WORDS:
            found = self.collection.lexical(word)
            expected = [
                (path, passage) for path, passage, _ in chunks if word in f"heading {passage}"
            ]
            assert self._named(found.ids) == sorted(expected), word
        problems = verify(self.catalog).problems
        assert [each for each in problems if not (each.kind == "files" and self.was_killed)] == []

    def _check_rows(self) -> None:
        rows = {row.path: row for row in self.catalog.documents("default")}
        held = self.held
        assert list(rows) == sorted(held.contents)
        for path, row in rows.items():
            assert row.status == held.status(path)
            assert set(row.tags) == held.tags[path]
            content = held.contents[path]
            if content is not None:
                assert self.catalog.text(row.id) == "\n".join(content)
            if row.status == "indexed":
                assert content is not None
                assert (row.chunks, row.pending) == (
                    len(content),
                    held.vectors[content].count(False),
                )
            if row.status == "duplicate":
                assert content is not None
                assert row.reason == f"same content as {held.originals[content]}"

    def _check_dense(self, expected: list[tuple[str, str]]) -> None:
        query = _vector("a question", self.model)
        found = self.collection.dense(query)
        assert self._named(found.ids) == sorted(expected)
        cosines = [float(query @ _vector(passage, self.model)) for _, passage in expected]
        assert found.scores == pytest.approx(np.sort(np.array(cosines, np.float32))[::-1], abs=2e-3)
        for path in self.held.contents:
            within = self.catalog.matching("default", Filter(paths=(path,)))
            chosen = self.collection.dense(query, documents=within)
            content = self.held.contents[path]
            original = None if content is None else self.held.originals[content]
            assert self._named(chosen.ids) == sorted(
                (owner, passage) for owner, passage in expected if owner == original
            )

    def _named(self, ids: NDArray[np.int64]) -> list[tuple[str, str]]:
        return sorted((chunk.document.path, chunk.text) for chunk in self.collection.chunks(ids))


def _cut(text: StoredText) -> tuple[Chunk, ...]:
    return document(text.path, *text.text.split("\n")).chunks


_paths = st.sampled_from(PATHS)
_tags = st.sampled_from(TAGS)
_contents = st.integers(0, len(CONTENTS) - 1)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), _paths, _contents, st.booleans()),
        st.tuples(st.just("add"), _paths, _contents, st.booleans()),
        st.tuples(st.just("reject"), _paths),
        st.tuples(st.just("remove"), _paths),
        st.tuples(st.just("rename"), _paths, _paths),
        st.tuples(st.just("tag"), _paths, _tags),
        st.tuples(st.just("untag"), _paths, _tags),
        st.tuples(st.just("vectors"), st.integers(1, 3)),
        st.tuples(st.just("reembed"), st.integers(1, 4)),
        st.tuples(st.just("search")),
        st.tuples(st.just("reopen")),
        st.tuples(st.just("rebuild")),
    ),
    min_size=3,
    max_size=14,
)


@lru_cache(maxsize=1)
def _tables() -> bytes:
    """The file of a fresh database: making one anew for each history takes longest."""
    with tempfile.TemporaryDirectory() as folder:
        Catalog(Path(folder)).close()
        return (Path(folder) / "attest.db").read_bytes()


@contextmanager
def _history(url: str | None) -> Iterator[History]:
    home = Path(tempfile.mkdtemp())
    try:
        if url is None:
            (home / "attest.db").write_bytes(_tables())
        history = History(Catalog(home, url))
        try:
            yield history
        finally:
            history.catalog.close()
    finally:
        shutil.rmtree(home)


def _run(steps: list[tuple[object, ...]], url: str | None = None) -> None:
    with _history(url) as history:
        for step in steps:
            history.take(step)
        history.check()


@settings(max_examples=200, deadline=None, derandomize=True)
@given(STEPS)
def test_any_history_on_sqlite(steps: list[tuple[object, ...]]) -> None:
    _run(steps)


def test_any_history_on_postgresql(server: Server, shared_database: str) -> None:
    @settings(max_examples=4, deadline=None, derandomize=True)
    @given(STEPS)
    def run(steps: list[tuple[object, ...]]) -> None:
        server.empty(shared_database)
        _run(steps, server.url(shared_database))

    run()


@pytest.mark.slow
@settings(max_examples=2000, deadline=None)
@given(STEPS)
def test_very_many_histories(steps: list[tuple[object, ...]]) -> None:
    _run(steps)
