"""A15, A17 to A19, A21, A23, A40 and their like: what is stored, deleted, cut short or shared."""

import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from index.errors import UnknownDocument
from rag import Assistant, Settings
from rag.records import Mode
from tests.acceptance.hard_inputs.conftest import Ran
from tests.acceptance.hard_inputs.shelf import name_of, upload, write
from tests.acceptance.processes import Child, Tell, homes


def test_a15_every_vector_keeps_its_own_document(attest: Assistant, tmp_path: Path) -> None:
    words = ("anvil", "bugle", "cedar", "dingo", "ember", "fjord")
    files = {f"{word}.txt": f"Note of {word} {word}." for word in words}
    folder = write(tmp_path / "in", files)
    attest.add(*(folder / f"{word}.txt" for word in words[:4]))
    attest.search("anvil")
    attest.remove(["bugle.txt", "dingo.txt"])
    attest.search("anvil")
    attest.add(*(folder / f"{word}.txt" for word in words[4:]))
    assert [one.status for one in attest.add(folder / "anvil.txt")] == ["unchanged"]

    left = [word for word in words if word not in ("bugle", "dingo")]
    _each_finds_itself(attest, left)
    for _ in attest.rebuild():
        pass
    _each_finds_itself(attest, left)
    with Assistant.open(attest.settings) as again:
        _each_finds_itself(again, left)
        assert [row.id for row in again.documents()] == [1, 3, 5, 6]


def _each_finds_itself(attest: Assistant, words: list[str]) -> None:
    for word in words:
        hits = attest.search(f"Note of {word} {word}.", mode="dense", k=9).hits
        assert len(hits) == len(words) == attest.status().vectors
        assert name_of(hits[0].chunk.document.path) == f"{word}.txt"
        assert hits[0].dense == pytest.approx(1, abs=1e-3)
    assert not attest.verify().problems


@pytest.mark.parametrize("step", range(1, 7))
def test_a17_a_full_disk_leaves_the_old_state_or_the_new(
    encoder_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    given = Settings(home=tmp_path / "자료 창고", encoder=str(encoder_folder), threads=1)
    folder = write(
        tmp_path / "in", {"old.txt": "The gate is green.", "new.txt": "The pump is red."}
    )
    with Assistant.open(given) as attest:
        attest.add(folder / "old.txt")
        attest.search("gate")
        with monkeypatch.context() as full:
            _fill_disk_after(step, full)
            try:
                attest.add(folder / "new.txt")
                attest.search("pump")
            except OSError:
                pass
    with Assistant.open(given) as attest:
        status = attest.status()
        assert status.documents["indexed"] in (1, 2)
        attest.add(folder)
        assert attest.status().chunks == attest.status().vectors == 2
        for word, name in (("gate", "old.txt"), ("pump", "new.txt")):
            assert name_of(attest.search(word, mode="lexical").hits[0].chunk.document.path) == name
        assert not attest.verify().problems
    assert [path for path in given.home.rglob("*") if path.suffix == ".tmp"] == []


def _fill_disk_after(step: int, patch: pytest.MonkeyPatch) -> None:
    """The step-th file that is put in its place finds no room."""
    replace, done = os.replace, 0

    def limited(source: str, target: str) -> None:
        nonlocal done
        done += 1
        if done >= step:
            raise OSError(28, "No space left on device")
        replace(source, target)

    patch.setattr(os, "replace", limited)


_MODES: tuple[Mode, ...] = ("dense", "lexical")
_THREADS, _FILES = 4, 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked here")
def test_a18_processes_and_threads_add_each_file_once(tmp_path: Path) -> None:
    settings, _ = homes(tmp_path)
    folder = tmp_path / "in"
    for name in ("left", "right"):
        for thread in range(_THREADS):
            texts = {f"{name}-{thread}-{i}.txt": f"note {name} {thread} {i}" for i in range(_FILES)}
            write(folder / name / str(thread), texts)
    Assistant.open(settings).close()

    def work(name: str) -> Callable[[Tell], None]:
        return lambda tell: tell(_add_from_threads(settings, folder / name))

    children = [Child(work(name)) for name in ("left", "right")]
    with Assistant.open(settings) as reader:
        seen = 0
        while any(_is_running(child) for child in children):
            found = len(reader.documents())
            assert found >= seen
            seen = found
            if found:
                reader.search("note", mode="lexical", k=5)
            time.sleep(0.05)
        told = [child.told() for child in children]
        assert [statuses for ((statuses,),) in told] == [{"added": 80}, {"added": 80}]
        again = reader.add(folder)
        assert {one.status for one in again} == {"unchanged"}
        rows = reader.documents()
        assert len(rows) == len({row.path for row in rows}) == 2 * _THREADS * _FILES
        assert reader.status().chunks == reader.status().vectors == len(rows)
        assert not reader.verify().problems
    with sqlite3.connect(settings.home / "attest.db") as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    database.close()


def _add_from_threads(settings: Settings, folder: Path) -> dict[str, int]:
    outcomes: list[str] = []
    with Assistant.open(settings) as attest:

        def add(part: Path) -> None:
            outcomes.extend(one.reason or one.status for one in attest.add(part))

        threads = [threading.Thread(target=add, args=(part,)) for part in sorted(folder.iterdir())]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return {status: outcomes.count(status) for status in set(outcomes)}


def _is_running(child: Child) -> bool:
    return (
        child.status is None
        and os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    )


def test_a19_deleting_leaves_no_orphans_and_old_ones_are_found(
    attest: Assistant, run: Callable[..., Ran], tmp_path: Path
) -> None:
    attest.add(write(tmp_path / "in", {"a.txt": "The gate is green.", "b.txt": "The pump is red."}))
    attest.remove(["a.txt"])
    database = sqlite3.connect(attest.settings.home / "attest.db")
    assert database.execute("SELECT count(*) FROM chunk").fetchone() == (1,)
    assert database.execute("SELECT count(*) FROM vector").fetchone() == (1,)
    assert database.execute("PRAGMA foreign_key_check").fetchall() == []

    database.execute("PRAGMA foreign_keys = OFF")  # as tools outside of the product have it
    database.execute("DELETE FROM document")
    database.commit()
    database.close()
    assert attest.search("pump").hits == ()
    assert run("verify").code == 1
    run("rebuild")
    assert run("verify").code == 0
    with sqlite3.connect(attest.settings.home / "attest.db") as database:
        assert database.execute("SELECT count(*) FROM chunk").fetchone() == (0,)
        assert database.execute("SELECT count(*) FROM vector").fetchone() == (0,)
    database.close()


def test_a21_what_was_deleted_is_gone_everywhere(attest: Assistant, client: TestClient) -> None:
    done = upload(
        client,
        ("keep.txt", b"The green mailbox stands before the town hall."),
        ("gone.txt", b"The violet windmill stands behind the bakery."),
    ).json()["documents"]
    kept, gone = (row["id"] for row in done)
    question = "Where is the violet windmill?"
    attest.ask(question, mode="extract")
    vectors = attest.status().vectors

    assert client.delete(f"/api/documents/{gone}").status_code == 200
    assert client.delete(f"/api/documents/{gone}").status_code == 404
    assert client.get(f"/api/documents/{gone}/text").status_code == 404
    assert attest.status().vectors == vectors - done[1]["chunks"]
    uploads = attest.settings.home / "uploads"
    assert [path.name for path in uploads.rglob("*") if path.is_file()] == ["keep.txt"]
    for each in (attest, Assistant.open(attest.settings)):
        for mode in ("lexical", "dense", "hybrid"):
            assert all(
                "windmill" not in hit.chunk.text for hit in each.search(question, mode=mode).hits
            )
        given = each.ask(question, mode="extract")
        assert all(cited.document.id != gone for cited in given.citations)
        assert "windmill" not in given.answer
        assert each.search("green mailbox", mode="lexical").hits[0].chunk.document.id == kept
        assert not each.verify().problems
    each.close()


def test_a21_a_copy_takes_the_place_of_what_was_deleted(
    attest: Assistant, client: TestClient
) -> None:
    content = b"The violet windmill stands behind the bakery."
    done = upload(client, ("one.txt", content), ("two.txt", content)).json()
    assert done["summary"] == {"added": 1, "duplicate": 1}
    first, second = (row["id"] for row in done["documents"])

    client.delete(f"/api/documents/{first}")
    (hit,) = attest.search("windmill", mode="lexical").hits
    assert hit.chunk.document.id == second
    assert Path(hit.chunk.document.path).read_bytes() == content
    client.delete(f"/api/documents/{second}")
    assert attest.search("windmill").hits == ()
    assert attest.status().vectors == 0
    assert not list((attest.settings.home / "uploads").iterdir())
    with pytest.raises(UnknownDocument):
        attest.remove(["two.txt"])


MIXED = {
    "good_1.txt": b"The lighthouse is lit at nine.",
    "good_2.md": b"# Boats\nThe first boat leaves at six.",
    ".DS_Store": b"\x00\x00\x00\x01Bud1",
    "desktop.ini": b"[.ShellClassInfo]\nIconIndex=1",
    "Thumbs.db": b"\xd0\xcf\x11\xe0",
    "~$plan.docx": b"\x05User",
    "broken.pdf": b"%PDF-1.7\n1 0 obj\n<< /Type /Cat",
    "not_really.pdf": b"This is text and no PDF.",
    "broken.docx": b"PK\x03\x04 cut off",
    "empty.txt": b"",
    "blank.txt": " \n\t\u3000\n".encode(),
    "unseen.txt": "\u200b\u200b\n\u3164\u2800\ufeff".encode(),
}


def test_a23_a_mixed_folder_is_taken_in_as_far_as_it_goes(
    run: Callable[..., Ran], settings: Settings, tmp_path: Path
) -> None:
    folder = write(tmp_path / "in", {})
    for name, content in MIXED.items():
        (folder / name).write_bytes(content)
    expected = {
        **dict.fromkeys(("good_1.txt", "good_2.md"), "added"),
        **dict.fromkeys(("broken.pdf", "not_really.pdf", "broken.docx"), "failed"),
        **dict.fromkeys(("empty.txt", "blank.txt", "unseen.txt"), "empty"),
    }
    ran = run("add", folder)
    assert ran.code == 3
    lines = {
        line.split("  (")[0].split("/")[-1]: line for line in ran.out.splitlines() if "/" in line
    }
    assert {name: line.split()[0] for name, line in lines.items()} == expected
    assert all(not lines[name].endswith("()") for name in expected)
    with Assistant.open(settings) as attest:
        assert attest.status().vectors == 2

    again = run("add", folder)
    assert again.code == 3
    assert "2 unchanged" in again.out
    assert "added" not in again.out
    assert run("add", folder / "good_1.txt", folder / "good_2.md").code == 0
    assert run("add", folder / "broken.pdf", folder / "empty.txt").code == 1
    nothing = write(tmp_path / "nothing", {"desktop.ini": "x"})
    ran = run("add", nothing)
    assert ran.code == 0
    assert "no files found" in ran.out


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked here")
def test_a40_a_reader_outlives_every_rebuild(tmp_path: Path) -> None:
    settings, _ = homes(tmp_path)
    folder = write(tmp_path / "in", {f"{i}.txt": f"note number {i}" for i in range(12)})
    with Assistant.open(settings) as attest:
        attest.add(folder / "0.txt", folder / "1.txt")

    def write_on(_tell: Tell) -> None:
        with Assistant.open(settings) as writer:
            for i in range(2, 12):
                writer.add(folder / f"{i}.txt")
                for _ in writer.rebuild():
                    pass

    child = Child(write_on)
    with Assistant.open(settings) as reader:
        seen = searches = 0
        while _is_running(child):
            for mode in _MODES:
                hits = reader.search("note number", mode=mode, k=50).hits
                ids = [hit.chunk.id for hit in hits]
                assert len(ids) == len(set(ids)) >= (seen if mode == "dense" else 2)
                seen = len(ids) if mode == "dense" else seen
            searches += 1
            time.sleep(0.02)  # leaves the processor to the writer
        assert child.told() == []
        assert child.status == 0 != -signal.SIGBUS
        assert searches > 2
        for mode in _MODES:
            assert len(reader.search("note number", mode=mode, k=50).hits) == 12
