"""The two indexes of a collection in Milvus, each in Milvus collections of its own.

They are numbered, and the highest is in use. To begin anew is to drop them and to make one of a
number that none had before, so that who searches finds all or is told that it is gone. A row is a
chunk. The
row 0 is none: its mark says which change was applied last, and what all was made for. It is
written after the rows of that change, so that a kill between leaves work to be done twice, never
left out. Whoever writes does so in turn with all processes that share the database; else one that
was held up could put back what another has deleted since.
"""

import base64
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from index import analysis
from index.codec import unit
from index.errors import IndexMismatch, IndexReplaced, StorageBusy, UnknownCollection
from index.milvus_client import MOST, Client
from index.records import Candidates, Entry, Ids, StoredCollection, Vectors, WordFrequencies

SCHEMA = 1  # of the rows: another number is another layout
_ROWS = 250  # in one call: with 65,535 bytes of tokens each they stay below every limit
_CONDITIONS = 50_000  # ids in one condition
_WAIT_S = 60.0  # in which another process must have applied a block
_AT_ONCE = 8  # questions
_WORDS = 4600  # of a chunk at most: with 14 bytes each they fill the field

_Answer = TypeVar("_Answer")
_Many = TypeVar("_Many", list[Any], NDArray[np.int64])
Turn = Callable[[float], AbstractContextManager[Callable[[], object]]]


class MilvusIndex:
    """What both sides share. Instances may be shared by threads; nothing is asked before it must.

    Args:
        base: The names of its Milvus collections, without their number.
        fields: As `Client.fields` must give them.
        made_for: What its rows were made of, by name: of anything else they are of no use.
        turn: Lets one process at a time write.
        is_there: Whether the collection that it follows is still there.
    """

    block = 1000

    def __init__(
        self,
        client: Client,
        base: str,
        collection: StoredCollection,
        *,
        fields: str,
        made_for: dict[str, str],
        turn: Turn,
        is_there: Callable[[], bool],
    ) -> None:
        self._client = client
        self._base = base
        self._collection = collection
        self._fields = fields
        self._made_for = {"schema": str(SCHEMA), **made_for}
        self._turn = turn
        self._is_there = is_there
        self._mine: Callable[[], object] | None = None  # while it is the turn of this process
        self._name: str | None = None  # of the Milvus collection in use
        self._applied: int | None = None  # not known before it is asked for

    @property
    def applied(self) -> int:
        """The `seq` of the last change that is in it, 0 when it is empty."""
        if self._applied is None:
            self.reopen()
        return self._applied or 0

    def __len__(self) -> int:
        return self._ask(lambda name: self._client.count(name, "chunk > 0")) if self._name else 0

    def ids(self) -> NDArray[np.int64]:
        """The chunks that are in it, ascending."""
        return self._ask(self._client.ids) if self._name else np.empty(0, np.int64)

    def reopen(self) -> None:
        """Learns which Milvus collection is in use, and what is in it.

        Raises:
            IndexMismatch: It was made for something else.
        """
        for name in sorted(self._names(), reverse=True):
            with suppress(IndexReplaced):  # it was dropped between two questions
                if (applied := self._checked(name)) is not None:
                    self._name, self._applied = name, applied
                    return
        self._name, self._applied = None, 0

    @contextmanager
    def updating(self) -> Iterator[None]:
        """Keeps other processes from writing, having learnt what they wrote."""
        with self._in_turn():
            self.reopen()
            yield

    def apply(self, seq: int, changed: Sequence[int], items: Any) -> None:
        """To be called within `updating`."""
        name = self._name or self._begin()
        rows = self._rows(items)
        kept = {row["chunk"] for row in rows}
        gone = [key for key in changed if key not in kept]
        for ids in _batches(gone, self.block):
            self._still_mine()
            self._client.delete(name, ids)
        for batch in (*_batches(rows, _ROWS), [self._marked(seq)]):
            self._still_mine()
            self._client.upsert(name, batch)
        self._applied = seq

    def settle(self) -> None:
        """Milvus tidies by itself."""

    def save(self) -> None:
        """What is applied is kept already."""

    def reset(self) -> None:
        """Drops the Milvus collections that there are, whatever is in them."""
        with self._in_turn():
            self._drop_all()
            self._name, self._applied = None, 0

    def _begin(self) -> str:
        if not self._is_there():  # it was dropped, and nobody would look for what is made now
            raise UnknownCollection(self._collection.name, ())
        name = f"{self._base}_{time.time_ns()}"  # none had this before
        self._still_mine()
        self._drop_all()  # what is half made, or comes after this by another clock
        self._create(name)
        self._client.upsert(name, [self._marked(0)])
        self._name = name
        return name

    def _drop_all(self) -> None:
        for name in self._names():
            self._client.drop(name)

    def _ask(self, ask: Callable[[str], _Answer]) -> _Answer:
        """Forgets what it knew where another process has begun anew."""
        assert self._name is not None
        try:
            return ask(self._name)
        except IndexReplaced:
            self._applied = None
            raise

    def _still_mine(self) -> None:
        """Raises where this process was held up for so long that another has the turn."""
        assert self._mine is not None, "only within updating"
        self._mine()

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        with ExitStack() as held:
            self._mine = self._taken(held)
            try:
                yield
            finally:
                self._mine = None

    def _taken(self, held: ExitStack) -> Callable[[], object]:
        """Waits as long as whoever has the turn gets on with it."""
        while True:
            seen = self._applied
            try:
                return held.enter_context(self._turn(_WAIT_S))
            except StorageBusy:
                self.reopen()
                if self._applied == seen:
                    raise

    def _names(self) -> list[str]:
        return self._client.names(f"{self._base}_")

    def _checked(self, name: str) -> int | None:
        """What was applied to a Milvus collection, None where it is half made."""
        if name != self._name:
            self._compare(name, {"fields": self._client.fields(name)}, {"fields": self._fields})
        mark = self._client.mark(name)
        if mark is None:
            return None
        found: dict[str, Any] = json.loads(mark)
        self._compare(name, found, self._made_for)
        return int(found["seq"])

    def _compare(self, name: str, found: dict[str, Any], wanted: dict[str, str]) -> None:
        differ = [key for key, value in wanted.items() if found.get(key) != value]
        if differ:
            raise IndexMismatch(
                name,
                ", ".join(f"{key} {found.get(key)}" for key in differ),
                ", ".join(f"{key} {wanted[key]}" for key in differ),
                self._collection.name,
            )

    def _marked(self, seq: int) -> dict[str, Any]:
        """The row 0."""
        mark = json.dumps({"seq": seq, **self._made_for})
        return {**self._no_chunk(), "chunk": 0, "mark": mark}

    def _create(self, name: str) -> None:
        raise NotImplementedError

    def _rows(self, items: Any) -> list[dict[str, Any]]:
        raise NotImplementedError

    def _no_chunk(self) -> dict[str, Any]:
        """The fields of a row that is never found."""
        raise NotImplementedError


class MilvusVectors(MilvusIndex):
    """Unit vectors, nearest by inner product."""

    def search(
        self, query: NDArray[np.floating], k: int, allowed: NDArray[np.int64] | None = None
    ) -> Candidates:
        """As `engines.Dense` says, of which Milvus gives 16,383 at most.

        Where its index is not exact, a few of the nearest may be missed.
        """
        dimensions = self._collection.model.dimensions
        if query.shape != (dimensions,):
            raise ValueError(f"the query is {query.shape}, the index holds ({dimensions},)")
        row, k = unit(query).tolist(), _most(k)
        if self._name is None:
            return _NOTHING
        if allowed is None:
            parts = [self._found(row, k, "")]
        else:
            parts = [
                self._found(row, k, f"chunk in {ids.tolist()}")
                for ids in _batches(np.asarray(allowed, np.int64), _CONDITIONS)
            ]
        return _best(parts, k)

    def _found(self, row: list[float], k: int, condition: str) -> Candidates:
        # One more, since the row 0 has a vector too.
        found = self._ask(lambda name: self._client.search(name, "vector", row, k + 1, condition))
        return Candidates(found.ids, np.clip(found.scores, -1, 1))

    def _create(self, name: str) -> None:
        self._client.create_dense(name, self._collection.model.dimensions)

    def _rows(self, items: Vectors) -> list[dict[str, Any]]:
        vectors = unit(items.rows) if len(items.ids) else items.rows
        return [
            {"chunk": key, "mark": "", "vector": row}
            for key, row in zip(items.ids.tolist(), vectors.tolist(), strict=True)
        ]

    def _no_chunk(self) -> dict[str, Any]:
        return {"vector": np.eye(1, self._collection.model.dimensions)[0].tolist()}


class MilvusWords(MilvusIndex):
    """Tokens, ranked by Milvus's own BM25.

    Milvus takes texts apart by itself. So that it finds our tokens and no others, each is written
    as a word that no analyzer splits or changes.
    """

    _counted: tuple[str, int, dict[str, int]] | None = None  # as of this name and `applied`

    def search(self, query: str, k: int, documents: Ids | None = None) -> Candidates:
        """As `engines.Lexical` says, of which Milvus gives 16,383 at most."""
        k = _most(k)
        words = _written(analysis.tokens(query))
        if self._name is None or not words:
            return _NOTHING
        if documents is None:
            return _best([self._found(words, k, "")], k)
        return _best(
            [
                self._found(words, k, f"document in {ids.tolist()}")
                for ids in _batches(np.asarray(documents, np.int64), _CONDITIONS)
            ],
            k,
        )

    def frequencies(self, words: Iterable[str]) -> WordFrequencies:
        """In how many chunks each word stands. Counts are kept until the next change."""
        if self._name is None:
            return WordFrequencies(0, dict.fromkeys(words, 0))
        wanted = dict.fromkeys(words)
        known = self._known()
        missing = [word for word in ("", *wanted) if word not in known]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            known |= zip(missing, pool.map(self._count, missing), strict=True)
        return WordFrequencies(known[""], {word: known[word] for word in wanted})

    def _known(self) -> dict[str, int]:
        """What was counted since the last change: chunks by word, all of them by ""."""
        name, applied = self._name or "", self.applied
        if self._counted is None or self._counted[:2] != (name, applied):
            self._counted = name, applied, {}
        return self._counted[2]

    def _count(self, word: str) -> int:
        condition = f"TEXT_MATCH(tokens, '{_written([word])}')" if word else "chunk > 0"
        return self._ask(lambda name: self._client.count(name, condition))

    def _found(self, words: str, k: int, condition: str) -> Candidates:
        found = self._ask(lambda name: self._client.search(name, "weights", words, k, condition))
        return Candidates(found.ids, np.abs(found.scores))  # below 0 in Milvus Lite

    def _create(self, name: str) -> None:
        self._client.create_lexical(name)

    def _rows(self, items: Sequence[Entry]) -> list[dict[str, Any]]:
        return [
            {
                "chunk": entry.chunk_id,
                "mark": "",
                "document": entry.document_id,
                "tokens": _written(analysis.tokens(entry.text)[:_WORDS]),
            }
            for entry in items
        ]

    def _no_chunk(self) -> dict[str, Any]:
        return {"document": 0, "tokens": ""}


_NOTHING = Candidates(np.empty(0, np.int64), np.empty(0, np.float32))


def _written(tokens: Sequence[str]) -> str:
    """Each token as 13 letters and digits: another for another token."""
    return " ".join(map(_word, tokens))


@lru_cache(maxsize=32_768)
def _word(token: str) -> str:
    digest = hashlib.blake2b(token.encode(), digest_size=8).digest()
    return base64.b32encode(digest).decode().rstrip("=").lower()


def _most(k: int) -> int:
    if k < 1:
        raise ValueError(f"k ({k}) must be at least 1")
    return min(k, MOST - 1)


def _best(parts: Sequence[Candidates], k: int) -> Candidates:
    """The k best of several answers, without the row 0; equal ones by ascending id."""
    if not parts:
        return _NOTHING
    ids = np.concatenate([part.ids for part in parts])
    scores = np.concatenate([part.scores for part in parts])
    order = np.lexsort((ids, -scores))
    order = order[ids[order] > 0][:k]
    return Candidates(ids[order], scores[order])


def _batches(items: _Many, size: int) -> Iterator[_Many]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
