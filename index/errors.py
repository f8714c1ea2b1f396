"""What can go wrong in the storage layer.

StorageError
├── UnknownCollection    no collection of that name
├── UnknownDocument      no document of that id, path or file name
├── AmbiguousDocument    a file name that several documents share
├── UnknownChunk         no passage of that id
├── UnknownAdapter       no adapter of that id
├── UnknownConversation  no conversation of that id, or none of this person's
├── UnknownKey           no key of that id
├── UnknownJob           no job of that id
├── AdapterMismatch      an adapter of one model, a collection of another
├── ModelMismatch        vectors of one model, a collection of another
├── CollectionExists     a name that is taken already
├── CollectionBusy       work on a collection that goes by its name
├── BadArchive           a file that `export` did not write, or that is damaged
├── BadFilter            a condition on documents that cannot be            exit 2
├── StorageBusy          another process holds a lock for too long
│   ├── ConnectionsInUse this process holds as many connections as it may
│   └── WritersCrossed   another transaction had to go first, more than once
├── StorageUnreachable   a server that does not answer, a file that cannot be read
├── IndexUnreachable     a Milvus server that does not answer, or lets nobody in
├── IndexMismatch        an index that was made of something else
├── IndexReplaced        another process has begun an index anew
├── BadDatabaseUrl       a URL that cannot be read, or without its driver   exit 2
├── IncompleteDatabase   some of the tables, or not all letters
├── DatabaseChanged      an earlier copy was put in its place
├── BadMilvusUri         an address that cannot be, or without its client   exit 2
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


class UnknownChunk(StorageError):
    def __init__(self, collection: str, chunk_id: int) -> None:
        super().__init__(
            f"collection {collection!r} has no passage {chunk_id}: its document was removed or "
            "changed, search again for those of today"
        )


class UnknownConversation(StorageError):
    def __init__(self, uid: str) -> None:
        super().__init__(f"no conversation {uid!r}: it was deleted, or it is somebody else's")


class UnknownKey(StorageError):
    def __init__(self, key_id: int) -> None:
        super().__init__(f"no key {key_id}: `attest keys list` shows those that there are")


class UnknownJob(StorageError):
    def __init__(self, job_id: int) -> None:
        super().__init__(f"no job {job_id}: it was long ago, or never was")


class UnknownAdapter(StorageError):
    def __init__(self, collection: str, adapter_id: int) -> None:
        super().__init__(f"collection {collection!r} has no adapter {adapter_id}: list them first")


class AdapterMismatch(StorageError):
    def __init__(self, collection: str, model: Model, adapter_id: int, base: str) -> None:
        super().__init__(
            f"adapter {adapter_id} was made for the model {base[:12]}, collection {collection!r} "
            f"holds vectors of {_shown(model)}: make another with `attest adapt`"
        )


class ModelMismatch(StorageError):
    """Vectors of two models never share a collection: their numbers do not compare."""

    def __init__(self, collection: str, stored: Model, given: Model) -> None:
        super().__init__(
            f"collection {collection!r} holds vectors of {_shown(stored)}, not of {_shown(given)}:"
            f" use {stored.name}, give another collection name, or move the library to the other "
            f"model with `attest reembed {given.name}`"
        )


class CollectionExists(StorageError):
    def __init__(self, name: str) -> None:
        super().__init__(
            f"there is a collection {name!r} already: give another name, or import into another "
            "home"
        )


class CollectionBusy(StorageError):
    def __init__(self, name: str, jobs: int) -> None:
        super().__init__(
            f"collection {name!r} has {jobs} jobs that are not done: wait for them, or cancel them"
        )


class BadArchive(StorageError):
    """The message says what is wrong with it."""


class BadFilter(StorageError):
    """The message names the condition."""

    exit_code = 2


class StorageBusy(StorageError):
    def __init__(self, what: str, seconds: float) -> None:
        super().__init__(
            f"{what} was locked by another process for {seconds:g} s: "
            "wait until it has finished, or end it, and try again"
        )


class ConnectionsInUse(StorageBusy):
    def __init__(self, most: int, seconds: float) -> None:
        StorageError.__init__(
            self,
            f"all {most} connections of this process to the database were in use for {seconds:g} "
            "s: ask for less at once, or share the work among more processes",
        )


class WritersCrossed(StorageBusy):
    def __init__(self, reason: str) -> None:
        StorageError.__init__(
            self, f"others write the same at this moment ({reason}): nothing was written, try again"
        )


class StorageUnreachable(StorageError):
    def __init__(self, what: str, reason: str) -> None:
        super().__init__(
            f"{what} cannot be worked with ({reason}): see that it is there, whole and running, "
            "that its user may make and change tables, that its disk is not full, and try again"
        )


class IndexUnreachable(StorageError):
    """Where it goes away in the middle, nothing is lost: documents are in the database."""

    def __init__(self, what: str, reason: str, remedy: str) -> None:
        super().__init__(
            f"{what} cannot be worked with ({reason}): {remedy}; what is in the database is safe, "
            "and is taken in as soon as it answers"
        )


class IndexMismatch(StorageError):
    def __init__(self, name: str, found: str, wanted: str, collection: str) -> None:
        super().__init__(
            f"the Milvus collection {name} was made for {found}, not for {wanted}: let every "
            "process that uses it run the same version of Attest, and make it anew with "
            f"`attest rebuild -c {collection}`"
        )


class IndexReplaced(StorageError):
    def __init__(self, name: str) -> None:
        super().__init__(f"the index {name} was begun anew by another process: try again")


class BadMilvusUri(StorageError):
    exit_code = 2

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the address of Milvus is of no use, {reason}: write it as http://HOST:19530 or "
            "https://HOST:19530/DATABASE, or name a folder for Milvus Lite that ends in .db"
        )


class BadDatabaseUrl(StorageError):
    exit_code = 2

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the database URL is of no use, {reason}: write it as "
            "postgresql+psycopg://USER:PASSWORD@HOST:5432/NAME, or leave it out for the file in "
            "the home"
        )


class IncompleteDatabase(StorageError):
    def __init__(self, reason: str) -> None:
        super().__init__(
            f"this is not a whole database of Attest's ({reason}): nothing was written; restore "
            "all of a backup, or name an empty database"
        )


class DatabaseChanged(StorageError):
    def __init__(self, found: str | None, known: str) -> None:
        super().__init__(
            f"the database is at revision {found}, where this process brought it to {known}: "
            "an earlier copy was put in its place; start the process again"
        )


class NewerDatabase(StorageError):
    def __init__(self, found: str, known: str) -> None:
        super().__init__(
            f"the database is at revision {found}, this version knows {known} at most: "
            "update Attest, or choose another home"
        )


def _shown(model: Model) -> str:
    return f"{model.name} ({model.fingerprint[:12]}, {model.dimensions} dimensions)"
