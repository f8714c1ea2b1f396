"""A library that learns what it does not hold."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from index.errors import UnknownCollection
from index.records import WordFrequencies
from rag import Assistant, Settings
from rag.calibrated import Calibrated, Point, risk_curve
from rag.cli.calibrating import text
from rag.confidence import Calibration
from rag.declining import (
    LEAST,
    THUMBS,
    auroc,
    by_thumbs,
    calibrate,
    calibrate_both,
    enough,
    excluding,
    kept,
)
from rag.errors import UsageError
from tests.rag.conftest import Ran
from tests.rag.test_grounded import writer
from tests.rag.test_judging import Says


def _write(folder: Path, documents: int) -> Path:
    """Documents about things of their own, of invented words that no other document has."""
    rng = Random(0)
    folder.mkdir()
    for number in range(documents):
        words = ["".join(rng.choices("bdfgklmnprstaeiou", k=6)) for _ in range(6)]
        costs = f"The {words[0]} {words[1]} costs {number + 11} crowns in {words[2].title()}"
        text = f"{costs} with {words[3]} {words[4]} {words[5]}."
        (folder / f"{number}.txt").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory, encoder_folder: Path) -> Iterator[Assistant]:
    folder = tmp_path_factory.mktemp("declining")
    settings = Settings(home=folder / "home", encoder=str(encoder_folder), threads=1)
    with Assistant.open(settings.model_copy(update={"generator": "none-here"})) as attest:
        attest.add(_write(folder / "many", 32))
        yield attest


@pytest.fixture(scope="module")
def made(stocked: Assistant) -> Calibrated:
    """Without a generator there is one fit."""
    (only,) = calibrate_both(stocked)
    return only


def test_most_of_what_was_left_out_is_declined_and_the_rest_is_told(made: Calibrated) -> None:
    assert made.generator == ""
    assert made.left_out >= LEAST
    assert made.left_out_declined_pct == pytest.approx(90, abs=4)
    assert made.auroc > 0.9  # words of one document stand in no other
    assert made.held_answered_pct > 50
    assert made.swapped > 0
    assert (made.thumbs, made.moved_by_thumbs) == (0, False)


def test_a_generator_has_a_calibration_of_its_own(stocked: Assistant, made: Calibrated) -> None:
    sure = calibrate(stocked, generator="writer", declines=lambda _question, _evidence: 0.01)
    assert sure.calibration.threshold > made.calibration.threshold
    embedder = stocked.encoders.asking("default")
    assert kept(stocked, "default", embedder, None, "writer") == sure.calibration
    assert kept(stocked, "default", embedder, None) == made.calibration
    assert kept(stocked, "default", embedder, None, "another generator") is None
    assert kept(stocked, "elsewhere", embedder, None) is None
    assert kept(stocked, "default", None, None) is None


def test_beside_a_judge_no_generator_is_asked(
    stocked: Assistant, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, passes = writer(), list[int]()
    one.model.register_forward_hook(lambda *_: passes.append(1))
    monkeypatch.setattr(stocked.models, "writer", lambda: one)
    monkeypatch.setattr(stocked.models, "judge", lambda _name: Says("crowns"))
    (only,) = calibrate_both(stocked)
    assert only.generator == ""
    assert passes == []


def test_a_generator_that_speaks_none_of_the_questions_is_no_evidence(stocked: Assistant) -> None:
    with pytest.raises(UsageError, match="0 questions, 5 and 30 are needed"):
        calibrate(stocked, generator="mute", declines=lambda _question, _evidence: None)


def test_the_command_finds_the_same_again(
    stocked: Assistant,
    made: Calibrated,
    run: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ATTEST_GENERATOR", "none-here")
    ran = run("calibrate", "--json", "--home", stocked.settings.home)
    assert ran.code == 0
    record = json.loads(ran.out)
    fit = record["fits"][0]
    assert record["documents"] == 32
    assert fit["generator"] is None
    assert fit["left_out"] == made.left_out
    assert Calibration(fit["threshold"], fit["scale"]) == made.calibration


def test_people_are_told_in_words(made: Calibrated) -> None:
    told = text([made])
    assert "calibrated default by evidence alone" in told
    assert f"{made.left_out_declined_pct:g} % declined" in told
    assert "0 questions with thumbs are too few" in told


def test_a_small_library_is_told_what_it_lacks(library: Assistant) -> None:
    with pytest.raises(UsageError, match=r"3 documents gave \d+ questions, 5 and 30 are needed"):
        calibrate(library)


def test_a_collection_that_is_not_there(attest: Assistant) -> None:
    with pytest.raises(UnknownCollection):
        calibrate(attest)


def test_the_command_says_why_it_cannot(library: Assistant, run: Callable[..., Ran]) -> None:
    ran = run("calibrate")
    assert ran.code == 2
    assert "is too small to calibrate" in ran.err
    assert "attest add" in ran.err


def test_many_thumbs_of_both_kinds_are_enough() -> None:
    assert enough([(1.0, True)] * 40 + [(0.0, False)] * 10)
    assert not enough([(1.0, True)] * 40 + [(0.0, False)] * 9)
    assert not enough([(1.0, True)] * (THUMBS + 50))


def test_thumbs_move_the_threshold_to_where_people_part() -> None:
    thumbs = [(3 + i / 50, True) for i in range(100)] + [(2 - i / 50, False) for i in range(100)]
    moved = by_thumbs(Calibration(-1.0), thumbs)
    assert 1.5 < moved.threshold < 3.5
    assert moved.scale > 1
    few = by_thumbs(Calibration(-1.0), [*thumbs[:3], *thumbs[100:103]])
    assert abs(few.threshold + 1) < abs(moved.threshold + 1)


def test_thumbs_that_tell_nothing_leave_an_order() -> None:
    against = [(float(i), i < 25) for i in range(50)]  # the more evidence, the less liked
    assert by_thumbs(Calibration(25.0), against).scale >= 0.1


def test_auroc_counts_ties_half() -> None:
    assert auroc([2, 3], [0, 1]) == 1
    assert auroc([0, 1], [0, 1]) == 0.5


def test_words_of_what_is_left_out_are_not_counted() -> None:
    words = WordFrequencies(10, {"pump": 3, "crane": 1})
    assert excluding(words, [{"pump", "crane"}, {"pump"}]) == WordFrequencies(
        8, {"pump": 1, "crane": 0}
    )


def test_the_curve_counts_what_would_be_wrong_at_each_share_of_answers() -> None:
    curve, chosen = risk_curve([3.0, 2.0, 2.0, -1.0], [2.0, 0.0], threshold=1.0)
    thirds = Point(1 / 6, 0.0), Point(4 / 6, 1 / 4), Point(5 / 6, 2 / 5), Point(1.0, 2 / 6)
    assert [tuple(point) for point in curve] == [pytest.approx(tuple(each)) for each in thirds]
    assert tuple(chosen) == pytest.approx((4 / 6, 1 / 4))
    none = risk_curve([1.0], [0.0], threshold=9.0)[1]
    assert none == Point(0.0, 0.0)
    many, _ = risk_curve([float(i) for i in range(500)], [0.5], threshold=0.0)
    assert len(many) <= 61
    assert many[-1].answered == 1.0


def test_the_figures_are_kept_with_the_fit_and_hold_no_question(
    stocked: Assistant, made: Calibrated
) -> None:
    newest = next(fit for fit in stocked.catalog.calibrations("default") if not fit.generator)
    assert newest.fitted == json.loads(json.dumps(made.figures()))
    assert newest.fitted["chosen"]["answered_pct"] > 0
    assert set(newest.fitted["curve"][0]) == {"answered_pct", "wrong_pct"}
    assert stocked.catalog.collection("default").name == "default"
