"""The connection to the truth: SQLite in the home by default, PostgreSQL by URL.

A reading transaction sees one state from its first query to its last and blocks nobody, on either.

On SQLite a writing one takes the only write lock when it begins (BEGIN IMMEDIATE), so that it
waits there and never fails half-way for having read first. On PostgreSQL writers into one
collection go one after another (`chunk_rows.take_turn`), and each statement sees what the one
before has committed (READ COMMITTED). So none can fail to be serialized; the level is set here,
whatever the server's default is. What is left, two writers that wait for each other, is begun
again by `repeated`.

A writing transaction first sees that the tables are those that this version knows: another one may
have changed them since the process began.
"""

import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial, wraps
from hashlib import sha256
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import filelock
from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event, make_url, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import ConnectionPoolEntry

from index.database_errors import reason, reported
from index.errors import BadDatabaseUrl, IncompleteDatabase, StorageBusy, WritersCrossed
from index.migrations import HEAD
from index.upgrading import MIGRATING, check_current, stands, upgrade

Given = ParamSpec("Given")
Made = TypeVar("Made")

_WAIT_S = 30.0  # for a lock that another connection holds, and for a connection
_CONNECT_S = 10  # for a server to answer
_KEPT_OPEN, _MOST = 5, 20  # connections of a process: a transaction is short, threads are many
_TRIES = 3
_LOOK_AGAIN_S = 0.05  # whether a lock that another has is free
# A machine that is gone is found out within a minute, on either side: its locks are let go.
_SIGNS = {"idle": 30, "interval": 10, "count": 3}


class Database:
    """Opens the database of a home, brings its schema up to date, and hands out transactions.

    Raises:
        BadDatabaseUrl: The URL cannot be read, or its driver is not installed.
        StorageUnreachable: The server does not answer, or hung up (every transaction).
        StorageBusy: Another connection holds a lock for 30 s, or all connections of this process
            are in use for so long (every transaction).
        NewerDatabase, DatabaseChanged: The tables are of another version (every writing one).
        IncompleteDatabase: Some tables are there, and others not.
    """

    def __init__(self, home: Path, url: str | None = None) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.url = _read(url) if url else URL.create("sqlite", database=str(home / "attest.db"))
        self._home = home
        self._reader, self._writer = _reader_and_writer(_engine(self.url))
        try:
            _bring_up_to_date(self.url, home)
        except BaseException:
            self.close()
            raise

    def __str__(self) -> str:
        """Where it is, without a password."""
        if self.url.get_backend_name() == "sqlite":
            return self.url.database or ""
        secret = [key for key in self.url.query if "password" in key]
        return self.url.difference_update_query(secret).render_as_string(hide_password=True)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with reported(self.url, _WAIT_S, _MOST), self._reader.begin() as connection:
            yield connection

    @contextmanager
    def writing(self, patience_s: float | None = None) -> Iterator[Connection]:
        """Commits at the end of the block, or rolls back whole when it raises.

        Args:
            patience_s: How long to wait for a lock, where that is not as long as ever.
        """
        waits = _WAIT_S if patience_s is None else patience_s
        writer = self._writer
        if patience_s is not None:
            writer = writer.execution_options(patience_s=patience_s)
        with reported(self.url, waits, _MOST), writer.begin() as connection:
            if patience_s is not None and connection.dialect.name == "postgresql":
                connection.execute(text(f"SET LOCAL lock_timeout = {patience_s * 1000:.0f}"))
            check_current(connection)
            yield connection

    def held(
        self, name: str, patience_s: float = 0.0
    ) -> AbstractContextManager[Callable[[], object] | None]:
        """A lock that one caller has, of all that work on the database, wherever they run.

        It is let go at the end of the block, or with the process. One that was held up, and that
        its server has given up by then, may believe that it still has it: so it asks before each
        step that must not come late.

        Args:
            name: Of the lock, as a file could be called.
            patience_s: How long to wait for it.

        Yields:
            What raises StorageUnreachable if the lock is lost; None where another had it all the
            time.

        Raises:
            NewerDatabase, DatabaseChanged: The tables are of another version, on a server.
        """
        if self.url.get_backend_name() == "sqlite":
            return _held_by_file(self._home / f"{name}.lock", patience_s)
        return _held_by_server(self.url, name, patience_s)

    def close(self) -> None:
        self._reader.dispose()


def repeated(transaction: Callable[Given, Made]) -> Callable[Given, Made]:
    """Begins a whole transaction again that crossed another one, which had to go first.

    For those that write without having taken their turn in a collection. What they have read may
    be gone then: the next attempt says so.
    """

    @wraps(transaction)
    def run(*args: Given.args, **kwargs: Given.kwargs) -> Made:
        for _ in range(_TRIES - 1):
            try:
                return transaction(*args, **kwargs)
            except WritersCrossed:
                continue
        return transaction(*args, **kwargs)

    return run


def _read(url: str) -> URL:
    try:
        found = make_url(url)
    except ArgumentError as error:
        raise BadDatabaseUrl("it cannot be read") from error  # it may hold a password
    if found.drivername in ("postgresql", "postgres"):
        return found.set(drivername="postgresql+psycopg")
    if found.drivername not in ("sqlite", "postgresql+psycopg"):
        raise BadDatabaseUrl(f"it begins with {found.drivername}")
    return found


def _engine(url: URL, *, foreign_keys: bool = True, **options: Any) -> Engine:
    # Korean stays readable in JSON columns.
    options["json_serializer"] = partial(json.dumps, ensure_ascii=False)
    if "poolclass" not in options:
        more = _MOST - _KEPT_OPEN
        options |= {"pool_size": _KEPT_OPEN, "max_overflow": more, "pool_timeout": _WAIT_S}
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url, **options)
        event.listen(engine, "connect", partial(_prepare, foreign_keys=foreign_keys))
        event.listen(engine, "begin", _begin)
        return engine
    server = {"lock_timeout": f"{_WAIT_S * 1000:.0f}"}
    server |= {f"tcp_keepalives_{key}": str(value) for key, value in _SIGNS.items()}
    asked = {"options": " ".join(f"-c {key}={value}" for key, value in server.items())}
    asked |= {"connect_timeout": str(_CONNECT_S)}
    asked |= {f"keepalives_{key}": str(value) for key, value in _SIGNS.items()}
    try:
        return create_engine(
            url,
            # What the URL itself asks for wins.
            connect_args={key: value for key, value in asked.items() if key not in url.query},
            pool_pre_ping=True,  # the server may have been started again meanwhile
            **options,
        )
    except ModuleNotFoundError as error:
        raise BadDatabaseUrl(
            "its driver psycopg is not installed: pip install 'attest-rag[postgres]'"
        ) from error


def _reader_and_writer(engine: Engine) -> tuple[Engine, Engine]:
    if engine.dialect.name == "sqlite":
        return engine, engine.execution_options(begin="BEGIN IMMEDIATE")
    reader = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    return reader, engine.execution_options(isolation_level="READ COMMITTED")


def _prepare(connection: DBAPIConnection, _: ConnectionPoolEntry, *, foreign_keys: bool) -> None:
    assert isinstance(connection, sqlite3.Connection)
    connection.isolation_level = None  # the driver begins no transaction by itself
    connection.execute(f"PRAGMA busy_timeout = {_WAIT_S * 1000:.0f}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")  # survives a kill of the process
    connection.execute("PRAGMA secure_delete = ON")  # whatever the build: what is gone is zeroed
    connection.execute(f"PRAGMA foreign_keys = {'ON' if foreign_keys else 'OFF'}")


def _begin(connection: Connection) -> None:
    options = connection.get_execution_options()
    waits = options.get("patience_s", _WAIT_S)
    connection.exec_driver_sql(f"PRAGMA busy_timeout = {waits * 1000:.0f}")
    connection.exec_driver_sql(options.get("begin", "BEGIN"))


def _bring_up_to_date(url: URL, home: Path) -> None:
    # A table that is altered by copying must not cascade its deletion to the rows that refer to it.
    engine = _engine(url, foreign_keys=False)
    _, writer = _reader_and_writer(engine)
    try:
        if engine.dialect.name == "sqlite":
            # Switching a new file to WAL needs it alone, as creating its tables does.
            with (
                _alone(home / "attest.lock"),
                reported(url, _WAIT_S, _MOST),
                writer.begin() as connection,
            ):
                upgrade(connection)
        else:
            with reported(url, _WAIT_S, _MOST), writer.begin() as connection:
                if stands(connection):  # nothing to do, so that no writer has to be waited for
                    return
            with reported(url, _WAIT_S, _MOST), writer.begin() as connection:
                lock = text("SELECT pg_advisory_xact_lock(:key)")
                connection.execute(lock, {"key": MIGRATING})
                upgrade(connection)
    except DBAPIError as error:  # none of those that `reported` knows: a table is in the way
        why = f"its tables cannot be brought to revision {HEAD}: {reason(error)}"
        raise IncompleteDatabase(why) from error
    finally:
        engine.dispose()


@contextmanager
def _held_by_file(path: Path, patience_s: float) -> Iterator[Callable[[], object] | None]:
    lock = filelock.FileLock(path, timeout=patience_s)
    try:
        lock.acquire()
    except filelock.Timeout:
        yield None
        return
    try:
        yield _nothing  # it goes with the process
    finally:
        lock.release()


def _nothing() -> None:
    pass


@contextmanager
def _held_by_server(
    url: URL, name: str, patience_s: float
) -> Iterator[Callable[[], object] | None]:
    """By a connection that is kept for it, outside of transactions: one that is open for long would
    keep old rows from being cleared away.
    """
    number = int.from_bytes(sha256(name.encode()).digest()[:8], signed=True)
    engine = _engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")

    def said(statement: str) -> object:
        with reported(url, _WAIT_S, _MOST):
            return connection.scalar(text(statement), {"key": number})

    with reported(url, _WAIT_S, _MOST):
        connection = engine.connect()
    with connection:
        until = time.monotonic() + patience_s
        while not (taken := said("SELECT pg_try_advisory_lock(:key)")) and time.monotonic() < until:
            time.sleep(_LOOK_AGAIN_S)
        with reported(url, _WAIT_S, _MOST):
            check_current(connection)  # whoever has it goes on to write
        yield partial(said, "SELECT 1") if taken else None


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    try:
        with filelock.FileLock(path, timeout=_WAIT_S):
            yield
    except filelock.Timeout as error:
        raise StorageBusy(f"the home {path.parent}", _WAIT_S) from error
