import html
import re

import pytest

from tests.ui.records import ESCAPED, HOSTILE, document
from ui import render
from ui.locale import texts
from ui.markdown import marks_of

EN, KO = texts("en"), texts("ko")


def shown(markup: str) -> str:
    """What a reader sees: the text without its tags."""
    return html.unescape(re.sub(r"<[^>]*>", "", markup))


def quoted(markup: str) -> list[str]:
    return [html.unescape(found) for found in re.findall(r"<mark>(.*?)</mark>", markup, re.S)]


def test_marked_escapes_what_is_inside_and_outside_of_the_marks() -> None:
    text = f"{HOSTILE}|{HOSTILE}|{HOSTILE}"
    n = len(HOSTILE)
    assert (
        render.marked(text, [(n + 1, 2 * n + 1)]) == f"{ESCAPED}|<mark>{ESCAPED}</mark>|{ESCAPED}"
    )


def test_marked_marks_each_span_and_nothing_else() -> None:
    markup = render.marked("one two three", [(0, 3), (8, 13)])
    assert markup == "<mark>one</mark> two <mark>three</mark>"
    assert render.marked("", []) == ""


def test_blank_lines_become_gaps() -> None:
    assert render.marked("a\n\n \nb\nc", []) == 'a<i class="a-gap"></i>b\nc'


def test_a_passage_shows_the_quote_exactly_in_its_surroundings() -> None:
    before, after = "left " * 300, " right" * 300
    text = f"{before}The pump moves 42 litres.{after}"
    markup = render.passage(text, len(before), len(text) - len(after))
    assert quoted(markup) == ["The pump moves 42 litres."]
    assert re.fullmatch(r"… (left )+The pump moves 42 litres\.( right)+ …", shown(markup))
    assert 900 < len(shown(markup)) < 1100


def test_a_short_document_is_shown_whole() -> None:
    text = "First. Second. Third."
    assert shown(render.passage(text, 7, 14)) == text


def test_a_passage_may_begin_and_end_the_document() -> None:
    assert quoted(render.passage("All of it.", 0, 10)) == ["All of it."]
    long = "x" * 5000
    assert quoted(render.passage(long, 2000, 2100)) == ["x" * 100]


def test_a_wrapped_quote_reads_on_and_a_list_keeps_its_lines() -> None:
    wrapped = (
        "The first line of this paragraph is as wide as the page that it was set on and\n"
        "goes on here, because somebody wrapped it. The pump moves 42 litres a minute at\n"
        "most, as far as anybody has measured it until now, and never any more than it."
    )
    text = f"{wrapped}\n\n- one\n- two\n"
    start = text.index("The pump")
    end = text.index("most,") + 5
    assert quoted(render.passage(text, start, end)) == [
        "The pump moves 42 litres a minute at most,"
    ]
    assert "- one\n- two" in shown(render.passage(text, start, end))


@pytest.mark.parametrize("text", ["", "\n", "one", "a\nb\n\n\nc", " \n \n", "ends\n", "\nbegins"])
def test_flowing_moves_no_character(text: str) -> None:
    flowed = render.flowed(text)
    assert len(flowed) == len(text)
    assert flowed.split() == text.split()


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("annual leave", "Leave is annual; the leaves fall.", ["Leave", "annual", "leaves"]),
        ("the pump's flow", "The flow of the pump", ["flow", "pump"]),
        ("QX-808", "the QX-808 and the QX-820", ["QX-808", "QX-820"]),
        ("연차 며칠", "연차는 15일이다. 병가도 있다.", ["연차는"]),
        ("the", "the and the", []),
        ("nothing", "here", []),
    ],
)
def test_words_match_in_any_form(query: str, text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in render.matching(query, text)] == expected


def test_a_place_names_file_page_and_headings_below_the_title() -> None:
    markup = render.place(document(), 3, ("Pump manual", "2 Flow", "2.1 Limits"), EN)
    assert shown(markup) == "pump.pdf · page 3 · 2 Flow › 2.1 Limits"
    assert shown(render.place(document(), None, (), EN)) == "pump.pdf"


def test_a_hostile_path_stays_inside_its_attribute() -> None:
    markup = render.place(document(path='/a/"><img src=x onerror=1>.txt'), None, (), EN)
    assert "<img" not in markup
    assert shown(markup) == '"><img src=x onerror=1>.txt'


def test_a_sentence_of_the_library_is_english_on_every_page() -> None:
    assert render.told("it <is> locked", KO) == '<span lang="en">it &lt;is&gt; locked</span>'
    assert render.told("it is locked", EN) == "<span>it is locked</span>"
    assert "lang" not in render.told(KO("error.unexpected"), KO)
    assert '<span lang="en">why</span>' in render.failure("why", KO)


def test_a_passage_of_markdown_is_shown_without_its_marks() -> None:
    text = f"# Pump\n\n{'**left** ' * 300}The **pump** moves `42` litres.{' *right*' * 300}"
    start = text.index("The **pump")
    end = text.index(" *right*")
    markup = render.passage(text, start, end, marks_of(text, "text/markdown"))
    assert quoted(markup) == ["The pump moves 42 litres."]
    assert "*" not in shown(markup)
    assert text[start:end] in shown(render.passage(text, start, end))


def test_every_box_escapes_its_words() -> None:
    for markup in (
        render.notice(HOSTILE, HOSTILE),
        render.failure(HOSTILE, EN),
        render.waiting(HOSTILE),
        render.headline(HOSTILE, HOSTILE),
    ):
        assert "<script" not in markup
        assert HOSTILE in shown(markup)


@pytest.mark.parametrize(
    ("n", "expected"),
    [(0, "0 B"), (999, "999 B"), (31_323, "31.3 kB"), (2_500_000, "2.5 MB"), (4e9, "4.0 GB")],
)
def test_sizes(n: int, expected: str) -> None:
    assert render.size(int(n)) == expected


def test_a_day_is_machine_readable_too() -> None:
    markup = render.day("2025-11-29T12:00:00+00:00")
    assert 'datetime="2025-11-29T12:00:00+00:00"' in markup
    assert re.fullmatch(r"2025-11-(29|30)", shown(markup))
