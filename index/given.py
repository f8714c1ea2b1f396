"""What a document has to be before it is stored: a caller's faults, named with their numbers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from index.errors import ModelMismatch
from index.records import Model, NewDocument, StoredCollection


def check_chunks(document: NewDocument) -> None:
    if not document.chunks:
        raise ValueError(f"{document.path} has no chunks: reject it as empty")
    for position, chunk in enumerate(document.chunks):
        if document.text[chunk.start : chunk.end] != chunk.text:
            raise ValueError(
                f"{document.path}: chunk {position} is not text[{chunk.start}:{chunk.end}]"
            )


def check_model(collection: StoredCollection, fingerprint: str) -> None:
    if fingerprint != collection.model.fingerprint:
        given = Model("the given model", fingerprint, collection.model.dimensions)
        raise ModelMismatch(collection.name, collection.model, given)


def check_shape(
    collection: StoredCollection, n_chunks: int, vectors: NDArray[np.floating[Any]]
) -> None:
    wanted = (n_chunks, collection.model.dimensions)
    if vectors.shape != wanted:
        raise ValueError(
            f"{n_chunks} chunks of {collection.model.name} need vectors of shape {wanted}, "
            f"not {vectors.shape}"
        )


def is_text(told: str) -> bool:
    """Whether a database can be asked for it: none holds NUL or half of a letter."""
    return not any(letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in told)
