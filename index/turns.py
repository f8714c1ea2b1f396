"""One process at a time, among all that share a database, wherever they run."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout
from sqlalchemy import text

from index.database import Database
from index.errors import StorageBusy


@contextmanager
def turn(database: Database, name: str, patience_s: float) -> Iterator[Callable[[], object]]:
    """Held by one process at a time: a file's lock beside SQLite, an advisory lock of PostgreSQL.

    A process that is held up, and that its server has given up by then, may believe that it is
    still its turn. So it asks before each step that must not come late.

    Args:
        name: Of what is done in turn; part of a file's name.
        patience_s: How long to wait.

    Yields:
        What raises if the turn is lost.

    Raises:
        StorageBusy: It was another's all the time.
        StorageUnreachable: The turn was lost.
    """
    if database.url.get_backend_name() == "sqlite":
        assert database.url.database
        lock = FileLock(Path(database.url.database).with_name(f"{name}.lock"), timeout=patience_s)
        try:
            lock.acquire()
        except Timeout as error:
            raise StorageBusy(f"the index {name}", patience_s) from error
        try:
            yield _nothing  # it goes with the process
        finally:
            lock.release()
        return
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    key = int.from_bytes(digest, "big", signed=True)
    with database.writing(patience_s) as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": key})
        yield partial(connection.execute, text("SELECT 1"))


def _nothing() -> None:
    pass
