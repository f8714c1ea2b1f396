import json
from collections.abc import Callable
from pathlib import Path

from rag import Assistant, Settings
from rag.conversations import Conversations
from tests.rag.conftest import Ran

Run = Callable[..., Ran]


def test_questions_are_shown_and_forgotten(run: Run, shelf: Path, settings: Settings) -> None:
    assert run("history").out == "no questions are remembered\n"
    run("add", shelf)
    run("search", "How long is the\nwarranty?")
    run("search", "how long is the warranty?")
    run("ask", "연차는 며칠인가?", "--mode", "extract")
    with Assistant.open(settings) as attest:
        chunk = attest.search("warranty", remember=False).hits[0].chunk.id
        attest.judge("How long is the warranty?", chunk, "up")
        asked = attest.history()[1].asked_at

    shown = run("history")
    lines = shown.out.splitlines()
    assert lines[0].split("  ")[-1] == "연차는 며칠인가?"
    assert lines[1] == f"    2×  {asked[:10]}  How long is the warranty?  (1 up)"
    assert lines[2] == "2 questions, kept on this machine; --clear --yes forgets all"
    known = json.loads(run("history", "--json").out)["questions"]
    assert known[1] == {
        "question": "How long is the\nwarranty?",
        "language": "en",
        "asked": asked,
        "times": 2,
        "opened": [],
        "up": [chunk],
        "down": [],
    }

    unsure = run("history", "--clear")
    assert unsure.code == 2
    told = "this forgets all questions of 'default' (2) and keeps its conversations: add --yes"
    assert told in unsure.err
    assert len(json.loads(run("history", "--json").out)["questions"]) == 2
    assert run("history", "--clear", "--yes").out == "forgot 2 questions\n"
    assert json.loads(run("history", "--clear", "--json").out) == {"forgotten": 0}


def test_conversations_stay_unless_they_are_named(
    run: Run, shelf: Path, settings: Settings
) -> None:
    run("add", shelf)
    with Assistant.open(settings) as attest:
        kept = [Conversations(attest), Conversations(attest, owner="0" * 32)]
        assert all(each.begin("How long is the warranty?") for each in kept)

        assert run("history", "--conversations").code == 2
        run("history", "--clear", "--yes")
        assert all(len(each.listed()) == 1 for each in kept)
        unsure = run("history", "--clear", "--conversations")
        assert (unsure.code, "and deletes its conversations" in unsure.err) == (2, True)
        assert run("history", "--clear", "--conversations", "--yes").out == "forgot 0 questions\n"
        assert not any(each.listed() for each in kept)


def test_status_tells_of_them(run: Run, shelf: Path) -> None:
    run("add", shelf)
    run("search", "warranty")
    assert "\nquestions    1 remembered\n" in f"{run('status').out}\n"
    known = json.loads(run("status", "--json").out)
    assert (known["questions"], known["remember_questions"]) == (1, True)
    assert (known["adapter_fingerprint"], known["adapter_made"]) == (None, None)
    assert known["rerank_weight"] == 0


def test_an_archive_holds_them_where_asked(run: Run, shelf: Path, tmp_path: Path) -> None:
    run("add", shelf)
    run("search", "warranty")
    assert "question" not in run("export", tmp_path / "a.zip").out
    assert ", 1 question, " in run("export", tmp_path / "b.zip", "--with-history").out
