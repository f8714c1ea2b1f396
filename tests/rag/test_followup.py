"""A follow-up gets what it leaves out; a question that stands by itself is left alone."""

import pytest

from rag.followup import is_followup, standalone
from rag.rewriting import is_faithful


@pytest.mark.parametrize(
    ("before", "question", "whole"),
    [
        ("How many days could be carried over in 2025?", "and in 2022?",
         "How many days could be carried over in 2022?"),
        ("How much is the QX-820?", "And the QX-808?", "How much is the QX-808?"),
        ("How much is the QX-820?", "What about the QX-808-W?", "How much is the QX-808-W?"),
        ("Is the workshop open on Monday?", "and on Saturday?",
         "Is the workshop open on Saturday?"),
        ("What is the noise level at milling cell B?", "What about cell A?",
         "What is the noise level at milling cell A?"),
        ("How long is the warranty for stations?", "and for batteries?",
         "How long is the warranty for batteries?"),
        ("How long is the warranty?", "for gateways?", "How long is the warranty for gateways?"),
        ("What is the battery life of the QX-820?", "How much does it cost?",
         "How much does the QX-820 cost?"),
        ("What is the range of the SD-40?", "And its weight?", "the SD-40's weight?"),
        ("How long does the warranty of the lamp last?", "Does it cover batteries?",
         "Does it cover batteries? (the warranty of the lamp last)"),
        ("Who approved the second oven?", "Why?", "Why? (approved the second oven)"),
        ("2025년 재택근무는 주 며칠이야?", "2022년에는?", "2022년 재택근무는 주 며칠이야?"),
        ("QX-820의 무게는 얼마야?", "그럼 가격은?", "QX-820의 가격은 얼마야?"),
        ("연차는 며칠이야?", "그럼 병가는?", "병가는 며칠이야? (연차)"),
        ("적설계 SD-40의 측정 범위는?", "그건 얼마야?", "그건 얼마야? (적설계 SD-40의 측정 범위)"),
        ("출장비 식비는 하루 얼마인가요?", "언제까지 신청해야 해?",
         "언제까지 신청해야 해? (출장비 식비 하루)"),
        ("How long is annual leave?", "그럼 병가는?", "병가는? (annual leave)"),
    ],
)  # fmt: skip
def test_what_is_left_out_comes_from_the_question_before(
    before: str, question: str, whole: str
) -> None:
    assert is_followup(question)
    assert standalone(question, [before]) == whole


@pytest.mark.parametrize(
    "question",
    [
        "How many hours of flexitime can I be in debt at most?",
        "Is it allowed to park at the Mill?",
        "How long does it take to calibrate a station?",
        "Are there lockers in the workshop?",
        "Who signs the travel claim that comes in late?",
        "And how many days of study leave does an apprentice get in a year?",
        "What is the noise level at milling cell B?",
        "휴가는 며칠 전에 신청하나요?",
        "QX-820의 무게는 얼마야?",
        "교정 성적서를 다시 받으려면 얼마를 내야 하나요?",
        "고객지원실은 하루에 몇 명이 사무실에 있어야 하나요?",
    ],
)
def test_what_stands_by_itself_is_left_as_it_is(question: str) -> None:
    assert not is_followup(question)
    assert standalone(question, ["How much is the QX-606?"]) == question


def test_several_turns_are_followed() -> None:
    earlier = ["How long is the warranty in 2024?", "and in 2022?"]
    assert standalone("and in 2021?", earlier) == "How long is the warranty in 2021?"
    assert standalone("and in 2021?", []) == "and in 2021?"


def test_a_changed_subject_is_what_later_turns_follow() -> None:
    earlier = ["How much is the QX-820?", "Who approves a sabbatical of six months?"]
    assert "QX-820" not in standalone("Why?", earlier)


BEFORE = ["How long does the warranty of the lamp last?"]


@pytest.mark.parametrize(
    ("said", "faithful"),
    [
        ("Does the warranty of the lamp cover batteries?", True),
        ("Does it cover batteries?", False),  # nothing was added
        ("How long does the warranty of the lamp last?", False),  # the question before
        ("Does the warranty of the lamp cover batteries in Norway?", False),  # made up
        ("", False),
    ],
)
def test_a_writers_question_says_nothing_new(said: str, faithful: bool) -> None:
    assert is_faithful(said, "Does it cover batteries?", BEFORE) is faithful
