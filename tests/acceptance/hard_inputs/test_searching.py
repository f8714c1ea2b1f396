"""A16, A20, A22, A27, A39 and their like: questions at every limit, and ids of every kind."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient

from rag import Assistant, shapes
from rag.api import create_app
from rag.encoders import Encoders
from rag.errors import TooLong, UsageError
from rag.records import Within
from tests.acceptance.hard_inputs.conftest import Ran, Shelve
from tests.acceptance.hard_inputs.shelf import Shelf, name_of, upload, write

BLANK = {
    "nothing": "",
    "spaces": "   ",
    "ideographic": "\u3000\n",
    "no-break": "\u00a0\u2003\t",
    "zero width": "\u200b\u200b",
    "mark": "\ufeff",
    "joiners": "\u200d\u2060\u00ad",
    "direction": "\u200e\u202e",
    "hangul filler": "\u3164\u3164",
    "half letters": "\ud83d",
    "control": "\x00\x07",
}
RULES = "".join(f"Rule {i}: trays go on shelf {i}.\n" for i in range(1, 8))
FILES = {
    "rules.txt": RULES,
    "rules_copy.txt": RULES,
    "rules_windows.txt": RULES.replace("\n", "\r\n"),
    "rules_mark.txt": "\ufeff" + RULES + "\n\n",
    "other.txt": "Tell the cook when a tray is missing. The extension is 330.",
    "gate.txt": "The gate is green.",
}


@pytest.fixture(scope="module")
def shelf(shelve: Shelve) -> Shelf:
    return shelve({name: text.encode() for name, text in FILES.items()})


def test_a16_more_results_than_there_are_is_all_of_them(shelf: Shelf) -> None:
    for k in (9, 10**6):
        for mode in ("dense", "lexical", "hybrid"):
            found = shapes.search(shelf.attest.search("tray gate", k=k, mode=mode))["hits"]
            ids = [hit["chunk_id"] for hit in found]
            assert len(ids) == len(set(ids)) == 3
            assert min(ids) > 0
            assert all(hit["score"] > -2 for hit in found)
    assert (
        len(shelf.attest.similar("gate.txt", k=10**6).hits)
        == len([row for row in shelf.attest.documents() if row.status == "indexed"]) - 1
    )


@pytest.mark.parametrize("k", [0, -1, -(10**6)])
def test_a16_no_results_are_no_question(shelf: Shelf, client: TestClient, k: int) -> None:
    with pytest.raises(UsageError, match=rf"k \({k}\) must be at least 1"):
        shelf.attest.search("gate", k=k)
    with pytest.raises(UsageError, match=rf"k \({k}\) must be at least 1"):
        shelf.attest.similar("gate.txt", k=k)
    assert client.post("/api/search", json={"query": "gate", "k": k}).status_code == 422


def test_a16_an_empty_library_gives_nothing_and_says_why(
    attest: Assistant, client: TestClient, run: Callable[..., Ran], tmp_path: Path
) -> None:
    assert attest.search("gate").hits == ()
    assert client.post("/api/search", json={"query": "gate"}).json()["hits"] == []
    ran = run("search", "gate")
    assert ran.code == 0
    assert "the library is empty" in ran.out
    given = attest.ask("Where is the gate?", mode="extract")
    assert given.abstained
    assert given.citations == ()
    assert client.post("/api/search", json={"query": "a", "collection": "no"}).status_code == 404

    attest.add(write(tmp_path / "in", {"a.txt": "The gate is green."}))
    attest.remove(["a.txt"])
    for mode in ("dense", "lexical", "hybrid"):
        assert attest.search("gate", mode=mode).hits == ()
    assert "the library is empty" in run("search", "gate").out


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8, int, str])
def test_a20_ids_of_any_kind_are_ids(shelf: Shelf, kind: type) -> None:
    attest = shelf.attest
    document = kind(shelf.outcomes["gate.txt"].id or 0)

    assert attest.find(document).title == "gate"
    assert attest.text(document) == "The gate is green."
    (hit,) = attest.search("gate", within=Within(documents=(document,)), k=3).hits
    assert name_of(hit.chunk.document.path) == "gate.txt"
    assert attest.similar(document, k=1).hits
    (row,) = attest.tag([document], add=["door"])
    assert row.tags == ("door",)
    attest.tag([document], remove=["door"])
    chunks = attest.opened("default").chunks(np.array([hit.chunk.id], np.int64))
    assert [part.id for part in chunks] == [hit.chunk.id]
    assert attest.search("gate", k=np.int64(2)).hits  # type: ignore[arg-type]
    assert type(hit.chunk.id) is type(hit.rank) is int
    assert type(hit.score) is type(hit.dense) is float


def test_a20_the_database_holds_numbers_as_numbers(attest: Assistant, tmp_path: Path) -> None:
    attest.add(write(tmp_path / "in", {"a.txt": "The gate is green.", "b.txt": "The pump is red."}))
    attest.set_fusion_weight(np.float32(0.25))  # type: ignore[arg-type]
    attest.remove([np.int64(attest.find("b.txt").id)])  # type: ignore[list-item]
    with sqlite3.connect(attest.settings.home / "attest.db") as database:
        columns = [
            (table, column, kind)
            for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            for _, column, kind, *_ in database.execute(f"PRAGMA table_info({table})")
            if kind.upper() in ("INTEGER", "FLOAT", "REAL")
        ]
        found = {
            (table, column, stored)
            for table, column, kind in columns
            for (stored,) in database.execute(f"SELECT DISTINCT typeof({column}) FROM {table}")
            if stored not in (("integer", "null") if kind == "INTEGER" else ("real", "null"))
        }
    database.close()
    assert len(columns) > 10
    assert found == set()


def test_a22_equal_texts_are_shown_once_and_push_nothing_out(shelf: Shelf) -> None:
    statuses = {name: one.status for name, one in shelf.outcomes.items()}
    assert sorted(statuses.values()).count("duplicate") == 1
    copy = next(one for one in shelf.outcomes.values() if one.status == "duplicate")
    assert "same content as" in (copy.reason or "")
    assert "rules" in (copy.reason or "")
    for mode in ("lexical", "dense", "hybrid"):
        hits = shelf.attest.search("trays", k=5, mode=mode).hits
        texts = [" ".join(hit.chunk.text.split()) for hit in hits]
        assert len(texts) == len(set(texts))
        assert "other.txt" in [name_of(hit.chunk.document.path) for hit in hits]


def test_a22_an_upload_names_the_file_that_it_repeats(client: TestClient) -> None:
    upload(client, ("rules.txt", RULES.encode()))
    second = upload(client, ("copy.txt", RULES.encode())).json()["documents"][0]
    assert second["status"] == "duplicate"
    assert second["reason"].endswith("rules.txt")


@pytest.mark.parametrize("name", BLANK)
def test_a39_a_blank_question_is_refused_before_any_encoder(
    attest: Assistant,
    client: TestClient,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    monkeypatch.setattr(Encoders, "of", lambda *_: pytest.fail("an encoder was asked"))
    question = BLANK[name]

    for ask in (attest.search, attest.ask):
        with pytest.raises(UsageError, match="the question is empty"):
            ask(question)
    body = '{"query": ' + _escaped(question) + "}"
    head = {"content-type": "application/json"}
    answer = client.post("/api/search", content=body, headers=head)
    assert answer.status_code == 422
    assert "empty" in answer.json()["error"]["message"]
    body = '{"messages": [{"role": "user", "content": ' + _escaped(question) + "}]}"
    answer = client.post("/v1/chat/completions", content=body, headers=head)
    assert answer.status_code in (400, 422)


def _escaped(text: str) -> str:
    return '"' + "".join(f"\\u{ord(letter):04x}" for letter in text) + '"'


def test_a39_half_a_letter_is_passed_over(shelf: Shelf) -> None:
    for question in ("green gate \ud83d", "green\ud800gate", "green\x00gate", "gr\u200been gate"):
        assert name_of(shelf.hits(question)[0].chunk.document.path) == "gate.txt"
        assert shelf.attest.search(question).hits


@pytest.mark.parametrize("letter", ["x", "x ", "가", "가 ", "🧑🏽‍🌾", ".", "\u200bx"])
def test_a39_an_endless_question_names_the_limit(shelf: Shelf, letter: str) -> None:
    question = (letter * 100_000)[:100_000]
    for ask in (shelf.attest.search, shelf.attest.ask):
        with pytest.raises(TooLong, match=r"\d+ (tokens|characters).*shorten it"):
            ask(question)
    with TestClient(
        create_app(shelf.attest), base_url="http://127.0.0.1", raise_server_exceptions=False
    ) as client:
        answer = client.post("/api/search", json={"query": question})
    assert answer.status_code == 413
    assert "shorten" in answer.json()["error"]["message"]


def test_a27_a_question_over_the_encoders_limit_is_refused(shelf: Shelf) -> None:
    with pytest.raises(TooLong, match=r"602 tokens, the encoder takes 256"):
        shelf.attest.ask("a " * 600)
