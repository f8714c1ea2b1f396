"""Clears away what a kill can leave beside the database, when a home is opened."""

from index.catalog import Catalog


def tidy(catalog: Catalog) -> None:
    """Removes the indexes of models that no collection has or is moving to.

    Where there are no more folders than collections, there is nothing to look for. A server of
    indexes is not asked for the sake of that alone: it may be away, and not be needed.
    """
    root = catalog.home / "indexes"
    if catalog.milvus is not None or not root.is_dir():
        return
    if sum(1 for _ in root.iterdir()) > len(catalog.collections()):
        catalog.engine.discard(catalog.engine.unused(catalog.database))
