"""How a derived index follows the database: by the number of the last change that it has applied.

The log of changes grows with every commit and numbers its entries by `seq`. An index remembers the
`seq` up to which it agrees with the database; whatever came later it takes from there, in blocks,
before it is searched. So it may be deleted, left behind by a kill or advanced by another process
at any moment, and is right again after the next `catch_up`.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from index.catalog import Catalog

Items = TypeVar("Items", contravariant=True)
_Items = TypeVar("_Items")


class Derived(Protocol[Items]):
    """An index that is made of the database's chunks."""

    block: int  # changes applied at once

    @property
    def applied(self) -> int:
        """The `seq` of the last change that is in it, 0 when it is empty."""

    def updating(self) -> AbstractContextManager[None]:
        """Held while a block is applied. Once inside, `applied` counts other processes' work."""

    def apply(self, seq: int, changed: Sequence[int], items: Items) -> None:
        """Replaces whatever it holds of the `changed` chunks by `items`, and is then at `seq`."""

    def settle(self) -> None:
        """Called when it has caught up, to save or to tidy. It may start anew, at 0."""

    def reset(self) -> None:
        """Starts anew, empty and at 0."""


def catch_up(
    index: Derived[_Items],
    catalog: Catalog,
    collection_id: int,
    read: Callable[[Sequence[int]], _Items],
) -> None:
    """Brings an index up to the newest change there is when this is called.

    Args:
        read: Gives what the index holds of these chunks, leaving out those that no longer live.
            They may have changed again since the log named them: that change is still to come.
    """
    newest = catalog.latest(collection_id)
    if index.applied > newest:  # of a database that was since replaced by an older copy
        index.reset()
    while index.applied < newest:
        with index.updating():
            changes = catalog.changes(collection_id, index.applied, index.block)
            if changes.seq > index.applied:
                changed = changes.upserted + changes.deleted
                index.apply(changes.seq, changed, read(changes.upserted))
        if index.applied >= newest:
            index.settle()
