"""The connection to the truth: SQLite in the home by default, PostgreSQL by URL.

On SQLite a reading transaction sees one state from its first query to its last and blocks nobody;
a writing one takes the only write lock when it begins (BEGIN IMMEDIATE), so that it waits there
and never fails half-way for having read first.
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
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import ConnectionPoolEntry

from index.errors import NewerDatabase, StorageBusy
from index.migrations import HEAD

_WAIT_S = 30.0  # for a lock that another connection holds


class Database:
    """Opens the database of a home, brings its schema up to date, and hands out transactions."""

    def __init__(self, home: Path, url: str | None = None) -> None:
        home.mkdir(parents=True, exist_ok=True)
        where = make_url(url) if url else URL.create("sqlite", database=str(home / "attest.db"))
        # One process at a time: switching a new file to WAL and creating tables both need it alone.
        with _alone(home / "attest.lock"):
            _bring_up_to_date(where)
        self._engine = _engine(where)
        self._writer = self._engine.execution_options(begin="BEGIN IMMEDIATE")

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with _busy_reported(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Commits at the end of the block, or rolls back whole when it raises."""
        with _busy_reported(), self._writer.begin() as connection:
            yield connection

    def close(self) -> None:
        self._engine.dispose()


def _engine(url: URL, *, foreign_keys: bool = True) -> Engine:
    # Korean stays readable in JSON columns.
    engine = create_engine(url, json_serializer=partial(json.dumps, ensure_ascii=False))
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", partial(_prepare, foreign_keys=foreign_keys))
        event.listen(engine, "begin", _begin)
    return engine


def _prepare(connection: DBAPIConnection, _: ConnectionPoolEntry, *, foreign_keys: bool) -> None:
    assert isinstance(connection, sqlite3.Connection)
    connection.isolation_level = None  # the driver begins no transaction by itself
    connection.execute(f"PRAGMA busy_timeout = {_WAIT_S * 1000:.0f}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")  # survives a kill of the process
    connection.execute(f"PRAGMA foreign_keys = {'ON' if foreign_keys else 'OFF'}")


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))


def _bring_up_to_date(url: URL) -> None:
    # A table that is altered by copying must not cascade its deletion to the rows that refer to it.
    engine = _engine(url, foreign_keys=False)
    try:
        with engine.execution_options(begin="BEGIN IMMEDIATE").begin() as connection:
            found = _revision(connection)
            if found != HEAD:
                _migrate(connection, found)
    finally:
        engine.dispose()


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
def _busy_reported() -> Iterator[None]:
    try:
        yield
    except OperationalError as error:
        if "database is locked" not in str(error.orig):
            raise
        raise StorageBusy("the database", _WAIT_S) from error
