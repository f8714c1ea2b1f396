"""What a report is made from: documents or passages with their vectors and texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from index import Collection, StoredDocument
from index.records import OwnedVectors
from rag.clusters import Floats

By = Literal["documents", "passages"]

_AT_ONCE = 500  # passages that are read together


@dataclass(frozen=True, slots=True)
class Material:
    """Items to group, each with the place of its document, and all passages beside them."""

    documents: tuple[StoredDocument, ...]
    owners: NDArray[np.int64]  # (n,) of each item
    vectors: Floats  # (n, d) unit length
    texts: tuple[str, ...]  # of each item
    passages: OwnedVectors  # of all these documents
    passage_owners: NDArray[np.int64]  # (m,)
    waiting: int = 0  # documents that have no vectors yet


def material(collection: Collection | None, by: By) -> Material:
    """What can be grouped of a collection; None: there is none yet."""
    rows = [] if collection is None else collection.documents()
    rows = [row for row in rows if row.status == "indexed"]
    if collection is None or not rows:
        nothing = np.empty((0, 1), np.float32)
        none = np.empty(0, np.int64)
        return Material((), none, nothing, (), OwnedVectors(none, none, nothing), none)
    held = collection.vectors()
    place = {row.id: at for at, row in enumerate(sorted(rows, key=lambda row: row.id))}
    rows = sorted(rows, key=lambda row: row.id)
    mine = np.array([key in place for key in held.documents.tolist()], bool)
    held = OwnedVectors(held.ids[mine], held.documents[mine], held.rows[mine])
    found = sorted(set(held.documents.tolist()))
    documents = tuple(rows[place[key]] for key in found)
    owners = np.searchsorted(np.array(found, np.int64), held.documents)
    if by == "passages":
        texts = passage_texts(collection, held.ids.tolist())
        vectors, own = held.rows.astype(np.float32), owners
    else:
        texts = tuple(collection.text(row.id) for row in documents)
        vectors, own = _means(held.rows, owners, len(documents)), np.arange(len(documents))
    return Material(documents, own, vectors, texts, held, owners, len(rows) - len(documents))


def passage_texts(collection: Collection, ids: Sequence[int]) -> tuple[str, ...]:
    """The texts of passages; one that has just been removed is empty."""
    texts: dict[int, str] = {}
    for start in range(0, len(ids), _AT_ONCE):
        texts |= {part.id: part.text for part in collection.chunks(ids[start : start + _AT_ONCE])}
    return tuple(texts.get(key, "") for key in ids)


def _means(rows: NDArray[np.float32], owners: NDArray[np.int64], n: int) -> Floats:
    """The mean of each document's vectors, (n, d), at unit length."""
    sums = np.zeros((n, rows.shape[1]), np.float64)
    np.add.at(sums, owners, rows)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.asarray(sums / lengths.clip(1e-12), np.float32)
