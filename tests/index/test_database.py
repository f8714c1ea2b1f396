import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, create_mock_engine
from sqlalchemy.schema import ExecutableDDLElement

import index.migrations
from index import Catalog
from index.database import Database
from index.errors import (
    ConnectionsInUse,
    DatabaseChanged,
    NewerDatabase,
    StorageBusy,
    StorageUnreachable,
)
from index.schema import Base
from tests.index.library import MODEL, document, reopened, vectors_of


def test_the_migrated_schema_is_that_of_the_models(tmp_path: Path) -> None:
    database = Database(tmp_path)
    with database.reading() as connection:
        context = MigrationContext.configure(connection)
        assert compare_metadata(context, Base.metadata) == []
        assert context.get_current_revision() == index.migrations.HEAD
        tables = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = '{}'"
        for name in ("collection", "document", "chunk", "change"):
            sql = connection.exec_driver_sql(tables.format(name)).scalar_one()
            assert "AUTOINCREMENT" in sql, name
    database.close()


def test_postgresql_has_these_column_types_as_well() -> None:
    made: list[str] = []

    def note(statement: ExecutableDDLElement, *_: object, **__: object) -> None:
        made.append(str(statement.compile(dialect=engine.dialect)))

    engine = create_mock_engine("postgresql+psycopg://", note)
    Base.metadata.create_all(engine, checkfirst=False)
    assert sum("CREATE TABLE" in statement for statement in made) == len(Base.metadata.tables)


def test_head_names_the_newest_revision() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(index.migrations.__file__).parent))
    assert ScriptDirectory.from_config(config).get_current_head() == index.migrations.HEAD


def test_every_pooled_connection_is_prepared(tmp_path: Path) -> None:
    database = Database(tmp_path)

    def pragmas(connection: Connection) -> list[object]:
        names = ("foreign_keys", "journal_mode", "busy_timeout", "synchronous")
        return [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names]

    contexts = [database.reading() for _ in range(6)]  # all held at once, so six connections
    connections = [context.__enter__() for context in contexts]
    assert len({id(c.connection.driver_connection) for c in connections}) == 6
    assert [pragmas(connection) for connection in connections] == [[1, "wal", 30000, 1]] * 6
    for context in contexts:
        context.__exit__(None, None, None)
    with database.writing() as connection:
        assert pragmas(connection) == [1, "wal", 30000, 1]
    database.close()


def test_a_writing_transaction_has_the_lock_from_its_beginning(tmp_path: Path) -> None:
    database = Database(tmp_path)
    with closing(sqlite3.connect(tmp_path / "attest.db", timeout=0)) as other:
        with database.writing(), pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
        other.execute("BEGIN IMMEDIATE")
    database.close()


def test_a_reader_is_not_blocked_and_sees_one_state(catalog: Catalog) -> None:
    catalog.create("default", MODEL)
    new = document("a.txt", "one")
    with catalog.database.reading() as connection:
        count = "SELECT count(*) FROM document"
        assert connection.exec_driver_sql(count).scalar() == 0
        catalog.add("default", new, vectors_of(new), MODEL.fingerprint)
        assert connection.exec_driver_sql(count).scalar() == 0
    assert len(catalog.documents("default")) == 1


def test_a_lock_that_is_held_too_long_is_named(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.create("default", MODEL)
    monkeypatch.setattr("index.database._WAIT_S", 0.05)
    impatient = reopened(catalog)
    expected = pytest.raises(StorageBusy, match=r"the database was locked by another process for")
    with catalog.database.writing() as connection, expected:
        connection.exec_driver_sql("UPDATE collection SET fusion_weight = 1")
        impatient.set_fusion_weight("default", 0.2)
    impatient.close()


def test_a_transaction_that_raises_leaves_nothing(catalog: Catalog) -> None:
    catalog.create("default", MODEL)

    def fail_half_way() -> None:
        with catalog.database.writing() as connection:
            connection.exec_driver_sql("DELETE FROM collection")
            raise RuntimeError("half-way")

    with pytest.raises(RuntimeError, match="half-way"):
        fail_half_way()
    assert [found.name for found in catalog.collections()] == ["default"]


def test_a_database_of_a_later_version_is_left_alone(catalog: Catalog) -> None:
    with catalog.database.writing() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(NewerDatabase, match=r"revision 9999, this version knows \d+ at most"):
        reopened(catalog)


def test_a_process_writes_no_rows_of_another_version(catalog: Catalog) -> None:
    """Another process has changed the tables beneath it, or put back an earlier copy."""
    catalog.create("default", MODEL)
    with catalog.database.writing() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(NewerDatabase, match=r"revision 9999, this version knows \d+ at most"):
        catalog.create("other", MODEL)
    assert [found.name for found in catalog.collections()] == ["default"]
    _set_revision(catalog, "0001")
    with pytest.raises(DatabaseChanged, match=r"revision 0001.*start the process again"):
        catalog.create("other", MODEL)


def _set_revision(catalog: Catalog, revision: str) -> None:
    engine = create_engine(catalog.database.url)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{revision}'")
    engine.dispose()


def test_connections_that_are_all_in_use_are_told(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("_KEPT_OPEN", 1), ("_MOST", 2), ("_WAIT_S", 0.05)):
        monkeypatch.setattr(f"index.database.{name}", value)
    with reopened(catalog) as small:
        told = pytest.raises(ConnectionsInUse, match=r"all 2 connections .* for 0\.05 s: ask for")
        with small.database.reading(), small.database.reading(), told:
            small.collections()
        assert small.collections() == []


def test_a_lock_is_held_by_one_of_all_that_share_the_database(
    catalog: Catalog, tmp_path: Path
) -> None:
    url = catalog.database.url
    home = catalog.home if url.get_backend_name() == "sqlite" else tmp_path / "another machine"
    with Catalog(home, url.render_as_string(hide_password=False)) as other:
        ours, theirs = catalog.database, other.database
        with ours.held("move-1") as one, theirs.held("move-1") as two, theirs.held("move-2") as far:
            assert one is not None
            assert two is None
            assert far is not None
            one()
            began = time.monotonic()
            with theirs.held("move-1", 0.2) as waited:
                assert waited is None
            assert time.monotonic() - began >= 0.2
        with theirs.held("move-1", 0.2) as two:
            assert two is not None


def test_threads_open_a_fresh_home_at_once(tmp_path: Path) -> None:
    def opened(_: int) -> list[str]:
        with Catalog(tmp_path / "home") as catalog:
            catalog.create("default", MODEL)
            return [found.name for found in catalog.collections()]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(opened, range(4))) == [["default"]] * 4


def test_processes_open_a_fresh_home_at_once(tmp_path: Path) -> None:
    code = "import sys, pathlib, index; index.Catalog(pathlib.Path(sys.argv[1])).close()"
    command = [sys.executable, "-W", "error", "-c", code, str(tmp_path / "home")]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for process in processes:
        _, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, "")


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "attest.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(
        StorageUnreachable, match=r"attest.db cannot be worked with \(file is not a"
    ):
        Catalog(tmp_path)


def test_who_is_in_a_hurry_does_not_wait_for_a_lock(catalog: Catalog) -> None:
    catalog.create("default", MODEL)
    with catalog.database.writing() as connection:
        connection.exec_driver_sql("UPDATE collection SET fusion_weight = 0.1")
        with pytest.raises(StorageBusy, match=r"locked by another process for 0\.05 s"):
            _set_weight(catalog, 0.05)
    _set_weight(catalog, 0.05)
    assert catalog.collection("default").fusion_weight == 0.2


def _set_weight(catalog: Catalog, patience_s: float) -> None:
    with catalog.database.writing(patience_s) as connection:
        connection.exec_driver_sql("UPDATE collection SET fusion_weight = 0.2")
