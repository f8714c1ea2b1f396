"""One fact for another: as long as the old one, of its kind, and the same every time."""

import pytest

from rag.swaps import Swap, find_swap


@pytest.mark.parametrize(
    ("claim", "source", "changed"),
    [
        ("It costs 3,500 won.", "Since 2019 it costs 3,500 won.", "It costs 6,500 won."),
        ("It was in 2019.", "It was in 2019, they say.", "It was in 2012."),
        ("The shop opens at 09:30.", "The shop opens at 09:30.", "The shop opens at 03:30."),
        ("It shuts at 12:30.", "It shuts at 12:30.", "It shuts at 11:30."),
        ("On 31 May.", "It began on 31 May.", "On 22 May."),
        ("It weighs 3.5 kg.", "It weighs 3.5 kg.", "It weighs 6.5 kg."),
        ("There are three bells.", "There are three old bells.", "There are six bells."),
        ("It is due in March.", "The report is due in March.", "It is due in July."),
        ("It is due on Friday.", "It is due on Friday.", "It is due on Monday."),
        ("연차는 15일이다.", "연차는 15일이다.", "연차는 28일이다."),
        ("직원 세 명이 왔다.", "어제 직원 세 명이 왔다.", "직원 여섯 명이 왔다."),
        ("금요일에 쉰다.", "회사는 금요일에 쉰다.", "월요일에 쉰다."),
        ("2024년에 지었다.", "2024년에 지었다.", "2017년에 지었다."),
    ],
)
def test_a_number_that_both_hold_is_changed_in_both(claim: str, source: str, changed: str) -> None:
    swap = find_swap(claim, source)
    assert swap is not None
    assert swap(claim) == changed
    assert swap.old not in swap(source)
    assert len(swap(source)) >= len(source) - 8
    assert find_swap(claim, source) == swap


def test_what_the_question_says_is_not_changed() -> None:
    claim = source = "Pump 42 moves 70 litres."
    swap = find_swap(claim, source, question="How much does pump 42 move?")
    assert swap is not None
    assert swap.old == "70"
    assert find_swap("Pump 42 moves.", source, question="Does pump 42 move?") is None


def test_a_name_gives_way_to_another_of_its_kind() -> None:
    source = "The game was played in Tampa under lights."
    others = "Ask Mr Smith. They met in Paris, and then in New York. NASA was there."
    swap = find_swap("It was in Tampa.", source, others=others)
    assert swap == Swap("Tampa", "Paris")
    assert swap("It was in Tampa.") == "It was in Paris."
    assert find_swap("It was in Tampa.", source, others="Ask Mr Smith of NASA.") is None
    assert find_swap("It was in Tampa.", source, others="They met in Tampa.") is None


def test_without_a_fact_in_both_there_is_nothing_to_change() -> None:
    assert find_swap("It is red.", "The bell is red.", others="They met in Paris.") is None
    assert find_swap("It weighs 5 kg.", "It weighs 15 kg.") is None  # part of a number is none
    assert find_swap("A May bug", "It may be.") is None


def test_only_whole_facts_change() -> None:
    assert Swap("15", "28")("15일, 150, 2.15, 15.") == "28일, 150, 2.15, 28."
    assert Swap("Ann", "Eve")("Ann met Anna (Ann).") == "Eve met Anna (Eve)."
    assert Swap("세", "여섯")("세상에 세 명") == "세상에 여섯 명"
