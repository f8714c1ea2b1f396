"""Objects in stores are followed as files in folders are, and fetched only where they changed."""

import datetime as dt
import json
import subprocess
import sys
import uuid
import zipfile
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import fsspec
import httpx
import pytest

from encoder import Embedder
from rag import Assistant
from rag.errors import EngineError, NotFound, UsageError
from rag.ingest import Outcome
from rag.stores import Store, is_url
from tests.rag.conftest import Ran
from tests.rag.test_ray import in_process

OLD = dt.datetime(2024, 5, 6, 7, 8, 9, tzinfo=dt.UTC)


@pytest.fixture
def bucket() -> Iterator[str]:
    """A folder in memory with five objects, written long ago; its URL."""
    url = f"memory://{uuid.uuid4().hex}/docs"
    put(url, "a.txt", b"The gate is green.")
    put(url, "sub/b.md", b"# Pump\n\nThe pump is red.")
    put(url, "sub/broken.pdf", b"%PDF-1.7 and no more")
    put(url, ".hidden.txt", b"nothing")
    put(url, "picture.xyz", b"nothing")
    yield url
    fsspec.filesystem("memory").rm(url, recursive=True)


def put(url: str, name: str, content: bytes, when: dt.datetime = OLD) -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe(f"{url}/{name}", content)
    memory.store[memory._strip_protocol(f"{url}/{name}")].created = when


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the objects that are fetched from here on."""
    names: list[str] = []
    memory = type(fsspec.filesystem("memory"))
    original = memory.get_file

    def noting(self: Any, key: str, *rest: Any, **named: Any) -> Any:
        names.append(Path(key).name)
        return original(self, key, *rest, **named)

    monkeypatch.setattr(memory, "get_file", noting)
    return names


def _told(outcomes: Iterable[Outcome]) -> dict[str, str]:
    return {outcome.path.rpartition("/docs/")[2]: outcome.status for outcome in outcomes}


@pytest.mark.parametrize("engine", ["local", "cluster"])
def test_a_store_is_followed(
    attest: Assistant, bucket: str, fetched: list[str], encoder_folder: Path, engine: str
) -> None:
    cluster = in_process(Embedder.load(encoder_folder)) if engine == "cluster" else None

    def sync(**given: Any) -> dict[str, str]:
        fetched.clear()
        return _told(attest.sync(Store.open(bucket), cluster=cluster, **given))

    assert sync() == {"a.txt": "added", "sub/b.md": "added", "sub/broken.pdf": "failed"}
    assert sorted(fetched) == ["a.txt", "b.md", "broken.pdf"]
    assert sync() == {"a.txt": "unchanged", "sub/b.md": "unchanged", "sub/broken.pdf": "failed"}
    assert fetched == []
    later = OLD + dt.timedelta(seconds=1)
    put(bucket, "a.txt", b"The gate is brown.", later)
    put(bucket, "sub/b.md", b"# Pump\n\nThe pump is red.", later)
    put(bucket, "c.txt", b"# Pump\n\nThe pump is red.")
    assert sync() == {
        "a.txt": "updated",
        "c.txt": "duplicate",
        "sub/b.md": "unchanged",
        "sub/broken.pdf": "failed",
    }
    assert sorted(fetched) == ["a.txt", "b.md", "c.txt"]
    fsspec.filesystem("memory").rm(f"{bucket}/sub/b.md")
    assert sync(prune=True)["sub/b.md"] == "removed"
    (hit,) = attest.search("gate", mode="lexical").hits
    assert hit.chunk.document.path.endswith("/docs/a.txt")
    assert hit.chunk.document.path.startswith("memory://")
    (row,) = (row for row in attest.documents() if row.path.endswith("a.txt"))
    assert row.title == "a"
    assert row.modified == later.isoformat()


def test_an_archive_in_a_store_gives_its_members(attest: Assistant, bucket: str) -> None:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("notes/winch.txt", "The winch is blue.")
    put(bucket, "all.zip", packed.getvalue())
    assert _told(attest.sync(Store.open(bucket)))["all.zip/notes/winch.txt"] == "added"
    again = _told(attest.sync(Store.open(bucket), prune=True))
    assert again["all.zip/notes/winch.txt"] == "unchanged"
    assert "removed" not in again.values()


def test_what_may_have_changed_in_the_same_second_is_fetched_again(
    attest: Assistant, bucket: str, fetched: list[str]
) -> None:
    now = dt.datetime.now(dt.UTC)
    put(bucket, "a.txt", b"The gate is green.", now)
    list(attest.sync(Store.open(bucket)))
    put(bucket, "a.txt", b"The gate is brown.", now)
    assert _told(attest.sync(Store.open(bucket)))["a.txt"] == "updated"


def test_too_large_an_object_is_not_fetched(
    attest: Assistant, bucket: str, fetched: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag.stores.LARGEST", 20)
    told = {o.path.rpartition("/")[2]: o for o in attest.sync(Store.open(bucket))}
    assert told["b.md"].status == "unsupported"
    assert told["b.md"].reason == "the file has 24 bytes; at most 20 are read: split it"
    assert sorted(fetched) == ["a.txt", "broken.pdf"]


def test_an_object_that_cannot_be_fetched_leaves_what_is_there(
    attest: Assistant, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    list(attest.sync(Store.open(bucket)))
    put(bucket, "a.txt", b"The gate is brown.", OLD + dt.timedelta(days=1))

    def refusing(*_: Any, **__: Any) -> None:
        raise PermissionError("Access Denied")

    with monkeypatch.context() as patched:
        patched.setattr(type(fsspec.filesystem("memory")), "get_file", refusing)
        told = {o.path.rpartition("/")[2]: o for o in attest.sync(Store.open(bucket))}
    assert told["a.txt"].status == "failed"
    assert told["a.txt"].reason == "it cannot be fetched: Access Denied"
    assert attest.text("a.txt") == "The gate is green."
    assert _told(attest.sync(Store.open(bucket)))["a.txt"] == "updated"


def test_a_local_copy_is_no_rename_of_an_object(
    attest: Assistant, bucket: str, tmp_path: Path
) -> None:
    list(attest.sync(Store.open(bucket)))
    (tmp_path / "copy.txt").write_text("The gate is green.", encoding="utf-8")
    assert [o.status for o in attest.add(tmp_path / "copy.txt")] == ["duplicate"]


def test_a_url_is_no_folder_but_for_who_opens_it(attest: Assistant, bucket: str) -> None:
    """As a page or a request would give it: as text."""
    with pytest.raises(NotFound, match="no such file or folder"):
        list(attest.sync(bucket))


def test_what_is_no_store_is_refused(bucket: str) -> None:
    assert is_url("s3://bucket/x")
    assert not is_url("C:/x")
    with pytest.raises(NotFound, match="nothing is in it"):
        Store.open(f"{bucket}/nowhere")
    with pytest.raises(UsageError, match="Protocol not known: nothing"):
        Store.open("nothing://x")


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(EngineError, match=r"pip install 'attest-rag\[s3\]'"):
        Store.open("s3://bucket/x")


def test_the_command_line_follows_a_url(run: Callable[..., Ran], bucket: str) -> None:
    ran = run("sync", bucket, "--json")
    assert (ran.code, ran.err.strip()) == (3, "")
    assert json.loads(ran.out)["summary"]["added"] == 2
    fsspec.filesystem("memory").rm(f"{bucket}/a.txt")
    assert "1 documents have no file any more" in run("sync", bucket).err
    assert "removed" in run("sync", bucket, "--prune").out
    assert run("sync", bucket, "--watch").code == 2


@pytest.fixture
def s3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server on this machine that speaks S3; its address."""
    pytest.importorskip("s3fs")
    pytest.importorskip("moto")
    log = tmp_path / "server.log"
    code = (
        "from moto.server import ThreadedMotoServer as S; s = S('127.0.0.1', 0, verbose=False); "
        "s.start(); print(s.get_host_and_port()[1], flush=True); input()"
    )
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as server,
    ):
        assert server.stdout is not None
        address = f"http://127.0.0.1:{server.stdout.readline().strip()}"
        for name, value in (
            ("AWS_ENDPOINT_URL", address),
            ("AWS_ACCESS_KEY_ID", "me"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AWS_DEFAULT_REGION", "us-east-1"),
        ):
            monkeypatch.setenv(name, value)
        yield address
        server.kill()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_server_that_speaks_s3(
    s3: str, run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = fsspec.filesystem("s3", skip_instance_cache=True)
    files.mkdir("bucket")
    files.pipe("bucket/docs/가격.txt", "문은 초록색이다.".encode())
    files.pipe("bucket/docs/b.md", b"# Pump\n\nThe pump is red.")
    ran = run("sync", "s3://bucket/docs", "--json")
    assert ran.code == 0, ran.err
    told = [(each["path"], each["status"]) for each in json.loads(ran.out)["documents"]]
    assert told == [("s3://bucket/docs/b.md", "added"), ("s3://bucket/docs/가격.txt", "added")]
    assert "2 unchanged" in run("sync", "s3://bucket/docs").out
    missing = run("sync", "s3://nowhere/docs")
    assert (missing.code, len(missing.err.splitlines())) == (1, 1)
    assert "no such bucket" in missing.err
    httpx.post(f"{s3}/moto-api/reset")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    fsspec.filesystem("s3").clear_instance_cache()
    unknown = run("sync", "s3://bucket/docs")
    assert (unknown.code, len(unknown.err.splitlines())) == (1, 1)
    assert "AWS_ACCESS_KEY_ID" in unknown.err
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "me")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    fsspec.filesystem("s3").clear_instance_cache()
    away = run("sync", "s3://bucket/docs")
    assert (away.code, len(away.err.splitlines())) == (1, 1)
    assert "cannot be listed" in away.err
