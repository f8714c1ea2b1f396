"""The tables of a database: made, brought up to date, or refused, before anything is written."""

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from index.errors import DatabaseChanged, IncompleteDatabase, NewerDatabase
from index.migrations import HEAD
from index.schema import Base

MIGRATING = 0x41545445  # names the server's lock that is held while tables are made or changed

_VERSIONS = "alembic_version"
_REVISION = text(f"SELECT version_num FROM {_VERSIONS}")  # noqa: S608 - a name of ours
_NOT_MIGRATED = text("SELECT pg_advisory_xact_lock_shared(:key)")
_NAMED = 3


def stands(connection: Connection) -> bool:
    """Whether the tables are those of this version; False where `upgrade` has something to do.

    Raises:
        IncompleteDatabase: Some are there, and others not.
    """
    if connection.dialect.name == "postgresql":
        _check_letters(connection)
    there = set(inspect(connection).get_table_names())
    ours = set(Base.metadata.tables)
    found = _revision(connection) if _VERSIONS in there else None
    if found is None and there & ours:
        raise IncompleteDatabase(f"{_some(there & ours)} without the revision that they are of")
    if found == HEAD and ours - there:
        raise IncompleteDatabase(f"it is at revision {HEAD}, without {_some(ours - there)}")
    return found == HEAD


def upgrade(connection: Connection) -> None:
    """Makes the tables, or brings those of an earlier version up to date, whole or not at all.

    Raises:
        NewerDatabase: They are of a later version.
        IncompleteDatabase: As `stands`.
    """
    if not stands(connection):
        _migrate(connection)


def check_current(connection: Connection) -> None:
    """At the beginning of a writing transaction, during which no other process migrates.

    Raises:
        NewerDatabase: Another process has brought the tables to a later version.
        DatabaseChanged: An earlier copy was put in their place.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(_NOT_MIGRATED, {"key": MIGRATING})
    found = _revision(connection)
    if found != HEAD:
        if found is not None and found > HEAD:
            raise NewerDatabase(found, HEAD)
        raise DatabaseChanged(found, HEAD)


def _check_letters(connection: Connection) -> None:
    letters = connection.scalar(text("SHOW server_encoding"))
    if letters != "UTF8":
        raise IncompleteDatabase(
            f"its encoding is {letters}, which has not all letters: make it with ENCODING 'UTF8'"
        )


def _revision(connection: Connection) -> str | None:
    found: str | None = connection.scalar(_REVISION)
    return found


def _migrate(connection: Connection) -> None:
    from alembic import command  # takes 0.2 s, and is rarely needed
    from alembic.config import Config
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory

    config = Config()
    folder = str(Path(__file__).parent / "migrations")
    config.set_main_option("script_location", folder.replace("%", "%%"))
    config.attributes["connection"] = connection
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    found = MigrationContext.configure(connection).get_current_revision()
    if found is not None and found not in known:
        raise NewerDatabase(found, HEAD)
    command.upgrade(config, "head")


def _some(tables: set[str]) -> str:
    names = sorted(tables)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"the tables {', '.join(names[:_NAMED])}{more}"
