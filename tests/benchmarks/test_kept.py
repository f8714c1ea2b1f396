"""What kept passages save and cost, on a tiny generator and a made-up paper."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks import kept, rounds
from benchmarks.kept import Asked, first_token, quality, questions, ranking
from generator import Writer
from tests.generator.builders import generator, loaded, tokenizer

pytest.importorskip("ir_measures", reason="ir-measures is in the bench extra")

SENTENCE = "The answer of paper one is forty two."


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "_PAUSE_S", 0.0)


@pytest.fixture(scope="module")
def writer() -> Writer:
    return Writer(loaded(generator(max_tokens=2048), tokenizer()))


def test_new_and_kept_take_turns_and_an_absent_peer_says_why(
    writer: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "_PASSAGE", 30)
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    table = first_token(writer, tmp_path, rounds=1, threads=1)
    names = [row["name"] for row in table.rows]
    assert names == ["hot", "cold", "llama.cpp"]
    assert table.rows[1]["target"] == 4.0
    assert "hot_times_as_fast" in table.rows[1]
    assert "hot_times_as_fast" not in table.rows[0]
    assert str(table.rows[2]["missing"]).startswith("not installed")
    assert table.notes[0].startswith("kept: 4 entries")  # three passages and what comes before


def test_ranking_is_measured_at_both_depths(writer: Writer) -> None:
    names = [row["name"] for row in ranking(writer, rounds=1, threads=1).rows]
    assert len(names) == 8
    assert names[:2] == ["top 8, 120 tokens each: hot", "top 8, 120 tokens each: cold"]


def _paper(folder: Path) -> Path:
    filler = [f"Sentence {i} says little." for i in range(300)]
    text = " ".join([*filler[:120], SENTENCE, *filler[120:]])
    asked = [
        {"question": "What is it?", "answers": [{"text": "forty two", "answer_start": 0}]},
        {"question": "Where?", "answers": [{"text": "nowhere in the text", "answer_start": 0}]},
    ]
    data = {"data": [{"paragraphs": [{"context": text, "qas": asked}]}]}
    (folder / "papers.json").write_text(json.dumps(data), encoding="utf-8")
    return folder


def test_a_question_comes_with_its_sentence_and_two_other_passages(tmp_path: Path) -> None:
    (asked,) = questions(_paper(tmp_path), 10)
    assert (asked.question, asked.quote, asked.answer) == ("What is it?", SENTENCE, "forty two")
    assert sum(SENTENCE in passage for passage in asked.passages) == 1
    assert len(set(asked.passages)) == 3


def test_quality_compares_the_same_tokens(writer: Writer) -> None:
    alone = Asked("Why?", ("hello",), "hello there", "hello")
    three = Asked("Why?", ("hello", "the hall", "a bell"), "the bell in the hall", "a bell")
    # One passage sees in either way all that stands before it.
    same = quality(writer, [alone, alone]).rows
    assert [row["difference"] for row in same] == pytest.approx([0, 0], abs=1e-4)
    quote, answer = quality(writer, [three, alone]).rows
    assert (quote["name"], answer["name"], quote["questions"]) == ("quote", "answer", 2)
    assert quote["full"] != quote["kept"]
    assert float(str(quote["full"])) < 0


def test_a_long_answer_is_not_counted_among_the_short(writer: Writer) -> None:
    long = Asked("Why?", ("hello",), "hello", "one two three four five six seven eight nine")
    short = Asked("Why?", ("hello",), "hello", "hello")
    assert [row["questions"] for row in quality(writer, [long, short, short]).rows] == [3, 2]
