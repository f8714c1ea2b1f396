"""The Models tab run to its results, with no browser: learn, calibrate, measure and fetch.

What a browser would be shown is what the listeners give; the libraries are tiny.
"""

import asyncio
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import gradio as gr
import pytest
from markupsafe import Markup

from rag import Assistant, Settings
from tests.builders import spelling_encoder
from tests.rag.planted import EACH, fill, misled_encoder, planted, praise
from tests.rag.test_declining import _write
from tests.ui.test_render import shown
from ui import calibration
from ui.locale import texts
from ui.models import ModelsTab
from ui.running import _named

EN, KO = texts("en"), texts("ko")
AT = "default"


def opened(home: Path, encoder: Path) -> Assistant:
    settings = Settings(
        home=home,
        encoder=str(encoder),
        generator=str(home / "none"),
        threads=1,
        models_dir=home / "models",
    )
    return Assistant.open(settings)


def tab_of(attest: Assistant) -> ModelsTab:
    async def making() -> ModelsTab:  # where no loop runs, Gradio makes some and leaves them open
        with gr.Blocks(analytics_enabled=False):
            return ModelsTab(attest, gr.Radio(["en", "ko"]), gr.Textbox())

    return asyncio.run(making())


def said(updates: Iterable[dict[Any, Any]], place: gr.HTML) -> list[str]:
    """What a place showed, one after another."""
    return [shown(str(update[place])) for update in updates if place in update]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return misled_encoder(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def learner(tmp_path_factory: pytest.TempPathFactory, encoder: Path) -> Iterator[Assistant]:
    """A library that was asked about all of its documents."""
    with opened(tmp_path_factory.mktemp("learner") / "home", encoder) as attest:
        material = planted(Random(0))
        praise(attest, material.questions, fill(attest, material.texts))
        yield attest


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    file = tmp_path / "upload.jsonl"
    rows = [
        {"question": text, "document": f"{place // EACH}.txt", "answers": []}
        for place, text in enumerate(planted(Random(0)).questions[: 12 * EACH])
    ]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return file


def test_learning_tells_its_loss_and_report_and_is_taken_back(learner: Assistant) -> None:
    tab = tab_of(learner)
    updates = list(tab.adapt(3, AT, "en"))
    lines = said(updates, tab._learned)
    assert any("Learning… loss " in line for line in lines), lines
    assert lines[-1].startswith("Learned, and in use.")
    assert "by meaning" in lines[-1]
    assert updates[-1][tab._back]["visible"] is True
    assert lines[-1] == shown(str(tab.refresh(AT, "en")[tab._learned]))
    back = tab.rollback(AT, "ko")
    assert KO("models.rolled_back") in shown(str(back[tab._learned]))
    assert learner.catalog.active_adapter(AT) is None


def test_what_is_stopped_changes_nothing(learner: Assistant) -> None:
    tab = tab_of(learner)
    running = tab.adapt(3, AT, "ko")
    going = next(running)[tab._learning._going]
    assert tab._learning._end(going)["interactive"] is False
    lines = said(running, tab._learned)
    assert lines[-1] == KO("models.stopped")
    assert learner.catalog.active_adapter(AT) is None


def test_questions_of_ones_own_are_put_to_the_library_and_their_figures_kept(
    learner: Assistant, questions: Path
) -> None:
    tab = tab_of(learner)._evaluations
    before = learner.history()
    *_, last = tab.measure(str(questions), ["<b>mine.jsonl"], "retrieval", AT, "en")
    table = shown(str(last[tab._list]))
    assert "misled · by both · documents" in table
    assert "mine.jsonl36" in table
    assert "<b>" not in str(last[tab._list])
    assert learner.history() == before
    assert not questions.exists()
    (kept,) = learner.catalog.evaluations(AT)
    assert "question" not in json.dumps(kept.figures)
    questions.write_text("{}", encoding="utf-8")
    lines = said(tab.measure(str(questions), ["q.jsonl"], "answers", AT, "en"), tab._news)
    assert "line 1" in lines[-1]


def test_a_calibration_shows_its_curve_now_and_later(tmp_path: Path) -> None:
    with opened(tmp_path / "home", spelling_encoder(tmp_path / "encoder")) as attest:
        attest.add(_write(tmp_path / "many", 32))
        tab = tab_of(attest)
        assert EN("models.uncalibrated") in tab.refresh(AT, "en")[tab._fitted]
        lines = said(tab.calibrate(AT, "ko"), tab._fitted)
        assert any("스스로 만든 질문" in line for line in lines)
        markup = str(tab.refresh(AT, "ko")[tab._fitted])
        assert lines[-1] == shown(markup)
        (fit,) = calibration.kept(attest)
        assert f"{fit.fitted['chosen']['wrong_pct']:g} %" in lines[-1]
        assert 'class="r-dot"' in markup


def test_a_curve_stays_within_its_frame() -> None:
    curve = [{"answered_pct": 2.0, "wrong_pct": 0.0}, {"answered_pct": 100.0, "wrong_pct": 33.3}]
    for at in curve:
        markup = calibration.picture(curve, at, EN)
        assert isinstance(markup, Markup)
        assert "NaN" not in markup
        assert 'cy="-' not in markup
    assert re.findall(r"text-anchor=\"end\">(\d+) %<", markup) == ["0", "10", "20", "30", "40"]


def test_a_model_that_cannot_be_fetched_is_told_in_a_line(
    learner: Assistant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name, value in (
        ("PIP_INDEX_URL", "http://127.0.0.1:9/simple"),
        ("PIP_RETRIES", "0"),
        ("PIP_NO_CACHE_DIR", "1"),
        ("PIP_CONFIG_FILE", "/dev/null"),
    ):
        monkeypatch.setenv(name, value)
    tab = tab_of(learner)
    lines = said(tab.pull(AT, "en", gr.EventData(None, {"value": "minilm"})), tab._pulled)
    assert "minilm" in lines[-1]
    assert "Traceback" not in lines[-1]
    assert "attest models pull minilm --from PATH" in lines[-1]
    assert len(lines[-1]) < 800
    assert not list(tab.pull(AT, "en", gr.EventData(None, {"value": "../../etc"})))


def test_steps_are_told_in_the_readers_language() -> None:
    assert _named("learning, loss 0.125", KO) == "학습하는 중… 손실 0.125"
    assert _named("asking, auto, smollm2", EN) == "Asking…"
    assert _named("1.5 MB", EN) == "1.5 MB"
    assert _named("", EN) == EN("models.begins")
