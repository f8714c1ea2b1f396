"""What a server does that a file does not."""

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from index import Catalog, Collection
from index.database import Database
from index.errors import (
    BadDatabaseUrl,
    IncompleteDatabase,
    NewerDatabase,
    StorageBusy,
    StorageUnreachable,
)
from tests.index.library import MODEL, document, reopened, vectors_of
from tests.index.postgres import Server


@pytest.fixture
def url(postgres_url: str) -> str:
    return postgres_url


def _add(catalog: Catalog, path: str, *passages: str) -> int:
    new = document(path, *passages)
    return catalog.add("default", new, vectors_of(new), MODEL.fingerprint).id


def _show(catalog: Catalog, name: str, *, writing: bool = False) -> str:
    database = catalog.database
    with database.writing() if writing else database.reading() as connection:
        return str(connection.execute(text(f"SHOW {name}")).scalar_one())


def test_readers_see_one_state_and_write_nothing(catalog: Catalog) -> None:
    assert _show(catalog, "transaction_isolation") == "repeatable read"
    assert _show(catalog, "transaction_read_only") == "on"
    assert _show(catalog, "transaction_isolation", writing=True) == "read committed"
    assert _show(catalog, "transaction_read_only", writing=True) == "off"
    assert _show(catalog, "lock_timeout") == "30s"


def test_changes_are_numbered_in_the_order_of_commits(catalog: Catalog) -> None:
    catalog.create("default", MODEL)
    started, done = threading.Event(), threading.Event()

    def add_later() -> None:
        started.set()
        _add(catalog, "b.txt", "two")
        done.set()

    with catalog.database.writing() as connection:
        connection.execute(text("SELECT id FROM collection FOR UPDATE"))
        thread = threading.Thread(target=add_later)
        thread.start()
        started.wait(5)
        assert not done.wait(0.2)  # it waits for its turn before it takes a number
    thread.join(10)
    assert done.is_set()


def test_a_model_that_changes_while_a_writer_waits_is_seen(catalog: Catalog) -> None:
    catalog.create("default", MODEL)
    errors: list[BaseException] = []

    def add_later() -> None:
        try:
            _add(catalog, "b.txt", "two")
        except Exception as error:
            errors.append(error)

    with catalog.database.writing() as connection:
        connection.execute(text("UPDATE collection SET model_fingerprint = 'another'"))
        thread = threading.Thread(target=add_later)
        thread.start()
        thread.join(0.3)
        assert thread.is_alive()
    thread.join(10)
    assert [type(error).__name__ for error in errors] == ["ModelMismatch"]
    assert catalog.documents("default") == []


def test_threads_make_one_collection(catalog: Catalog) -> None:
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: catalog.create("default", MODEL), range(8)))
    assert len({stored.uid for stored in made}) == 1


def test_threads_tag_and_write_without_deadlocks(catalog: Catalog) -> None:
    catalog.create("default", MODEL)
    key = _add(catalog, "a.txt", "one")

    def work(number: int) -> None:
        for i in range(5):
            catalog.tag(key, add=["law", f"t{number}"])
            _add(catalog, f"{number}-{i}.txt", f"passage {i % 2}")
            catalog.touch(key, None)
            catalog.set_fusion_weight("default", 0.3)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert catalog.document(key).tags == ("law", "t0", "t1", "t2", "t3")
    statuses = [row.status for row in catalog.documents("default")]
    assert (statuses.count("indexed"), statuses.count("duplicate")) == (3, 18)


def test_processes_open_a_fresh_database_at_once(fresh_postgres_url: str, tmp_path: Path) -> None:
    code = "import sys, pathlib, index; index.Catalog(pathlib.Path(sys.argv[1]), sys.argv[2])"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / str(number)), fresh_postgres_url],
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    for process in processes:
        _, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, "")


def test_a_collection_is_searched_from_two_homes(catalog: Catalog, tmp_path: Path) -> None:
    """Replicas on several machines share the database and have indexes of their own."""
    catalog.create("default", MODEL)
    _add(catalog, "a.txt", "the pump")
    url = catalog.database.url.render_as_string(hide_password=False)
    with Catalog(tmp_path / "replica", url) as elsewhere:
        for each in (catalog, elsewhere):
            assert Collection.open(each, "default", MODEL).lexical("pump").ids.tolist() == [1]
        elsewhere.remove(1)
        assert Collection.open(catalog, "default", MODEL).lexical("pump").ids.tolist() == []


def _end_connections(server: Server, database: str) -> None:
    ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname"
    server.run(f"{ended} = '{database}'")


def test_a_server_that_was_started_again_is_found_again(catalog: Catalog, server: Server) -> None:
    catalog.create("default", MODEL)
    _end_connections(server, catalog.database.url.database or "")
    assert [found.name for found in catalog.collections()] == ["default"]


def test_a_connection_that_is_lost_is_named(catalog: Catalog, server: Server) -> None:
    database = catalog.database.url.database or ""

    def lose_it() -> None:
        with catalog.database.writing() as connection:
            _end_connections(server, database)
            connection.execute(text("SELECT 1"))

    with pytest.raises(StorageUnreachable, match=f"the database '{database}' at .*try again"):
        lose_it()


def test_what_is_no_fault_of_the_way_is_not_called_so(catalog: Catalog) -> None:
    with (
        pytest.raises(DBAPIError, match="does not exist"),
        catalog.database.writing() as connection,
    ):
        connection.execute(text("SELECT * FROM nothing"))


def test_a_database_is_opened_while_somebody_writes_for_long(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("index.database._WAIT_S", 0.2)
    with catalog.database.writing() as connection:
        connection.execute(text("SELECT 1"))
        with reopened(catalog) as other:
            other.create("default", MODEL)


def test_tables_are_not_changed_beneath_a_writer(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("index.database._WAIT_S", 0.2)
    with catalog.database.writing():
        monkeypatch.setattr("index.upgrading.HEAD", "9999")  # as a later version has it
        with pytest.raises(StorageBusy, match=r"for 0\.2 s"):
            reopened(catalog)


def test_a_lock_is_not_for_those_who_do_not_know_the_tables(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("index.upgrading.HEAD", "0000")  # as an earlier version has it
    with pytest.raises(NewerDatabase), catalog.database.held("move-1"):
        pass


def test_a_lock_of_a_connection_that_is_lost_is_free(catalog: Catalog, server: Server) -> None:
    with catalog.database.held("move-1") as mine:
        assert mine
        _end_connections(server, catalog.database.url.database or "")
        with catalog.database.held("move-1") as another:
            assert another
        with pytest.raises(StorageUnreachable):
            mine()


def test_who_may_not_come_in_is_told(server: Server, shared_database: str, tmp_path: Path) -> None:
    url = server.url(shared_database).replace("postgres@", "nobody:hidden@")
    with pytest.raises(StorageUnreachable, match=r'"nobody".*see that') as raised:
        Catalog(tmp_path, url)
    assert "hidden" not in str(raised.value)


def test_who_may_make_no_tables_is_told(
    server: Server, fresh_postgres_url: str, tmp_path: Path
) -> None:
    server.run("CREATE ROLE reader LOGIN")
    with pytest.raises(StorageUnreachable, match=r"permission denied.*may make and change tables"):
        Catalog(tmp_path, fresh_postgres_url.replace("postgres@", "reader@"))


def test_a_server_without_a_free_connection_is_told(
    server: Server, shared_database: str, tmp_path: Path
) -> None:
    server.run("CREATE ROLE many LOGIN CONNECTION LIMIT 0")
    url = server.url(shared_database).replace("postgres@", "many@")
    with pytest.raises(StorageUnreachable, match=r"too many .*up to 20 .*raise max_connections"):
        Catalog(tmp_path, url)


def test_a_database_that_has_not_all_letters_is_refused(server: Server, tmp_path: Path) -> None:
    made = "CREATE DATABASE narrow TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'"
    server.run(made)
    with pytest.raises(IncompleteDatabase, match="LATIN1, which has not all letters"):
        Catalog(tmp_path, server.url("narrow"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda url: url.replace("postgresql+psycopg", "mysql"), "it begins with mysql"),
        (lambda url: url.replace("postgresql+psycopg", "postgresql+asyncpg"), "it begins with"),
        (lambda _: "postgresql//hidden@nowhere", "it cannot be read"),
    ],
)
def test_a_url_of_another_kind_is_refused(
    url: str, tmp_path: Path, change: Callable[[str], str], message: str
) -> None:
    with pytest.raises(BadDatabaseUrl, match=rf"{message}.*postgresql\+psycopg://USER") as raised:
        Catalog(tmp_path, change(url))
    assert "hidden" not in str(raised.value)


def test_the_usual_short_names_of_the_kind_are_taken(url: str, tmp_path: Path) -> None:
    for name in ("postgres", "postgresql"):
        with Catalog(tmp_path, url.replace("postgresql+psycopg", name, 1)) as catalog:
            assert catalog.collections() == []


def test_a_driver_that_is_missing_is_named(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(BadDatabaseUrl, match=r"pip install 'attest-rag\[postgres\]'"):
        Database(tmp_path, url)


def test_a_server_that_does_not_answer_is_named_and_no_password(tmp_path: Path) -> None:
    url = "postgresql+psycopg://me:hidden@127.0.0.1:1/library"
    with pytest.raises(StorageUnreachable, match=r"'library' at 127\.0\.0\.1:1 cannot") as raised:
        Catalog(tmp_path, url)
    assert "hidden" not in str(raised.value)


def test_a_database_that_is_not_there_is_named(server: Server, tmp_path: Path) -> None:
    with pytest.raises(StorageUnreachable, match=r"'nothing' at .*does not exist"):
        Catalog(tmp_path, server.url("nothing"))


def test_a_database_shows_itself_without_a_password(catalog: Catalog, tmp_path: Path) -> None:
    url = catalog.database.url.set(password="hidden").render_as_string(hide_password=False)
    with Catalog(tmp_path, url) as secret:
        assert "hidden" not in str(secret.database)
        assert "postgresql+psycopg://postgres:***@" in str(secret.database)
    with Catalog(tmp_path, f"{url.replace(':hidden', '')}&password=hidden") as secret:
        assert "hidden" not in str(secret.database)
    with Catalog(tmp_path / "file") as file:
        assert str(file.database) == str(tmp_path / "file" / "attest.db")


def test_an_instance_elsewhere_sees_the_same(catalog: Catalog) -> None:
    catalog.create("default", MODEL)
    with reopened(catalog) as other:
        assert [found.name for found in other.collections()] == ["default"]


def test_a_database_that_takes_no_writing_is_named(catalog: Catalog, server: Server) -> None:
    catalog.create("default", MODEL)
    name = catalog.database.url.database or ""
    server.run(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    try:
        _end_connections(server, name)
        with pytest.raises(StorageUnreachable, match="in a read-only transaction"):
            catalog.remember("default", "why?")
    finally:
        server.run(f"ALTER DATABASE {name} RESET default_transaction_read_only")
        _end_connections(server, name)


def test_a_hasty_writer_does_not_wait_for_its_turn(catalog: Catalog) -> None:
    catalog.create("default", MODEL)
    catalog.remember("default", "why?")
    with catalog.database.writing() as connection:
        connection.execute(text("SELECT id FROM question FOR UPDATE"))
        with pytest.raises(StorageBusy, match=r"for 0\.1 s"):
            catalog.remember("default", "why?", patience_s=0.1)
    catalog.remember("default", "why?", patience_s=0.1)
    assert catalog.asked("default")[0].times == 2
