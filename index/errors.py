"""What can go wrong in the storage layer.

StorageError
├── UnknownCollection    no collection of that name
├── UnknownDocument      no document of that id, path or file name
├── AmbiguousDocument    a file name that several documents share
├── ModelMismatch        vectors of one model, a collection of another
├── StorageBusy          another process holds a lock for too long
└── NewerDatabase        written by a later version than this one
"""

from collections.abc import Sequence

from index.records import Model


class StorageError(Exception):
    """The root of all errors that this package raises for what a caller controls."""

    exit_code = 1


class UnknownCollection(StorageError):
    def __init__(self, name: str, known: Sequence[str]) -> None:
        there = f"there are {', '.join(known)}" if known else "there is none yet; add a document"
        super().__init__(f"no collection {name!r}: {there}")


class UnknownDocument(StorageError):
    def __init__(self, name: str | int) -> None:
        super().__init__(f"no document {name!r}: give the id, path or file name of a listed one")


class AmbiguousDocument(StorageError):
    def __init__(self, name: str, paths: Sequence[str]) -> None:
        shown = ", ".join(paths[:5]) + (", …" if len(paths) > 5 else "")
        super().__init__(f"{name!r} names {len(paths)} documents ({shown}): give a path or an id")


class ModelMismatch(StorageError):
    """Vectors of two models never share a collection: their numbers do not compare."""

    def __init__(self, collection: str, stored: Model, given: Model) -> None:
        super().__init__(
            f"collection {collection!r} holds vectors of {_shown(stored)}, not of {_shown(given)}:"
            f" use {stored.name}, give another collection name, or rebuild it with {given.name}"
        )


class StorageBusy(StorageError):
    def __init__(self, what: str, seconds: float) -> None:
        super().__init__(
            f"{what} was locked by another process for {seconds:g} s: "
            "wait until it has finished, or end it, and try again"
        )


class NewerDatabase(StorageError):
    def __init__(self, found: str, known: str) -> None:
        super().__init__(
            f"the database is at revision {found}, this version knows {known} at most: "
            "update Attest, or choose another home"
        )


def _shown(model: Model) -> str:
    return f"{model.name} ({model.fingerprint[:12]}, {model.dimensions} dimensions)"
