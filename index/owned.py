"""Vectors with the documents that they are of: of some documents of a collection, not of all."""

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import func, select

from index import feed
from index.catalog import Catalog
from index.changes import Feed
from index.records import Ids, OwnedVectors
from index.schema import ChunkRow


def vectors_of(catalog: Catalog, collection: str, documents: Ids) -> OwnedVectors:
    """The vectors of these documents, in no order; chunks that have none yet are left out.

    Raises:
        UnknownCollection: There is no collection of this name.
    """
    source = Feed(catalog.database, catalog.collection(collection))
    found = source.vectors(source.chunk_ids(documents))
    owners = owners_of(catalog, found.ids)
    live = owners > 0
    return OwnedVectors(found.ids[live], owners[live], found.rows[live])


def owners_of(catalog: Catalog, ids: Ids) -> NDArray[np.int64]:
    """The document of each of these chunks, (n,); 0 for one that no longer lives."""
    with catalog.database.reading() as connection:
        known = feed.owners(connection, ids)
    return np.fromiter((known.get(int(key), 0) for key in ids), np.int64, len(ids))


def sample_of(catalog: Catalog, collection: str, most: int) -> NDArray[np.float32]:
    """Up to so many vectors of a collection's model, (n, d), evenly spread; the same each time.

    They are of all collections of this home that have the model: what these vectors are taken for
    is what they have in common.
    """
    model = catalog.collection(collection).model
    with catalog.database.reading() as connection:
        last = connection.execute(select(func.max(ChunkRow.id))).scalar() or 0
        ids = np.unique(np.linspace(1, last, min(most, last)).round().astype(np.int64))
        found = feed.vectors(connection, ids, model)
    return found.rows.reshape(-1, model.dimensions)
