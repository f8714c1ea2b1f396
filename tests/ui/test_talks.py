"""The list of conversations, whose they are, and what the page fetches, without a browser."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from index.records import StoredConversation
from rag import Assistant, Settings
from rag.conversations import Conversations
from rag.models import ListedModel
from rag.visitors import owner_of
from tests.builders import spelling_encoder
from tests.ui.records import ESCAPED, HOSTILE, answer, hit
from tests.ui.test_render import shown
from ui import model_cards
from ui.background import Step, Watch, watched
from ui.care import health, synced
from ui.intake import take_in
from ui.locale import texts
from ui.routes import add_routes
from ui.talks import drawer_button, listed
from ui.turns import Turn, conversation

EN, KO = texts("en"), texts("ko")
ANN = "a" * 32


def stored(title: str, days: int = 0, uid: str = "u") -> StoredConversation:
    moment = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds")
    return StoredConversation(uid, "default", title, moment, moment, 1)


def test_conversations_stand_under_their_days() -> None:
    found = [stored("A"), stored("B", 3), stored("C", 30)]
    markup = listed(found, "u", EN)
    assert re.findall(r"<h3[^>]*>([^<]+)<", markup) == ["Today", "Last 7 days", "Earlier"]
    assert 'aria-current="true"' in markup
    assert 'href="page/conversations/u.md"' in markup


def test_no_conversation_and_none_that_is_wanted() -> None:
    assert EN("talks.empty") in listed([], None, EN)
    assert "“pump”" in listed([], None, EN, wanted=" pump ")
    assert shown(listed([], None, KO, kept=False)) == KO("talks.off")
    assert EN("talks.off") in listed([stored("A")], None, EN, kept=False)


def test_a_title_is_never_markup() -> None:
    for markup in (listed([stored(HOSTILE)], None, EN), drawer_button(HOSTILE, EN)):
        assert ESCAPED in markup
        assert "<script" not in markup


@pytest.mark.parametrize(
    ("host", "headers", "cookies", "whose"),
    [
        ("127.0.0.1", {}, {"attest_visitor": ANN}, ""),
        ("::1", {}, {}, ""),
        ("127.0.0.1", {"x-forwarded-for": "10.0.0.7"}, {"attest_visitor": ANN}, ANN),
        ("10.0.0.7", {}, {"attest_visitor": ANN}, ANN),
        ("10.0.0.7", {}, {}, "?"),
        ("10.0.0.7", {}, {"attest_visitor": "' OR 1=1"}, "?"),
        ("", {}, {}, "?"),
        # At the machine, as a browser says it, and through a tunnel of one's own.
        ("127.0.0.1", {"host": "127.0.0.1:7860", "origin": "http://127.0.0.1:7860"}, {}, ""),
        ("127.0.0.1", {"host": "localhost:9000", "referer": "http://localhost:9000/"}, {}, ""),
        # Through a proxy that adds nothing, and hands on another name or none.
        ("127.0.0.1", {"host": "attest.lan"}, {"attest_visitor": ANN}, ANN),
        ("127.0.0.1", {"host": "[::1]:7860", "origin": "http://attest.lan"}, {}, "?"),
        (
            "127.0.0.1",
            {"host": "127.0.0.1:7860", "referer": "http://127.0.0.1:8080/"},
            {"attest_visitor": ANN},
            ANN,
        ),
    ],
)
def test_a_browser_from_elsewhere_has_its_own_conversations(
    host: str, headers: dict[str, str], cookies: dict[str, str], whose: str
) -> None:
    assert owner_of(host, headers, cookies) == whose


@pytest.fixture
def attest(tmp_path: Path) -> Iterator[Assistant]:
    """A library of one small document."""
    encoder = spelling_encoder(tmp_path / "encoder")
    (tmp_path / "pump.md").write_text("# Pump\n\nThe pump weighs 14 kg.\n", encoding="utf-8")
    with Assistant.open(Settings(home=tmp_path / "home", encoder=str(encoder))) as opened:
        opened.add(tmp_path / "pump.md")
        yield opened


@pytest.fixture
def client(attest: Assistant) -> Iterator[TestClient]:
    app = FastAPI()
    add_routes(app, attest)
    with TestClient(app, client=("10.0.0.7", 1)) as opened:
        yield opened


def test_a_document_is_fetched_as_it_is_stored(client: TestClient, attest: Assistant) -> None:
    (row,) = attest.documents()
    found = client.get(f"/page/documents/{row.id}", headers={"accept-language": "ko"}).json()
    assert found["text"] == attest.text(row.id)
    assert found["pages"] == 0
    assert found["words"]["close"] == KO("reader.close")
    assert client.get("/page/documents/99").status_code == 404
    assert client.get(f"/page/documents/{row.id}/pages/1").status_code == 404


def test_a_conversation_is_saved_by_its_owner_alone(client: TestClient, attest: Assistant) -> None:
    kept = Conversations(attest, ANN).begin("How heavy is the pump?")
    assert kept is not None
    address = f"/page/conversations/{kept.uid}"
    assert client.get(f"{address}.md").status_code == 404
    client.cookies.set("attest_visitor", ANN)
    saved = client.get(f"{address}.md")
    assert saved.text.startswith("# How heavy is the pump?")
    assert saved.headers["content-disposition"].startswith("attachment")
    data: dict[str, Any] = client.get(f"{address}.json").json()
    assert data["messages"][0]["state"] == "stopped"


def test_confidence_support_and_reasons_are_words() -> None:
    sure = replace(answer("It weighs 14 kg.", (), [(0, 16)]), confidence=0.83)
    markup = shown(conversation([Turn("?", sure)], EN))
    assert "○ 1 not supported" in markup
    assert "Confidence high, 83%" in markup
    declined = replace(
        answer("Not there.", abstained=True, passages=[hit("The pump")]),
        question="What does Mars weigh?",
        confidence=0.2,
    )
    markup = shown(conversation([Turn("?", declined)], EN))
    assert "None of the passages that were found has “Mars”, “weigh”." in markup
    assert "20%" in markup
    assert EN("declined.nearest") in markup


def test_only_the_last_turn_is_asked_again_and_each_is_copied() -> None:
    turns = [Turn("A?", answer("It is <b>."))] * 2
    markup = conversation(turns, EN)
    assert markup.count('data-do="retry"') == 1
    assert markup.count('data-copy="It is &lt;b&gt;."') == 2


def test_work_tells_how_far_it_is_and_raises_what_went_wrong() -> None:
    def work(watch: Watch) -> str:
        watch("half", 0.5)
        return "done"

    steps = list(watched(work))
    assert steps[-1] == "done"
    assert all(isinstance(step, Step) for step in steps[:-1])
    with pytest.raises(ZeroDivisionError):
        list(watched(lambda _: 1 // 0))


def test_models_that_are_not_here_can_be_fetched() -> None:
    def model(name: str, *, pulled: bool) -> ListedModel:
        return ListedModel(name, "encoder", ("en",), "MIT", 2_000_000, pulled, False, HOSTILE)

    markup = model_cards.cards(
        [model("a", pulled=True), model("b", pulled=False), model("c", pulled=True)],
        {"c", "/own/model.gguf"},
        "big",
        EN,
    )
    assert re.findall(r"<strong[^>]*>([^<]+)<", markup) == ["model.gguf", "c", "a", "b"]
    assert re.findall(r'data-send="([^"]+)"', markup) == ["b"]
    assert "Reads and finds · English · 2.0 MB · MIT" in markup
    assert "big, an engine outside" in markup
    assert ESCAPED in markup


def test_a_report_of_learning_shows_before_and_after() -> None:
    change = {"mean": 4.0, "low": 1.0, "high": 7.0}
    made = {
        "accepted": True,
        "reason": "better <b>",
        "learned_from": {"asked": 30},
        "evidence": [
            {
                "kind": "judged", "questions": 40, "dense_before": 50.0, "dense_change": change,
                "fused_before": 60.0, "fused_change": change,
            }
        ],
    }  # fmt: skip
    markup = model_cards.report(made, EN)
    assert "judged, by meaning4050.054.0+4.0 [+1.0, +7.0]" in shown(markup)
    assert "better &lt;b&gt;" in markup
    assert EN("models.unlearned") in model_cards.learned((), EN)


def test_health_and_folders_say_what_is() -> None:
    assert EN("care.well") in health([], EN)
    assert "2 problems" in health(["<b>", "c"], EN)
    assert "&lt;b&gt;" in health(["<b>"], EN)
    assert EN("care.empty") in synced("/a", [], EN)


@pytest.mark.parametrize("stops", [False, True])
def test_files_come_in_to_their_end_and_a_stop_leaves_the_others(
    attest: Assistant, *, stops: bool
) -> None:
    names = [f"{n}.txt" for n in range(3)]
    files = [attest.settings.home / name for name in names]
    for file in files:
        file.write_text(f"{file.stem}: a gasket costs {file.stem} euros.\n", encoding="utf-8")
    given = [str(file) for file in files]
    *_, last = take_in(attest, given, names, str, stop=lambda: stops, stopped="late")
    assert all(arrival.ended for arrival in last)
    reasons = {outcome.reason for arrival in last for outcome in arrival.outcomes}
    assert reasons == ({"late"} if stops else {None})
    assert len(attest.documents()) == (1 if stops else 4)
