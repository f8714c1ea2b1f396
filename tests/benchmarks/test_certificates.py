"""Certificates of gold sentences, on a tiny generator and made-up sets."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ir_measures", reason="ir-measures is in the bench extra")

from benchmarks.certificates import Judged, figures, judge, margins
from benchmarks.certificates_data import Gold, rgb
from benchmarks.certificates_prose import Scored, _ridge, prose
from generator import Writer
from generator.blocks import caches_of
from rag.prompts import SYSTEM
from rag.records import Certificate
from tests.generator.builders import generator, loaded, tokenizer


@pytest.fixture(scope="module")
def writer() -> Writer:
    return Writer(loaded(generator(max_tokens=2048), tokenizer()))


def test_a_question_is_judged_at_its_gold_sentence_and_at_the_others(writer: Writer) -> None:
    others = ("It was raining.", "Nobody came to see it.", "They went home.")
    gold = Gold("How old?", "42", "The bell is 42 years old.", others, 2)
    judged = judge(gold, caches_of(writer, SYSTEM), grounded=False)
    assert len(judged.others) == 3
    assert judged.gold.follows is not None
    assert [each.follows for each in judged.others] == [None] * 3
    assert judge(gold, caches_of(writer, SYSTEM), grounded=False) == judged


def test_shares_are_taken_of_what_they_name() -> None:
    right, wrong = (
        Certificate(True, True, True, 2.0, 0.0),
        Certificate(False, False, None, 0.0, 2.0),
    )
    row = figures("toy", [Judged(right, (wrong, right)), Judged(wrong, (wrong, wrong))])
    assert row["gold_necessary_pct"] == 50
    assert row["others_sufficient_pct"] == 25
    assert (row["facts"], row["followed_pct"]) == (1, 100)
    at = margins([Judged(right, (wrong,))])
    assert [line["gold_necessary_pct"] for line in at] == [100] * len(at)
    assert {line["others_sufficient_pct"] for line in at} == {0}


def test_rgb_gives_a_sentence_its_counterfactual_and_noise(tmp_path: Path) -> None:
    row = {
        "query": "Where?",
        "answer": "Tampa",
        "fakeanswer": "Paris",
        "positive": ["Nothing.", "It was in Tampa."],
        "positive_wrong": ["Nothing.", "It was in Paris."],
        "negative": ["Tampa is large.", "One.", "Two.", "Three.", "Four."],
    }
    (tmp_path / "rgb").mkdir()
    line = json.dumps(row)
    (tmp_path / "rgb" / "en_fact.json").write_text(f"{line}\n", encoding="utf-8")
    (gold,) = rgb(tmp_path)
    assert gold.sentence == "It was in Tampa."
    assert gold.counterfactual == ("It was in Paris.", "Paris")
    assert sorted(gold.others) == ["One.", "Three.", "Two."]


def test_the_fit_finds_the_head_that_counts() -> None:
    rng = np.random.default_rng(0)
    scored = []
    for question in range(40):
        masses = rng.normal(size=(3, 8))
        masses -= masses.mean(0)
        drops = masses[:, 5] + 0.05 * rng.normal(size=3)
        nothing = np.zeros(3)
        scored.append(Scored(question, drops, masses, nothing, nothing, nothing))
    agreed = [
        one.argmax() == each.drops.argmax()
        for one, each in zip(_ridge(scored), scored, strict=True)
    ]
    assert np.mean(agreed) > 0.9


def test_prose_is_scored_in_every_way(writer: Writer, tmp_path: Path) -> None:
    questions = [f"q{i}" for i in range(10)]
    texts = ("The old bell hangs in the hall.", "A keeper rings it every Sunday morning.")
    answer = "The bell in the hall is rung on Sunday mornings."
    numbered = [(f"{q}#{i}", f"{text} {q}") for q in questions for i, text in enumerate(texts)]
    _write(tmp_path / "corpus.jsonl", [{"_id": i, "text": text} for i, text in numbered])
    _write(tmp_path / "queries.jsonl", [{"_id": q, "text": f"What of {q}?"} for q in questions])
    _write(tmp_path / "answers.jsonl", [{"_id": q, "answers": [answer]} for q in questions])
    relevant = "".join(f"{q}\t{q}#{i}\t1\n" for q in questions for i in (0, 1))
    (tmp_path / "qrels.tsv").write_text(f"a\tb\tc\n{relevant}", encoding="utf-8")
    table = prose(caches_of(writer, SYSTEM), tmp_path, 10, None)
    assert table.rows[0]["name"] == "ridge on heads"
    assert table.rows[-1]["all_pct"] == 50
    assert table.notes[0].startswith("10 sentences with 2.0 passages")


def _write(file: Path, rows: Sequence[Mapping[str, object]]) -> None:
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
