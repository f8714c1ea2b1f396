"""The worker: what it says while it works, how it is stopped, and what a restart leaves."""

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from index.jobs import StoredJob
from rag import Assistant, Settings
from rag.errors import NotFound, UsageError
from rag.jobs import Task, Work, Worker
from rag.work import KINDS


def until(worker: Worker, key: int, *states: str) -> StoredJob:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if (job := worker.jobs.get(key)).status in states:
            return job
        time.sleep(0.02)
    raise AssertionError(f"job {key} is {job.status}, not {states}")


class Held:
    """Work that goes on until it is told to end."""

    def __init__(self) -> None:
        self.begun = threading.Event()

    def __call__(self, _assistant: Assistant, task: Task) -> Mapping[str, Any]:
        self.begun.set()
        task.progress(1, 4, "half of it")
        while not task.stop():
            time.sleep(0.01)
        return {"until": task.done}


def started(attest: Assistant, **kinds: Work) -> Worker:
    worker = Worker(attest, kinds)
    worker.start()
    return worker


def test_a_job_that_is_cancelled_ends_and_keeps_what_it_did(
    attest: Assistant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag.jobs._SAYS_S", 0.05)
    held = Held()
    worker = started(attest, hold=held)
    key = worker.put("hold", "default", {}).id
    assert held.begun.wait(30)
    worker.jobs.cancel(key)
    ended = until(worker, key, "cancelled")
    assert (ended.done, ended.total, ended.result) == (1, 4, {"until": 1})
    worker.close()


def test_a_job_goes_on_after_a_restart(attest: Assistant) -> None:
    held = Held()
    worker = started(attest, hold=held)
    key = worker.put("hold", "default", {}).id
    assert held.begun.wait(30)
    worker.close()
    assert worker.jobs.get(key).status == "waiting"
    again = started(attest, hold=lambda _assistant, task: {"attempts": task.job.attempts})
    assert until(again, key, "done").result == {"attempts": 1}
    again.close()


def test_a_job_that_fails_says_why(attest: Assistant, caplog: pytest.LogCaptureFixture) -> None:
    def wrong(_assistant: Assistant, _task: Task) -> Mapping[str, Any]:
        raise UsageError("clusters (0) must be at least 1")

    def fault(_assistant: Assistant, _task: Task) -> Mapping[str, Any]:
        raise RuntimeError("a table of secrets")

    worker = started(attest, wrong=wrong, fault=fault)
    said = until(worker, worker.put("wrong", "default", {}).id, "failed")
    assert said.note == "clusters (0) must be at least 1"
    fell = until(worker, worker.put("fault", "default", {}).id, "failed")
    assert "its log says why" in fell.note
    assert "secrets" not in fell.note
    assert "job 2 (fault) failed" in caplog.text
    with pytest.raises(NotFound, match="no jobs of kind 'other': there are fault, wrong"):
        worker.put("other", "default", {})
    worker.close()


def test_adding_goes_on_where_a_killed_process_was(
    settings: Settings, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that dies says nothing any more: neither its job nor its files are lost."""
    with Assistant.open(settings) as attest:
        kept = [attest.keep_upload(f.name, f.read_bytes()) for f in sorted(shelf.iterdir())]
        dead = Worker(attest, KINDS)
        files = [file.relative_to(settings.home).as_posix() for file in kept]
        key = dead.put("add", "default", {"files": files, "tags": []}).id
        assert dead.jobs.take(["add"]) is not None
        attest.add(kept[0])  # and so far it came
    monkeypatch.setattr("index.jobs.SILENCE_S", -1)
    with Assistant.open(settings) as attest:
        worker = Worker(attest, KINDS)
        worker.start()
        done = until(worker, key, "done")
        worker.close()
        assert done.attempts == 2
        assert done.result is not None
        assert done.result["summary"] == {"unchanged": 1, "added": 2}
        assert len(attest.documents()) == 3


def test_a_job_whose_files_lie_on_another_machine_says_so(attest: Assistant) -> None:
    worker = started(attest, **KINDS)
    key = worker.put("add", "default", {"files": ["uploads/0/away.txt"], "tags": []}).id
    failed = until(worker, key, "failed", "done")
    assert failed.status == "failed"
    assert "they share uploads and reports of their homes" in failed.note
    worker.close()
