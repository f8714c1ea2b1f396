"""A library learns what can be learned, keeps its base where nothing can, and forgets at once."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from rag import Assistant, Settings
from rag.adapting import adapt, learn, rollback, undisturbed
from rag.adapting_run import LEAST_CHUNKS, Practice, Wish
from rag.errors import AttestError, UsageError
from rag.outcome import Adaptation
from rag.practice import Question
from tests.rag.planted import EACH, Planted, fill, misled_encoder, planted, praise, shuffled


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return misled_encoder(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def material() -> Planted:
    return planted(Random(0))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, folder: Path, material: Planted) -> Path:
    """A home that has read the planted documents and was asked about all of them."""
    home = tmp_path_factory.mktemp("filled") / "home"
    with Assistant.open(_settings(home, folder)) as attest:
        ids = fill(attest, material.texts)
        praise(attest, material.questions, ids)
    return home


@pytest.fixture
def attest(tmp_path: Path, filled: Path, folder: Path) -> Iterator[Assistant]:
    shutil.copytree(filled, tmp_path / "home")
    with Assistant.open(_settings(tmp_path / "home", folder)) as opened:
        yield opened


def _settings(home: Path, encoder: Path) -> Settings:
    return Settings(home=home, encoder=str(encoder), generator=str(home / "none"), threads=1)


def _adapt(attest: Assistant, wish: Wish | None = None) -> Adaptation:
    return adapt(attest, wish or Wish("log"), watch=lambda _what, _share: None)


def _asked(attest: Assistant, text: str) -> NDArray[np.float32]:
    (vector,) = attest.encoders.asking("default").embed_queries([text])
    return np.asarray(vector)


@pytest.fixture(scope="module")
def learned(
    tmp_path_factory: pytest.TempPathFactory, filled: Path, folder: Path
) -> tuple[Path, Adaptation]:
    """A home that has learned from its log, and what came of it."""
    home = tmp_path_factory.mktemp("learned") / "home"
    shutil.copytree(filled, home)
    with Assistant.open(_settings(home, folder)) as attest:
        before = attest.status()
        made = _adapt(attest)
        after = attest.status()
    assert after.fingerprint == before.fingerprint
    assert (after.vectors, after.pending) == (before.vectors, 0)
    return home, made


def test_a_library_learns_what_it_was_told(
    learned: tuple[Path, Adaptation], folder: Path, material: Planted
) -> None:
    home, made = learned
    assert made.accepted, made.reason
    judged = made.evidence[0]
    assert judged.kind == "judged"
    assert judged.dense.low > 0
    assert made.learned["asked"] > 100
    assert made.better
    with Assistant.open(_settings(home, folder)) as attest:
        active = attest.catalog.active_adapter("default")
        assert active is not None
        assert active.fingerprint == made.adapter
        assert active.report["accepted"] is True
        asking = attest.encoders.asking("default")
        assert asking.fingerprint == attest.encoders.of("default").fingerprint
        assert asking.model is attest.encoders.of("default").model


def test_what_was_learned_serves_others_at_once_and_is_taken_back_at_once(
    learned: tuple[Path, Adaptation], folder: Path, material: Planted, tmp_path: Path
) -> None:
    shutil.copytree(learned[0], tmp_path / "home")
    settings = _settings(tmp_path / "home", folder)
    question = material.questions[3]
    with Assistant.open(settings) as attest, Assistant.open(settings) as other:
        base = attest.encoders.of("default").embed_queries([question])[0]
        active = attest.catalog.active_adapter("default")
        assert active is not None
        first = _asked(other, question)
        assert not np.allclose(first, base)
        assert rollback(other) == learned[1].adapter
        assert (_asked(attest, question) == base).all()
        assert rollback(other) is None
        attest.catalog.use_adapter("default", active.id)
        assert (_asked(other, question) == first).all()


def test_shuffled_words_are_refused(tmp_path: Path, folder: Path, material: Planted) -> None:
    noise = shuffled(material.texts, Random(1))
    with Assistant.open(_settings(tmp_path / "home", folder)) as attest:
        fill(attest, noise)
        made = _adapt(attest, Wish("pseudo"))
        assert not made.accepted
        assert "does not read like text" in made.reason
        assert attest.catalog.collection("default").adapter_id is None


def test_a_wrong_teacher_is_not_believed(attest: Assistant, material: Planted) -> None:
    """People who praise anything teach nothing: those that were held out say so."""
    attest.catalog.forget("default")
    ids = [row.id for row in attest.documents()]
    Random(5).shuffle(ids)
    praise(attest, material.questions, ids)
    made = _adapt(attest)
    assert not made.accepted
    assert "confidence" in made.reason
    assert attest.catalog.active_adapter("default") is None


def test_a_small_library_is_refused_with_numbers(tmp_path: Path, folder: Path) -> None:
    with Assistant.open(_settings(tmp_path / "home", folder)) as attest:
        fill(attest, planted(Random(0)).texts[:30])
        with pytest.raises(UsageError, match=f"30 passages: too small to adapt, {LEAST_CHUNKS}"):
            _adapt(attest)


def test_too_few_questions_are_refused(attest: Assistant) -> None:
    attest.catalog.forget("default")
    with pytest.raises(UsageError, match="0 questions to learn from are too few, 20"):
        _adapt(attest, Wish("log"))


def test_too_few_questions_to_judge_by_are_known_before_anything_is_learned(
    tmp_path: Path, folder: Path, material: Planted
) -> None:
    books = [f"{' '.join(material.texts)} Volume {number}." for number in range(2)]
    done: list[str] = []
    with Assistant.open(_settings(tmp_path / "home", folder)) as attest:
        fill(attest, books)
        for text in material.questions[:40]:
            attest.catalog.remember("default", text)
        with pytest.raises(
            UsageError, match=r"\d+ questions to judge by are too few, 30 are needed"
        ):
            adapt(attest, Wish("log"), watch=lambda what, _share: done.append(what))
    assert set(done) == {"gathering questions"}


def test_numbers_that_break_leave_the_base(attest: Assistant, material: Planted) -> None:
    practice = Practice(attest, "default", Wish("log"), lambda _what, _share: None)
    rows = np.full_like(practice.shelf.vectors.rows, np.nan)
    practice.shelf.vectors = replace(practice.shelf.vectors, rows=rows)
    asked = [Question(text, "asked") for text in material.questions[:30]]
    with (
        pytest.raises(AttestError, match="'default' answers as before: step 1: the loss is nan"),
        undisturbed("default"),
    ):
        learn(practice, asked)
    assert attest.catalog.active_adapter("default") is None


def test_a_stop_leaves_the_base(attest: Assistant) -> None:
    def stop(what: str, _share: float) -> None:
        if what.startswith("learning"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        adapt(attest, Wish("log"), watch=stop)
    assert attest.catalog.active_adapter("default") is None


def test_a_damaged_adapter_lets_the_base_answer(
    attest: Assistant, material: Planted, caplog: pytest.LogCaptureFixture
) -> None:
    base = attest.encoders.of("default")
    key = attest.catalog.add_adapter(
        "default",
        fingerprint="f" * 16,
        base=base.fingerprint,
        kind="query",
        data=b"no adapter",
        report={},
    )
    attest.catalog.use_adapter("default", key)
    question = material.questions[0]
    assert (_asked(attest, question) == base.embed_queries([question])[0]).all()
    assert "is left out" in caplog.text


def test_judged_questions_of_a_folder_are_learned_from(
    attest: Assistant, material: Planted, tmp_path: Path
) -> None:
    attest.catalog.forget("default")
    beir = tmp_path / "beir"
    beir.mkdir()
    files = {
        "corpus.jsonl": [{"_id": str(i), "text": text} for i, text in enumerate(material.texts)],
        "queries.jsonl": [
            {"_id": f"q{i}", "text": text} for i, text in enumerate(material.questions)
        ],
    }
    for name, rows in files.items():
        lines = "\n".join(json.dumps(row) for row in rows)
        (beir / name).write_text(lines, encoding="utf-8")
    qrels = "\n".join(f"q{i}\t{i // EACH}\t1" for i in range(len(material.questions)))
    (beir / "qrels.tsv").write_text(qrels, encoding="utf-8")
    made = _adapt(attest, Wish("log", queries=beir))
    assert made.accepted, made.reason
    assert set(made.learned) == {"given"}
    assert made.evidence[0].kind == "judged"


def test_the_fusion_weight_is_turned_where_people_say_so(attest: Assistant) -> None:
    attest.catalog.set_fusion_weight("default", 1.0)  # words, which find everything, count nothing
    made = _adapt(attest)
    assert made.weight is not None
    assert made.weight.change.low > 0
    assert attest.catalog.collection("default").fusion_weight == made.weight.after < 1


def test_only_one_process_adapts_a_library(attest: Assistant, folder: Path) -> None:
    settings = _settings(attest.settings.home, folder)

    def another(what: str, _share: float) -> None:
        if what.startswith("learning"):
            with (
                Assistant.open(settings) as other,
                pytest.raises(UsageError, match="another process is adapting 'default'"),
            ):
                _adapt(other)

    assert adapt(attest, Wish("log"), watch=another).accepted


def test_a_verdict_on_what_is_there_no_more_is_not_carried_out(attest: Assistant) -> None:
    def turned(what: str, _share: float) -> None:
        if what == "judging":
            attest.set_fusion_weight(0.3)

    with pytest.raises(AttestError, match="was changed meanwhile"):
        adapt(attest, Wish("log"), watch=turned)
    stored = attest.catalog.collection("default")
    assert (stored.adapter_id, stored.fusion_weight) == (None, 0.3)


def test_weights_that_were_set_with_it_are_taken_back_with_it(attest: Assistant) -> None:
    attest.catalog.set_fusion_weight("default", 1.0)
    made = _adapt(attest)
    assert made.accepted
    assert attest.catalog.collection("default").fusion_weight < 1
    rollback(attest)
    assert attest.catalog.collection("default").fusion_weight == 1


def test_a_weight_that_a_person_set_since_stays(attest: Assistant) -> None:
    attest.catalog.set_fusion_weight("default", 1.0)
    _adapt(attest)
    attest.set_fusion_weight(0.25)
    rollback(attest)
    assert attest.catalog.collection("default").fusion_weight == 0.25


def test_a_vote_that_cannot_be_tried_is_said(attest: Assistant) -> None:
    made = _adapt(attest, Wish("log", rerank=True))
    assert made.vote is None
    assert "the generator's vote was not tried" in made.notes[0]
    with pytest.raises(UsageError, match="leave out --two-sided"):
        Wish(two_sided=True, rerank=True)


def test_the_generator_judges_what_it_speaks_and_has_time_for(
    tmp_path: Path, filled: Path, folder: Path
) -> None:
    settings = _settings(filled, folder).model_copy(update={"generator": "smollm2"})
    asked = tuple(
        Question(text, "asked") for text in ["며칠인가요?", *map(str, range(300)), "How long?"]
    )
    heard = {}
    with Assistant.open(settings) as attest:
        for minutes in (0.5, 10.0):
            wish = Wish("log", minutes=minutes)
            practice = Practice(attest, "default", wish, lambda _what, _share: None)
            heard[minutes] = practice.heard(asked)
    assert [len(each) for each in heard.values()] == [30, 200]
    assert heard[0.5] == list(range(1, 31))  # not the Korean one


def test_minutes_that_cannot_be_are_refused() -> None:
    with pytest.raises(UsageError, match=r"minutes \(0\) must be over 0"):
        Wish(minutes=0)
