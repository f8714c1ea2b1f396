"""Documents with a fact swapped: each question sees its own, through the whole product."""

import json
from pathlib import Path

import pytest

from benchmarks.rgb import Case, Told, asked, measure, read
from rag import Settings
from tests.builders import spelling_encoder

NOISE = "The lamp in the hall is small."
ROW = {
    "query": "When does the red ferry leave the harbour?",
    "answer": ["nine o'clock", ["9:00", "9 am"]],
    "fakeanswer": "seven o'clock",
    "positive": ["The red ferry leaves the harbour at nine o'clock."],
    "positive_wrong": ["The red ferry leaves the harbour at seven o'clock."],
    "negative": [NOISE],
}


@pytest.fixture
def cases(tmp_path: Path) -> list[Case]:
    other = {
        "query": "Where is the blue bridge?",
        "answer": "in Busan",
        "fakeanswer": "in Daegu",
        "positive": ["The blue bridge is in Busan."],
        "positive_wrong": ["The blue bridge is in Daegu."],
        "negative": [NOISE],  # as for the first: no copy of it
    }
    file = tmp_path / "en_fact.json"
    file.write_text("".join(json.dumps(row) + "\n" for row in (ROW, other)), encoding="utf-8")
    return read(file)


def test_an_answer_may_be_written_in_several_ways(cases: list[Case]) -> None:
    assert cases[0].right == ("nine o'clock", "9:00", "9 am")
    assert cases[1].right == ("in Busan",)


def test_each_question_is_answered_from_its_own_documents(
    cases: list[Case], tmp_path: Path
) -> None:
    encoder = spelling_encoder(tmp_path / "encoder")
    settings = Settings(home=tmp_path / "unused", encoder=str(encoder), threads=1)
    told = list(asked(cases, ["extract"], settings))

    assert [one.kind for one in told] == ["right", "swapped", "noise"] * 2
    for right, swapped, noise in (told[:3], told[3:]):
        assert (right.holds_right, right.holds_swapped, right.follows) == (True, False, True)
        assert (swapped.holds_right, swapped.holds_swapped, swapped.follows) == (False, True, True)
        assert (noise.holds_right, noise.holds_swapped) == (False, False)
        assert noise.follows == noise.declined
        assert set(noise.quotes) <= {NOISE}
    assert not (tmp_path / "unused").exists()


def test_shares_are_by_mode_and_kind() -> None:
    told = [
        Told("q", "noise", "extract", "", declined, False, False, (), 0.5)
        for declined in (True, True, False, True)
    ]
    (row,) = measure(told).rows
    assert (row["name"], row["questions"], row["p50_s"]) == ("extract, noise", 4, 0.5)
    follows, low, high = (row[f"follows{each}_pct"] for each in ("", "_low", "_high"))
    assert isinstance(follows, float)
    assert isinstance(low, float)
    assert isinstance(high, float)
    assert low < follows == 75 < high
    assert row["declined_pct"] == 75
