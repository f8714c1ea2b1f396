"""Clears away what a kill can leave beside the database, when a home is opened."""

from index.catalog import Catalog


def tidy(catalog: Catalog) -> None:
    """Removes the indexes of models that no collection has or is moving to.

    Where there are no more folders than collections, there is nothing to look for.
    """
    root = catalog.home / "indexes"
    if not root.is_dir() or sum(1 for _ in root.iterdir()) <= len(catalog.collections()):
        return
    from index.derived import discard, unused_folders  # loads FAISS and tantivy

    for folder in unused_folders(catalog.home, catalog.database):
        discard(folder)
