"""The folders of indexes in a home, each of a collection and a model; all can be deleted."""

import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from index.engines import key_of
from index.records import StoredCollection

_ROOT = "indexes"


def folder_of(home: Path, collection: StoredCollection) -> Path:
    return home / _ROOT / key_of(collection)


def strays(home: Path, collections: Iterable[StoredCollection]) -> list[str]:
    """What lies among them and is of none of these, by its path below the home."""
    root = home / _ROOT
    if not root.is_dir():
        return []
    known = {folder_of(home, collection) for collection in collections}
    return sorted(f"{_ROOT}/{path.name}" for path in root.iterdir() if path not in known)


def drop(home: Path, collections: Iterable[StoredCollection]) -> None:
    remove(home, [f"{_ROOT}/{key_of(collection)}" for collection in collections])


def remove(home: Path, names: Iterable[str]) -> None:
    """Some of what `strays` named."""
    for name in names:
        path = home / name
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)  # on Windows while others have it open
        else:
            with suppress(OSError):
                path.unlink()
