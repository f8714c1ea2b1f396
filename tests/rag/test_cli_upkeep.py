"""The commands that follow a folder and keep a library right."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rag import Assistant, Settings
from rag.watch import watched
from tests.rag.conftest import Ran

Run = Callable[..., Ran]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "in"
    made.mkdir()
    (made / "gate.txt").write_text("The gate is green.", encoding="utf-8")
    (made / "pump.md").write_text("# Pump\n\nThe pump is red.", encoding="utf-8")
    return made


def test_sync_tells_of_each_file_and_prunes_when_asked(run: Run, folder: Path) -> None:
    first = run("sync", folder)
    assert first.code == 0
    assert first.out.count("added ") == 2
    assert first.out.endswith("2 added\n")
    (folder / "gate.txt").unlink()
    (folder / "pump.md").write_text("# Pump\n\nThe pump is blue.", encoding="utf-8")
    second = run("sync", folder, "--json")
    body = json.loads(second.out)
    assert body["summary"] == {"updated": 1}
    assert "1 documents have no file any more: --prune removes them" in second.err
    body = json.loads(run("sync", folder, "--prune", "--json").out)
    assert body["summary"] == {"unchanged": 1, "removed": 1}
    assert run("sync", folder / "nowhere").code == 1


def test_verify_finds_nothing_wrong_and_names_what_is(
    run: Run, folder: Path, settings: Settings
) -> None:
    run("add", folder)
    clean = run("verify", "--json")
    body = json.loads(clean.out)
    assert (clean.code, body["ok"], body["problems"]) == (0, True, [])
    (state,) = body["collections"]
    assert state["chunks"] == state["vectors"] == state["dense"] == state["lexical"] == 2
    stray = settings.home / "uploads" / "0123" / "left.txt"
    stray.parent.mkdir(parents=True)
    stray.write_text("left behind", encoding="utf-8")
    wrong = run("verify")
    assert wrong.code == 1
    assert "left.txt" in wrong.out
    assert run("rebuild").code == 0
    assert not stray.exists()
    assert run("verify").code == 0


def test_tags_and_weight(run: Run, folder: Path) -> None:
    run("add", folder, "--tag", "site")
    ran = run("tag", "gate.txt", "--add", "공사", "--remove", "site", "--json")
    (row,) = json.loads(ran.out)["documents"]
    assert row["tags"] == ["공사"]
    found = json.loads(run("search", "the", "--tag", "site", "--json").out)
    assert {hit["document"]["title"] for hit in found["hits"]} == {"Pump"}
    assert run("weight").out == "0.5\n"
    assert run("weight", "0.7").out == "0.7\n"
    assert run("weight", "1.5").code == 2


def test_filters_and_explanations(run: Run, folder: Path) -> None:
    run("add", folder)
    for option, value, title in (
        ("--type", "text/markdown", "Pump"),
        ("--path", "in/g*", "gate"),
        ("--in", "gate.txt", "gate"),
    ):
        body = json.loads(run("search", "red green", option, value, "--json").out)
        assert {hit["document"]["title"] for hit in body["hits"]} == {title}, option
    assert json.loads(run("search", "gate", "--since", "2999-01-01", "--json").out)["hits"] == []
    assert run("search", "gate", "--since", "someday").code == 2
    explained = run("search", "green gate", "--explain", "--mode", "hybrid")
    assert "meaning counts 50%" in explained.out
    assert "words of the question in it: green, gate" in explained.out
    body = json.loads(run("search", "green gate", "--explain", "--json").out)
    assert body["hits"][0]["terms"] == ["green", "gate"]
    assert body["weight"] == 0.5


def test_a_home_travels_in_one_file(
    run: Run, folder: Path, tmp_path: Path, settings: Settings
) -> None:
    run("add", folder, "--tag", "site")
    with Assistant.open(settings) as attest:
        attest.upload("note.txt", b"The crane is black.")
    written = json.loads(run("export", tmp_path / "all.zip", "--json").out)
    assert (written["collections"], written["documents"]) == (["default"], 3)
    refused = run("import", tmp_path / "all.zip")
    assert refused.code == 1
    assert "collection 'default' already" in refused.err
    assert run("reset").code == 2
    assert run("reset", "--yes").out == "removed 3 documents\n"
    assert run("status", "--json").code == 0
    assert not list((settings.home / "uploads").glob("*/*"))
    read = json.loads(run("import", tmp_path / "all.zip", "--json").out)
    assert read["documents"] == 3
    assert run("verify").code == 0
    body = json.loads(run("search", "crane black", "--json").out)
    assert "The crane is black." in {hit["text"] for hit in body["hits"]}
    assert run("import", tmp_path / "nothing.zip").code == 2


def test_a_folder_is_followed(library: Assistant, tmp_path: Path) -> None:
    followed = tmp_path / "followed"
    followed.mkdir()
    ended = threading.Event()
    seen: list[tuple[str, str]] = []

    def follow() -> None:
        for burst in watched(library, followed, prune=True, tags=(), stop=ended.is_set):
            seen.extend((outcome.status, Path(outcome.path).name) for outcome in burst)

    def await_outcome(status: str, name: str) -> None:
        for _ in range(200):
            if (status, name) in seen:
                return
            time.sleep(0.05)
        raise AssertionError(f"{status} {name} is not in {seen}")

    thread = threading.Thread(target=follow)
    thread.start()
    time.sleep(0.5)
    try:
        (followed / "a.txt").write_text("The ferry is late.", encoding="utf-8")
        (followed / "~$lock.docx").write_bytes(b"lock")
        await_outcome("added", "a.txt")
        time.sleep(1.0)  # what vanishes while a sync still runs is gone for it
        (followed / "a.txt").rename(followed / "b.txt")
        await_outcome("updated", "b.txt")
        time.sleep(1.0)
        (followed / "b.txt").unlink()
        await_outcome("removed", "b.txt")
    finally:
        ended.set()
        thread.join(timeout=20)
    assert {name for _, name in seen} == {"a.txt", "b.txt"}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_ctrl_c_keeps_what_is_done(settings: Settings, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for i in range(3000):
        text = f"Note {i}: the lamp number {i} is lit. " * 20
        (folder / f"{i:04}.txt").write_text(text, encoding="utf-8")
    environment = os.environ | {
        "ATTEST_HOME": str(settings.home),
        "ATTEST_ENCODER": settings.encoder,
        "ATTEST_THREADS": "1",
    }
    command = [sys.executable, "-m", "rag.cli", "add", str(folder)]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("added ")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopping; what is done is kept" in err
    assert "Traceback" not in err
    reported = out.count("added ") - out.count(" added\n") + 1
    with Assistant.open(settings) as attest:
        done = [row for row in attest.documents() if row.status == "indexed" and not row.pending]
        assert 1 <= reported <= len(done) < 3000


def test_a_hit_shows_the_part_that_was_looked_for(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "long.txt"
    file.write_text("a b " * 110 + "끝표식ZETA " + "c d " * 90, encoding="utf-8")
    run("add", file)
    out = run("search", "끝표식ZETA", "--mode", "lexical").out
    assert "끝표식ZETA" in out


def test_a_home_that_cannot_be_made_is_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    ran = run("status", "--home", tmp_path / "file")
    assert ran.code == 1
    assert ran.err.startswith("attest: ")
    assert ran.err.count("\n") == 1
