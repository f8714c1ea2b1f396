"""Where the indexes of collections lie, and what is asked of them: the same of each engine.

An engine keeps two indexes for each collection and model. Both follow the log of changes
(`index.changes`), so that either can be deleted at any time.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from index.changes import Derived
from index.database import Database
from index.errors import IndexReplaced
from index.records import (
    Candidates,
    Entry,
    Ids,
    StoredCollection,
    Vectors,
    WordFrequencies,
)

_TRIES = 5

_Index = TypeVar("_Index")
_Answer = TypeVar("_Answer")


class Dense(Derived[Vectors], Protocol):
    """Unit vectors by chunk id."""

    def __len__(self) -> int:
        """How many chunks are in it."""

    def ids(self) -> NDArray[np.int64]:
        """The chunks that are in it, ascending."""

    def search(
        self, query: NDArray[np.floating], k: int, allowed: NDArray[np.int64] | None = None
    ) -> Candidates:
        """The nearest chunks by cosine, at most k, equal ones by ascending id.

        Args:
            query: (d,) of any length but 0.
            allowed: Chunk ids to choose from; all where it is None.
        """

    def save(self) -> None:
        """Returns once another process need not learn anew what this one knows."""


class Lexical(Derived[Sequence[Entry]], Protocol):
    """The tokens of `index.analysis` by chunk id."""

    def __len__(self) -> int:
        """How many chunks are in it."""

    def ids(self) -> NDArray[np.int64]:
        """The chunks that are in it, ascending."""

    def search(self, query: str, k: int, documents: Ids | None = None) -> Candidates:
        """The best chunks by BM25, at most k, equal ones by ascending id.

        Args:
            documents: Ids of the documents to choose from; all where it is None.
        """

    def frequencies(self, words: Iterable[str]) -> WordFrequencies:
        """In how many chunks each word stands, a word being one of `analysis.tokens`."""


class Engine(Protocol):
    """Makes indexes, and lets go of those that nothing follows any more."""

    def dense(self, collection: StoredCollection, threads: int) -> Dense:
        """The vectors of a collection, for its model."""

    def lexical(self, collection: StoredCollection) -> Lexical:
        """The words of a collection, as cut for its model."""

    def check(self, collection: StoredCollection | None) -> None:
        """Raises where the indexes of a collection, or of one to come, could not follow it."""

    def drop(self, gone: Sequence[StoredCollection]) -> None:
        """Removes the indexes of collections, each of which is given for each of its models."""

    def unused(self, database: Database) -> list[str]:
        """Indexes of collections that are gone, and of models that none has or is moving to."""

    def discard(self, unused: Sequence[str]) -> None:
        """Removes some of what `unused` named."""

    def close(self) -> None:
        """Lets go of what it holds; it can be used again."""


def asked(opened: Callable[[], _Index], ask: Callable[[_Index], _Answer]) -> _Answer:
    """What an index answers. One that another process has meanwhile begun anew is asked again.

    Args:
        opened: Gives the index once it has caught up.
    """
    for _ in range(_TRIES - 1):
        try:
            return ask(opened())
        except IndexReplaced:
            continue
    return ask(opened())


def key_of(collection: StoredCollection) -> str:
    """Differs between databases and models, whose indexes are never mixed up."""
    made_of = f"{collection.uid} {collection.model.fingerprint}".encode()
    return hashlib.sha256(made_of).hexdigest()[:24]
