"""Means with intervals, languages apart, and two runs question by question."""

import itertools
from collections.abc import Mapping
from dataclasses import replace

import pytest

from rag.answer_figures import compare, grouped
from rag.answer_marks import Mark, Outcome
from rag.answer_questions import Question
from rag.errors import UsageError


def outcome(
    number: int,
    values: Mapping[Mark, float],
    *,
    answerable: bool | None = True,
    confidence: float | None = None,
    language: str = "en",
) -> Outcome:
    question = Question(str(number), f"question {number}", (), None, answerable, language)
    return Outcome(question, "said", "extract", False, confidence, (), None, values)


def test_a_mark_is_averaged_over_the_questions_that_have_it() -> None:
    rows = [outcome(n, {"right": n % 2, "seconds": 2.0}) for n in range(40)]
    rows += [outcome(n, {"seconds": 4.0}, answerable=False) for n in range(40, 80)]
    (group,) = grouped(rows)

    right, seconds = group.figures["right"], group.figures["seconds"]
    assert (right.n, right.mean, seconds.n, seconds.mean) == (40, 0.5, 80, 3.0)
    assert 0.3 < right.low < 0.45 < 0.55 < right.high < 0.7
    assert (group.questions, group.answerable, group.unanswerable) == (80, 40, 40)
    assert "f1" not in group.figures
    assert group.auroc is None


def test_languages_stand_apart_and_together() -> None:
    rows = [outcome(1, {"f1": 1.0}), outcome(2, {"f1": 0.0}, language="ko")]
    groups = grouped([*rows, Outcome.failed(replace(rows[0].question, id="3"), "broken")])

    assert [(g.language, g.questions, g.failed) for g in groups] == [
        ("en", 2, 1), ("ko", 1, 0), ("all", 3, 1),
    ]  # fmt: skip
    assert [group.figures["f1"].mean for group in groups] == [1.0, 0.0, 0.5]


def test_the_area_counts_pairs_that_stand_in_the_right_order() -> None:
    scores = {True: [0.9, 0.6, 0.6, 0.2], False: [0.6, 0.3, 0.1]}
    numbers = itertools.count()
    rows = [
        outcome(next(numbers), {}, answerable=held, confidence=score)
        for held, those in scores.items()
        for score in those
    ]
    (group,) = grouped([*rows, outcome(99, {}, answerable=None, confidence=0.5), outcome(98, {})])

    pairs = list(itertools.product(scores[True], scores[False]))
    expected = sum((a > b) + (a == b) / 2 for a, b in pairs) / len(pairs)
    assert group.auroc is not None
    assert group.auroc.n == 7
    assert group.auroc.mean == pytest.approx(expected)
    assert group.auroc.low <= expected <= group.auroc.high


def test_two_runs_are_compared_over_the_questions_of_both() -> None:
    before = [outcome(n, {"right": 0, "f1": 0.1 * (n % 3)}) for n in range(30)]
    after = [outcome(n, {"right": n < 20, "f1": 0.1 * (n % 3)}) for n in range(30)]
    after[29] = Outcome.failed(after[29].question, "broken")
    made = compare(before, after, against="extract")

    (group,) = made.groups
    n, then, now = group.means["right"]
    assert (n, then) == (29, 0)
    assert now == pytest.approx(20 / 29)
    assert group.differences["right"].better
    assert not group.differences["f1"].certain
    assert made.notes == (
        "1 of 30 questions were not answered in both: left out of the comparison",
    )
    assert len(made.better) == 5
    assert all(pair.after.values["right"] == 1 for pair in made.better)
    assert made.worse == ()


def test_f1_breaks_ties_among_the_questions_that_changed() -> None:
    before = [outcome(1, {"right": 1, "f1": 0.5}), outcome(2, {"right": 1, "f1": 0.5})]
    after = [outcome(1, {"right": 1, "f1": 0.4}), outcome(2, {"right": 0, "f1": 0.9})]
    made = compare(before, after, against="auto")
    assert [pair.after.question.id for pair in made.worse] == ["2", "1"]


def test_runs_over_other_questions_cannot_be_compared() -> None:
    other = outcome(1, {"right": 1})
    other = replace(other, question=replace(other.question, question="another"))
    with pytest.raises(UsageError, match=r"old\.jsonl has no answered question in common"):
        compare([other], [outcome(1, {"right": 1})], against="old.jsonl")
