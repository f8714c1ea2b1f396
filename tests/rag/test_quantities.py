"""Kinds of amounts: what is asked for, and what is stated."""

import pytest

from rag.quantities import Quantity, asks_for, states


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("How heavy is the gateway?", {Quantity.weight}),
        ("What does lunch cost?", {Quantity.money}),
        ("How much is paid per kilometre?", {Quantity.money}),
        ("How many days may I stay?", {Quantity.duration}),
        ("How long is the fence?", {Quantity.length, Quantity.duration}),
        ("What percentage of voters agreed?", {Quantity.share}),
        ("How many trees were planted?", {Quantity.number}),
        ("What is the telephone number of the office?", {Quantity.telephone}),
        ("무게가 얼마예요?", {Quantity.weight}),
        ("수수료는 얼마인가요?", {Quantity.money}),
        ("며칠 쓸 수 있어요?", {Quantity.duration}),
        ("수리는 얼마나 걸리나요?", {Quantity.duration}),
        ("직원은 몇 명인가요?", {Quantity.number}),
        ("몇 퍼센트를 깎아 주나요?", {Quantity.share}),
        ("대리점 전화번호가 뭐예요?", {Quantity.telephone}),
        ("Who wrote the report?", set()),
        ("회의실 예약은 어디에 신청하나요?", set()),
    ],
)
def test_a_question_asks_for_a_kind_of_amount(question: str, kinds: set[Quantity]) -> None:
    assert set(asks_for(question)) == kinds


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("It weighs 1.9 kg with its foot.", Quantity.weight),
        ("Up to five unused days may be carried over.", Quantity.duration),
        ("휴가는 사흘입니다.", Quantity.duration),
        ("임대료는 150억 원이다.", Quantity.money),
        ("The fee is EUR 14.50 for each station.", Quantity.money),
        ("price_eur: 29.50 | stock: 3", Quantity.money),
        ("요금: 95,000", Quantity.money),
        ("A fifth, or 20 per cent, stayed.", Quantity.share),
        ("높이는 3.5미터다.", Quantity.length),
        ("내선 301로 알려 주세요.", Quantity.telephone),
        ("We saw twenty-one of them.", Quantity.number),
        ("세 명이 왔다.", Quantity.number),
    ],
)
def test_a_sentence_states_a_kind_of_amount(text: str, kind: Quantity) -> None:
    assert states(text, (kind,))
    others = set(Quantity) - {kind, Quantity.number}
    assert not states(text, tuple(others))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("The gateway works from −30 to +60 °C.", Quantity.weight),
        ("Owners get a discount of 18 per cent.", Quantity.money),
        ("The gauge has a funnel of 400 cm².", Quantity.weight),
        ("A person called.", Quantity.number),
        ("한국과 세계의 날씨", Quantity.number),
        ("", Quantity.number),
    ],
)
def test_another_kind_is_not_enough(text: str, kind: Quantity) -> None:
    assert not states(text, (kind,))


def test_where_no_amount_is_asked_for_none_is_stated() -> None:
    assert not states("It costs 5 euros.", asks_for("Who wrote it?"))
