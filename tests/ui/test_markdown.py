import time
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ui.markdown import MEDIA_TYPE, marks_of, shown


def seen(text: str) -> str:
    return shown(text, 0, len(text), marks_of(text, MEDIA_TYPE))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Pump #\n\nFlow", "Pump\n\nFlow"),
        ("The **pump** moves *42* __litres__.", "The pump moves 42 litres."),
        ("***both*** and **a *b* c** and **a *b***", "both and a b c and a b"),
        ("**회의실**은 *강조*이고 ~~취소~~", "회의실은 강조이고 취소"),
        ("**two\nlines**", "two\nlines"),
        ("**not\n\nclosed**", "**not\n\nclosed**"),
        ("2*3*4, 5 * 3, a ** b, 네~~ 그래요~~", "2*3*4, 5 * 3, a ** b, 네~~ 그래요~~"),
        ("snake_case_name and file_이름_목록", "snake_case_name and file_이름_목록"),
        ("`a*b*c` and ``a`b``", "a*b*c and a`b"),
        ("an `open tick", "an `open tick"),
        (r"\*literal\* \# too", "*literal* # too"),
        ("See [the *sheet*](https://a.b/c_(d)).", "See the sheet."),
        ("![A pump](pump.png) [x] [a][b]", "A pump [x] [a][b]"),
        ("- one\n* two\n  + three\n1. four", "• one\n• two\n  • three\n1. four"),
        ("> quoted **x**\n> more", "quoted x\nmore"),
        ("a\n\n---\n\nb", "a\n\n\nb"),
        ("Title\n=====\ntext", "Title\ntext"),
        ("```py\n# a **comment**\n```\nafter **it**", "# a **comment**\nafter it"),
        ("~~~\n```\n# x\n~~~\n# y", "```\n# x\ny"),
        ("| a | b |\n| --- | :-: |\n| 1 | 2 |", " a · b \n 1 · 2 "),
        ("<img src=x onerror=1> <b>", "<img src=x onerror=1> <b>"),
    ],
)
def test_a_reader_sees_words_without_marks(text: str, expected: str) -> None:
    assert seen(text) == expected


def test_other_formats_are_shown_as_they_are() -> None:
    assert marks_of("# **a**", "text/plain") == ()


def test_a_slice_shows_what_lies_in_it() -> None:
    text = "A **bold word** and `code`."
    marks = marks_of(text, MEDIA_TYPE)
    start, end = text.index("word"), text.index(" and")
    assert shown(text, start, end, marks) == "word"
    assert shown(text, start - 5, end - 1, marks) == "bold word"
    assert shown(text, 3, 4, marks) == ""


@given(st.text(alphabet="ab가 *_`~#>|-+[]()!\\\n", max_size=60))
@example("*_a*_ **")
@example("[a](b)[](c)![")
def test_marks_are_in_order_and_every_cut_shows_the_whole(text: str) -> None:
    marks = marks_of(text, MEDIA_TYPE)
    assert all(0 <= mark.start < mark.end <= len(text) for mark in marks)
    assert all(one.end <= other.start for one, other in pairwise(marks))
    cut = len(text) // 2
    parts = shown(text, 0, cut, marks) + shown(text, cut, len(text), marks)
    assert parts == seen(text)


@pytest.mark.parametrize("unit", ["*a* _b ", "`a", "[a](", "![](", "**a ", "| - ", "> # "])
def test_marks_that_never_close_cost_no_time(unit: str) -> None:
    began = time.perf_counter()
    marks_of(unit * 10_000, MEDIA_TYPE)
    assert time.perf_counter() - began < 5
