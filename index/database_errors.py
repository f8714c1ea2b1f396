"""What a database, or the way to it, has against a transaction, in our own words."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnection

from index.errors import ConnectionsInUse, StorageBusy, StorageUnreachable, WritersCrossed

# A file that is damaged, is no database, cannot be opened, or is on a full or failing disk.
_SQLITE_UNUSABLE = tuple(
    f"SQLITE_{name}" for name in ("CORRUPT", "NOTADB", "CANTOPEN", "FULL", "IOERR", "READONLY")
)
# By SQLSTATE: connection, read-only, authorization, no such database, not allowed to make tables,
# out of resources, shut down.
_SERVER_UNUSABLE = ("08", "25006", "28", "3D", "42501", "53", "57")
_LOCK_NOT_HAD = "55P03"
_TOO_MANY = "53300"
_TOO_MANY_TOLD = ("too many clients", "too many connections", "connection slots are reserved")
# Serialization, two that waited for each other, a row that goes away beneath one that refers to it,
# a row that another was first to make.
_CROSSED = ("40001", "40P01", "23503", "23505")
_KINDS = ("OperationalError", "InternalError", "ProgrammingError")


@contextmanager
def reported(url: URL, waits: float, most: int) -> Iterator[None]:
    """Around a transaction.

    Args:
        waits: Seconds that it waits for a lock.
        most: Connections of this process.
    """
    try:
        yield
    except NoConnection as error:
        raise ConnectionsInUse(most, waits) from error
    except DBAPIError as error:
        if isinstance(error.orig, sqlite3.Error):
            _report_file(url, error, error.orig, waits)
        else:
            _report_server(url, error, waits, most)
        raise


def _report_file(url: URL, error: DBAPIError, said: sqlite3.Error, waits: float) -> None:
    if "database is locked" in str(said):
        raise StorageBusy("the database", waits) from error
    if getattr(said, "sqlite_errorname", "").startswith(_SQLITE_UNUSABLE):
        raise StorageUnreachable(_shown(url), reason(error)) from error


def _report_server(url: URL, error: DBAPIError, waits: float, most: int) -> None:
    code = getattr(error.orig, "sqlstate", None)
    if code == _LOCK_NOT_HAD:
        raise StorageBusy("the database", waits) from error
    if code in _CROSSED:
        raise WritersCrossed(reason(error)) from error
    why = reason(error)
    if code == _TOO_MANY or any(
        told in why for told in _TOO_MANY_TOLD
    ):  # refused before there is a code
        raise StorageUnreachable(
            _shown(url),
            f"{why}; each process has up to {most} connections: raise max_connections there, "
            "or run fewer processes",
        ) from error
    # Without a code the driver itself has lost or not reached the server.
    lost = error.connection_invalidated or code is None or code.startswith(_SERVER_UNUSABLE)
    if lost and type(error).__name__ in _KINDS:
        raise StorageUnreachable(_shown(url), why) from error


def _shown(url: URL) -> str:
    if url.get_backend_name() == "sqlite":
        return f"the database {url.database}"
    port = f":{url.port}" if url.port else ""
    return f"the database {url.database!r} at {url.host or 'this machine'}{port}"


def reason(error: DBAPIError) -> str:
    """The first line of what the driver says."""
    return str(error.orig).strip().split("\n")[0]
