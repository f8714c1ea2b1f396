"""A PostgreSQL server for the tests of one session, in a folder of its own that goes with it."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from index.migrations import HEAD
from index.schema import Base

# Nothing that these tests write has to outlive a power cut.
_FAST = "-c fsync=off -c full_page_writes=off -c synchronous_commit=off -c max_connections=200"

# An order that is not that of code points, as most servers have it; since version 15.
_IN_ENGLISH = "LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"


def missing() -> str | None:
    """Why there can be no server here, or None."""
    if not hasattr(os, "getuid"):
        return "the tests start a server over a Unix socket, which this system has not"
    if _programs() is None or not _is_user(_owner()):
        return "no PostgreSQL server is installed: apt-get install postgresql"
    return None


class Server:
    """A running server and its databases."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket
        self._made = 0

    def url(self, database: str) -> str:
        return f"postgresql+psycopg://postgres@/{database}?host={self.socket}"

    def create(self) -> str:
        self._made += 1
        name = f"test_{self._made}"
        with self._connected("postgres") as connection:
            order = _IN_ENGLISH if connection.info.server_version >= 150000 else ""
        self.run(f"CREATE DATABASE {name} TEMPLATE template0 {order}")
        return name

    def empty(self, database: str) -> None:
        """Of rows, ending whoever is still at work on them; ids begin anew."""
        tables = ", ".join(table.name for table in Base.metadata.sorted_tables)
        self.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            f"WHERE datname = '{database}' AND pid <> pg_backend_pid()",
            f"TRUNCATE {tables} RESTART IDENTITY",
            f"UPDATE alembic_version SET version_num = '{HEAD}'",
            database=database,
        )

    def drop(self, database: str) -> None:
        self.run(f"DROP DATABASE {database} WITH (FORCE)")

    def run(self, *statements: str, database: str = "postgres") -> None:
        """Each by itself, as the server's master."""
        with self._connected(database) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def _connected(self, database: str) -> psycopg.Connection:
        where = f"host={self.socket} user=postgres dbname={database}"
        return psycopg.connect(where, autocommit=True)


@contextmanager
def running() -> Iterator[Server]:
    programs = _programs()
    assert programs is not None
    folder = Path(tempfile.mkdtemp(prefix="attest-pg-"))  # short, as the name of a socket must be
    owner = _owner()
    if owner is not None:
        shutil.chown(folder, owner, owner)
    try:
        data = folder / "data"
        made = ("-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
        _call(programs / "initdb", *made)
        options = f"{_FAST} -c listen_addresses= -c unix_socket_directories={folder}"
        control = (programs / "pg_ctl", "-D", data, "-w", "-l", folder / "log")
        _call(*control, "-o", options, "start")
        try:
            yield Server(folder)
        finally:
            _call(*control, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _call(*command: object) -> None:
    # The server keeps what it is given for its output open, so that it is not given a pipe.
    done = subprocess.run(
        [str(part) for part in command],
        user=_owner(),
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=120,
    )
    assert done.returncode == 0, f"{command} ended with {done.returncode}"


def _is_user(name: str | None) -> bool:
    import pwd  # not on Windows

    return name is None or any(user.pw_name == name for user in pwd.getpwall())


def _owner() -> str | None:
    """A server refuses to run as root."""
    return "postgres" if os.getuid() == 0 else None


def _programs() -> Path | None:
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent  # pg_ctl may have no link beside that of initdb
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return debian[-1].parent if debian else None
