import logging
import threading
from pathlib import Path
from types import GeneratorType

import pytest

from index.errors import UnknownChunk, UnknownCollection
from rag import Assistant, Settings
from rag.errors import TooLong, UsageError
from tests.index.library import MODEL

QUESTION = "How long does the warranty last?"


def _asked(attest: Assistant) -> list[tuple[str, int]]:
    return [(each.text, each.times) for each in attest.history()]


def test_what_is_searched_and_asked_is_remembered(library: Assistant) -> None:
    library.search(f"  {QUESTION}\n")
    library.ask(QUESTION, mode="extract")
    list(library.stream("연차는 며칠인가?", mode="extract"))
    assert _asked(library) == [("연차는 며칠인가?", 1), (QUESTION, 2)]
    assert library.status().questions == 2


def test_what_is_not_to_be_remembered_is_not(library: Assistant) -> None:
    library.search(QUESTION, remember=False)
    library.ask(QUESTION, mode="extract", remember=False)
    library.similar("hours.txt")
    with pytest.raises(UsageError):
        library.search(" ")
    assert _asked(library) == []


def test_an_answer_that_was_stopped_had_been_asked(library: Assistant) -> None:
    pieces = library.stream(QUESTION, mode="extract")
    assert isinstance(pieces, GeneratorType)
    next(pieces)
    assert _asked(library) == []  # nobody waits for it
    pieces.close()
    assert _asked(library) == [(QUESTION, 1)]


def test_remembering_can_be_switched_off(library: Assistant, settings: Settings) -> None:
    off = settings.model_copy(update={"remember_questions": False})
    library.search(QUESTION)
    with Assistant.open(off) as attest:
        (hit, *_) = attest.search("Batteries?").hits
        attest.ask("Batteries?", mode="extract")
        assert not attest.judge("Batteries?", hit.chunk.id, "up")
        assert _asked(attest) == [(QUESTION, 1)]
        status = attest.status()
        assert (status.remember_questions, status.questions) == (False, 1)
        assert attest.forget() == 1
    assert library.status().remember_questions


def test_a_locked_database_delays_nobody(
    library: Assistant, caplog: pytest.LogCaptureFixture
) -> None:
    holds, done = threading.Event(), threading.Event()

    def hold() -> None:
        with library.catalog.database.writing():
            holds.set()
            done.wait(20)

    writer = threading.Thread(target=hold)
    writer.start()
    holds.wait(5)
    try:
        with caplog.at_level(logging.WARNING):
            assert library.search(QUESTION).hits
    finally:
        done.set()
        writer.join()
    assert "not remembered: the database was locked by another process for 0.5 s" in caplog.text
    assert _asked(library) == []
    library.search(QUESTION)
    assert _asked(library) == [(QUESTION, 1)]


def test_a_database_that_cannot_be_written_is_no_hindrance(
    library: Assistant, caplog: pytest.LogCaptureFixture
) -> None:
    with library.catalog.database.reading() as connection:  # the pool hands out this one again
        connection.exec_driver_sql("PRAGMA query_only = ON")
    with caplog.at_level(logging.WARNING):
        assert library.ask(QUESTION, mode="extract").citations
    assert "not remembered: the database" in caplog.text
    assert "attempt to write a readonly database" in caplog.text
    assert _asked(library) == []


def test_passages_are_judged(library: Assistant) -> None:
    given = library.ask(QUESTION, mode="extract")
    chunk = given.citations[0].chunk_id
    assert library.judge(QUESTION, chunk, "opened")
    assert library.judge(f" {QUESTION} ", chunk, "up")
    (asked,) = library.history()
    assert (asked.opened, asked.up, asked.down, asked.times) == ((chunk,), (chunk,), (), 1)
    assert library.judge(QUESTION, chunk, None)
    assert library.history()[0].up == ()


def test_judgements_that_cannot_be_are_told(library: Assistant) -> None:
    with pytest.raises(UsageError, match="the question is empty: send the one"):
        library.judge(" \n", 1, "up")
    with pytest.raises(TooLong, match="has 20001 characters, 20000 are taken"):
        library.judge("a" * 20_001, 1, "up")
    with pytest.raises(UnknownChunk):
        library.judge(QUESTION, 999, "up")
    with pytest.raises(UnknownCollection):
        library.judge(QUESTION, 1, "up", collection="none")
    assert _asked(library) == []


def test_an_empty_home_has_no_history(attest: Assistant) -> None:
    attest.search(QUESTION)
    assert attest.history() == ()
    assert attest.forget() == 0
    assert attest.status().questions == 0
    assert attest.status().remember_questions


def test_status_names_what_was_learned(library: Assistant) -> None:
    base = library.catalog.collection("default").model.fingerprint
    assert base != MODEL.fingerprint
    given = {"base": base, "kind": "query", "data": b"data", "report": {}}
    key = library.catalog.add_adapter("default", fingerprint="taught", **given)  # type: ignore[arg-type]
    assert library.status().adapter_fingerprint is None
    library.catalog.use_adapter("default", key)
    library.catalog.set_rerank_weight("default", 0.3)
    status = library.status()
    assert (status.adapter_fingerprint, status.rerank_weight) == ("taught", 0.3)
    assert status.adapter_made == library.catalog.adapters("default")[0].made_at


def test_questions_leave_the_home_only_where_asked(
    library: Assistant, settings: Settings, tmp_path: Path
) -> None:
    library.search(QUESTION)
    assert library.export(tmp_path / "plain.zip").questions == 0
    assert library.export(tmp_path / "whole.zip", with_history=True).questions == 1
    for name, n in (("plain", 0), ("whole", 1)):
        other = settings.model_copy(update={"home": tmp_path / name})
        with Assistant.open(other) as attest:
            assert attest.import_archive(tmp_path / f"{name}.zip").questions == n
            assert len(attest.history()) == n
