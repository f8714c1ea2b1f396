"""The connection to the truth: SQLite in the home by default, PostgreSQL by URL.

A reading transaction sees one state from its first query to its last and blocks nobody, on either.

On SQLite a writing one takes the only write lock when it begins (BEGIN IMMEDIATE), so that it
waits there and never fails half-way for having read first. On PostgreSQL writers into one
collection go one after another (`chunk_rows.take_turn`), and each statement sees what the one
before has committed (READ COMMITTED). So none can fail to be serialized, and nothing need be
repeated; the level is set here, whatever the server's default is.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import filelock
from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, make_url, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import ConnectionPoolEntry

from index.errors import BadDatabaseUrl, NewerDatabase, StorageBusy, StorageUnreachable
from index.migrations import HEAD

_WAIT_S = 30.0  # for a lock that another connection holds
_CONNECT_S = 10  # for a server to answer
_MIGRATING = 0x41545445  # names the server's lock that is held while tables are made or changed


class Database:
    """Opens the database of a home, brings its schema up to date, and hands out transactions.

    Raises:
        BadDatabaseUrl: The URL cannot be read, or its driver is not installed.
        StorageUnreachable: The server does not answer, or hung up (every transaction).
    """

    def __init__(self, home: Path, url: str | None = None) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.url = _read(url) if url else URL.create("sqlite", database=str(home / "attest.db"))
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
        return self.url.render_as_string(hide_password=True)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with _reported(self.url), self._reader.begin() as connection:
            yield connection

    @contextmanager
    def writing(self, patience_s: float | None = None) -> Iterator[Connection]:
        """Commits at the end of the block, or rolls back whole when it raises.

        Args:
            patience_s: How long to wait for a lock, where that is not as long as ever.
        """
        if patience_s is None:
            with _reported(self.url), self._writer.begin() as connection:
                yield connection
            return
        hasty = self._writer.execution_options(patience_s=patience_s)
        with _reported(self.url, patience_s), hasty.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text(f"SET LOCAL lock_timeout = {patience_s * 1000:.0f}"))
            yield connection

    def close(self) -> None:
        self._reader.dispose()


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


def _engine(url: URL, *, foreign_keys: bool = True) -> Engine:
    # Korean stays readable in JSON columns.
    json_serializer = partial(json.dumps, ensure_ascii=False)
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url, json_serializer=json_serializer)
        event.listen(engine, "connect", partial(_prepare, foreign_keys=foreign_keys))
        event.listen(engine, "begin", _begin)
        return engine
    waits = {"connect_timeout": _CONNECT_S, "options": f"-c lock_timeout={_WAIT_S * 1000:.0f}"}
    try:
        return create_engine(
            url,
            json_serializer=json_serializer,
            # What the URL itself asks for wins.
            connect_args={key: value for key, value in waits.items() if key not in url.query},
            pool_pre_ping=True,  # the server may have been started again meanwhile
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
            with _alone(home / "attest.lock"), _reported(url), writer.begin() as connection:
                _upgrade(connection)
        else:
            with _reported(url), writer.begin() as connection:
                lock = text("SELECT pg_advisory_xact_lock(:key)")
                connection.execute(lock, {"key": _MIGRATING})
                _upgrade(connection)
    finally:
        engine.dispose()


def _upgrade(connection: Connection) -> None:
    found = _revision(connection)
    if found != HEAD:
        _migrate(connection, found)


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _migrate(connection: Connection, found: str | None) -> None:
    from alembic import command  # takes 0.2 s, and is rarely needed
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    folder = str(Path(__file__).parent / "migrations")
    config.set_main_option("script_location", folder.replace("%", "%%"))
    config.attributes["connection"] = connection
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if found is not None and found not in known:
        raise NewerDatabase(found, HEAD)
    command.upgrade(config, "head")


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    try:
        with filelock.FileLock(path, timeout=_WAIT_S):
            yield
    except filelock.Timeout as error:
        raise StorageBusy(f"the home {path.parent}", _WAIT_S) from error


@contextmanager
def _reported(url: URL, waits: float = _WAIT_S) -> Iterator[None]:
    """Says in our own words what the database or the way to it has against a transaction."""
    try:
        yield
    except DBAPIError as error:
        busy, unreachable = _judged(error)
        if busy:
            raise StorageBusy("the database", waits) from error
        if unreachable:
            raise StorageUnreachable(_shown(url), _reason(error)) from error
        raise


def _judged(error: DBAPIError) -> tuple[bool, bool]:
    """Whether another held a lock, and whether the database cannot be worked with at all."""
    if isinstance(error.orig, sqlite3.Error):
        busy = "database is locked" in str(error.orig)
        name = getattr(error.orig, "sqlite_errorname", "")
        return busy, not busy and name.startswith(_SQLITE_UNUSABLE)
    code = getattr(error.orig, "sqlstate", None)
    # A lock that did not come in time; two that waited for each other.
    busy = code in ("55P03", "40P01")
    # Without a code the driver itself has lost or not reached the server.
    lost = error.connection_invalidated or code is None or code.startswith(_SERVER_UNUSABLE)
    return busy, not busy and lost and type(error).__name__ in ("OperationalError", "InternalError")


# A file that is damaged, is no database, cannot be opened, or is on a full or failing disk.
_SQLITE_UNUSABLE = tuple(
    f"SQLITE_{name}" for name in ("CORRUPT", "NOTADB", "CANTOPEN", "FULL", "IOERR", "READONLY")
)
# Connection, read-only, authorization, no such database, out of resources, shut down.
_SERVER_UNUSABLE = ("08", "25006", "28", "3D", "53", "57")


def _shown(url: URL) -> str:
    if url.get_backend_name() == "sqlite":
        return f"the database {url.database}"
    port = f":{url.port}" if url.port else ""
    return f"the database {url.database!r} at {url.host or 'this machine'}{port}"


def _reason(error: DBAPIError) -> str:
    return str(error.orig).strip().split("\n")[0]
