import pytest

from rag.every_kinds import asked, kinds


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It begins on 1 March 2024.", {"date", "number"}),
        ("It ends on 2024-03-01.", {"date", "number"}),
        ("Notice is 60 days.", {"duration", "number"}),
        ("Notice is three months.", {"duration", "number"}),
        ("The fee is EUR 4,200 a month.", {"money", "duration", "number"}),
        ("Interest of 8 % is charged.", {"percent", "number"}),
        ("2024년 3월 1일에 시작된다.", {"date", "number"}),
        ("해지는 30일 전에 통지한다.", {"duration", "number"}),
        ("3개월 전에 알린다.", {"duration", "number"}),
        ("총 1억 2천만 원이다.", {"money", "number"}),
        ("연 8%의 이자", {"percent", "number"}),
        ("English law applies.", set()),
        ("Room 12", {"number"}),
    ],
)
def test_kinds_of_a_sentence(text: str, found: set[str]) -> None:
    assert kinds(text) == found


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("What is the notice period?", {"duration"}),
        ("Within how many days must invoices be paid?", {"duration"}),
        ("When does it begin?", {"date"}),
        ("How much is the rent?", {"money"}),
        ("How many people signed?", {"number"}),
        ("Which law governs?", set()),
        ("며칠 전에 알려야 하나요?", {"duration"}),
        ("언제 시작되나요?", {"date"}),
        ("계약 금액은 얼마인가요?", {"money"}),
        ("어느 법원이 관할하나요?", set()),
    ],
)
def test_kinds_that_a_question_asks_for(question: str, wanted: set[str]) -> None:
    assert asked(question) == wanted
