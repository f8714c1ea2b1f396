import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.sentences import sentences, soft_breaks


def _split(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


ENGLISH = [
    ["The lamp broke.", "It was old!", "Was it?", "Yes."],
    ["Dr. Kim met Mr. Lee.", "They talked."],
    ["See Fig. 3 and No. 5 of Vol. 2.", "Then stop."],
    ["Is the answer no?", "The answer is no.", "We stop."],
    ["It costs 3.50 euros in version 1.2.3.", "It is at example.com/a.b.", "Open read.me or a.py!"],
    ["He came at 9 a.m.", "Then he left."],
    ["The U.S. Army came.", "It was in the U.S.", "The end."],
    ["J. R. Smith et al. wrote it, e.g. in 2019 (cf. Jones).", "We read it."],
    ["Figure 2. The lamp.", "Brown v. Board was c. 1954."],
    ["Acme Inc. builds lamps at Acme Co.", "The lamps are good."],
    ['"Stop!" he said.', '"No."', "She left (slowly).", "(It rained.)", "He stayed."],
    ["It is true.[1]", "So is this. [2]", "And this."],
    ["Well... maybe so.", "No…", "Good."],
    ["in lower case . this is one too .", "Mixed case here."],
    ["**Bold.**", "*Italic.*", "`Code.`", "End."],
]


@pytest.mark.parametrize("parts", ENGLISH, ids=lambda parts: parts[0])
def test_english(parts: list[str]) -> None:
    assert _split(" ".join(parts)) == parts


def test_text_without_capitals_still_ends_its_sentences() -> None:
    assert _split("a wing in a slipstream . a study of it .") == [
        "a wing in a slipstream .",
        "a study of it .",
    ]


KOREAN = [
    ["배터리가 3.5V 아래로 내려갑니다.", "그 밖에는 없어요.", "정말요?", "네!"],
    ['"갈까요?" 하고 물었다.', '"네."라고 답했다.', "‘좋다.’", "그는 갔다."],
    ["2024. 3. 15. 시행한다.", "2024.3.15. 고친다.", "끝."],
    ["값은 예컨대 35.2다.", "file.txt를 연다.", "https://a.kr/b.c를 본다."],
    ["그림 II-11. 물가의 흐름이다.", "끝."],
    ["다음 문장…", "그리고 끝。", "마지막이다(참고).", "정말 끝."],
    ["미국 U.S. 기준이다.[3]", "다음이다. [12]", "끝."],
]


@pytest.mark.parametrize("parts", KOREAN, ids=lambda parts: parts[0])
def test_korean(parts: list[str]) -> None:
    assert _split(" ".join(parts)) == parts


def test_korean_without_a_space_after_the_stop() -> None:
    assert _split("비가 왔다.그래서 쉬었다!다시 갈까요?네.한국.kr은 주소다。끝") == [
        "비가 왔다.",
        "그래서 쉬었다!",
        "다시 갈까요?",
        "네.한국.kr은 주소다。",
        "끝",
    ]


def test_lines_that_mean_something_are_sentences_of_their_own() -> None:
    lines = [
        "# A heading",
        "Body text under it.",
        "name: lamp | price: 3",
        "name: desk | price: 4",
        "- an item",
        "- another. With two sentences",
        "1. first",
        "가. 목적",
        "제1조 목적",
        "이름: 담당자",
    ]

    assert _split("\n".join(lines)) == [
        *lines[:5],
        "- another.",
        "With two sentences",
        *lines[6:],
    ]


def test_numbers_of_a_list_stay_with_their_items() -> None:
    assert _split("1. 목적을 정한다. 2. 범위를 정한다.") == [
        "1. 목적을 정한다.",
        "2. 범위를 정한다.",
    ]


def test_leaders_of_a_table_of_contents_end_nothing() -> None:
    assert _split("Introduction ........ 5\nMethod ...... 7") == [
        "Introduction ........ 5",
        "Method ...... 7",
    ]


WRAPPED = (
    "The full week has 37.5 hours. Office and support staff work flexible hours between 07:00 and\n"
    "19:00, and are expected to be reachable in core time. A break of thirty minutes, or more of\n"
    "it, must be taken.\n"
    "\n"
    "The workshop works in shifts."
)


def test_a_paragraph_wrapped_by_hand_is_read_across_its_lines() -> None:
    assert _split(WRAPPED) == [
        "The full week has 37.5 hours.",
        "Office and support staff work flexible hours between 07:00 and\n19:00, and are expected "
        "to be reachable in core time.",
        "A break of thirty minutes, or more of\nit, must be taken.",
        "The workshop works in shifts.",
    ]


def test_korean_wrapped_by_hand() -> None:
    text = (
        "야간과 휴일에 관측망 경보와 고객의 긴급 전화를 놓치지 않기 위한 규칙이며 본사 당직에\n"
        "넘길 일은 9항에 적었다. 끝.\n"
    )

    assert len(_split(text)) == 2


@pytest.mark.parametrize(
    ("lines", "soft"),
    [
        (["short", "lines"], [False]),
        (["word " * 12 + "end", "goes on"], [True]),
        (["word " * 12 + "end:", "goes on"], [False]),
        (["word " * 12 + "end", "- an item"], [False]),
        (["word " * 12 + "end.", "2. an item"], [False]),
        (["word " * 12 + "takes", "2.5 W at most"], [True]),
        (["word " * 12 + "EUR 38", "North and so on"], [False]),
        (["word " * 40, "goes on"], [False]),
        (["a heading of three", "word " * 14, "goes on"], [False, True]),
        (["one"], []),
        ([], []),
    ],
)
def test_which_line_ends_only_wrap(lines: list[str], soft: list[bool]) -> None:
    assert soft_breaks(lines) == soft


@pytest.mark.parametrize("text", ["", " \n\t ", "\u3000"])
def test_blank_text_has_no_sentences(text: str) -> None:
    assert sentences(text) == []


PIECES = [
    "a",
    "B",
    "가",
    "다",
    ". ",
    ".",
    "? ",
    "!\n",
    "\n",
    "\n\n",
    " ",
    "…",
    '"',
    ")",
    "1",
    "3.5 ",
    "Dr. ",
    "e.g. ",
    "- ",
    "# ",
    " | ",
    "[1]",
    "。",
    "라고 ",
    "word " * 9,
]


@settings(deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_spans_are_trimmed_in_order_and_cover_everything(text: str) -> None:
    spans = sentences(text)

    assert all(text[start:end] == text[start:end].strip() != "" for start, end in spans)
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    covered = {index for start, end in spans for index in range(start, end)}
    assert all(c.isspace() or index in covered for index, c in enumerate(text))


@pytest.mark.parametrize(
    "unit",
    ["가", ".", "a. ", "다. ", " ", "\n", "x\n", "- ", '"', "(", "1.", "= ", "word ", "다.\n"],
)
def test_a_megabyte_takes_linear_time(unit: str) -> None:
    text = unit * (250_000 // len(unit))
    began = time.perf_counter()
    sentences(text)

    assert time.perf_counter() - began < 2
