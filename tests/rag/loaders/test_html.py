import time
from collections.abc import Callable

import pytest

from rag.loaders.errors import EmptyFile
from rag.loaders.html import read_html, read_xhtml

PAGE = """<!doctype html><html><head><meta charset="utf-8"><title>빵집 시간 </title>
<style>.zq9{color:red}</style><script>var secret = 9481</script></head>
<body><h1>빵집 시간</h1><p>화요일은 <b>오전</b> 8시에 엽니다.</p>
<!-- remark-5521 --><template><p>ghost-77</p></template><noscript>ghost-78</noscript>
<svg><style>.svgcls{}</style><text>지도</text></svg>
<p hidden>ghost-79</p><p style="color:red; display : none">ghost-80</p><dialog>ghost-81</dialog>
<p>팥빵&nbsp;&amp;&nbsp;우유 &lt;세트&gt; 3500원 &#54620;</p></body></html>"""


def _text(body: str) -> str:
    return read_html(body.encode(), "stem").text


def test_only_what_is_seen_is_read() -> None:
    document = read_html(PAGE.encode(), "stem")

    assert document.text == (
        "빵집 시간\n\n화요일은 오전 8시에 엽니다.\n\n팥빵 & 우유 <세트> 3500원 한"
    )
    assert document.title == "빵집 시간"
    assert document.media_type == "text/html"
    assert [(s.start, s.heading) for s in document.sections] == [(0, ("빵집 시간",))]


def test_headings_become_sections_at_their_line() -> None:
    document = read_html(b"<h1>A</h1><p>x</p><h2>B <i>b</i></h2>y<h4></h4><h1>C</h1>", "stem")

    places = [(s.heading, document.text[s.start :].split("\n")[0]) for s in document.sections]
    assert places == [(("A",), "A"), (("A", "B b"), "B b"), (("C",), "C")]


def test_the_title_stands_in_the_text_where_no_top_heading_does() -> None:
    document = read_html(b"<title>Opening hours</title><p>From 8.</p>", "stem")

    assert document.text == "Opening hours\n\nFrom 8."
    assert document.sections[0].heading == ("Opening hours",)


def test_the_title_falls_back_on_the_heading_then_on_the_stem() -> None:
    assert read_html(b"<h1>Hours</h1>", "stem").title == "Hours"
    assert read_html(b"<p>text</p>", "stem").title == "stem"


def test_a_page_without_visible_text_is_blank() -> None:
    assert read_html(b"<title>App</title><div id=root></div><script>x</script>", "stem").text == ""


def test_blocks_stand_on_their_own_lines_and_inline_text_does_not() -> None:
    body = "<div>one<span>two</span>\n three<br>four</div><div>five</div><p>six</p>seven"

    assert _text(body) == "onetwo three\nfour\nfive\n\nsix\n\nseven"


def test_lists_keep_their_marks_and_numbers() -> None:
    body = "<ul><li><p>a</p><p>b</p></li><li>c<ol start=3><li>d</li><li>e</li></ol></li></ul>f"

    assert _text(body) == "- a\nb\n- c\n3. d\n4. e\n\nf"


def test_preformatted_text_keeps_its_lines() -> None:
    assert _text("<pre>\n def f():\n   return <b>1</b>\n</pre>") == " def f():\n   return 1"


TABLES: dict[str, tuple[str, str]] = {
    "header row": (
        "<table><tr><th>Area<th>Fee</tr><tr><td>Isle<td>7300</tr><tr><td>Town<td></tr></table>",
        "Area: Isle | Fee: 7300\nArea: Town",
    ),
    "header in a head, two rows of it": (
        "<table><thead><tr><td rowspan=2>Area<td colspan=2>2024</tr><tr><td>In<td>Out</tr></thead>"
        "<tbody><tr><td rowspan=2>N<td>1<td>2</tr><tr><td>3<td>4</tr></tbody></table>",
        "Area: N | 2024 In: 1 | 2024 Out: 2\nArea: N | 2024 In: 3 | 2024 Out: 4",
    ),
    "rows with labels": (
        "<table><tr><th>Street<td>Mill 4</tr><tr><th>Phone:<td>204</tr></table>",
        "Street: Mill 4\nPhone: 204",
    ),
    "labels over several rows": (
        "<table><tr><th rowspan=2>Phone<td colspan=2>204</tr><tr><th>Fax<td>205</tr></table>",
        "Phone: 204\nPhone: Fax: 205",
    ),
    "no header": (
        "<table><tr><td>이름<td>담당자</tr><tr><td>나이<td>모름</tr></table>",
        "이름 | 담당자\n나이 | 모름",
    ),
    "a header that only values show": (
        "<table><tr><td>지역<td>요금</tr><tr><td>섬<td>7300원</tr></table>",
        "지역: 섬 | 요금: 7300원",
    ),
    "a value over two columns counts once": (
        "<table><tr><th>A<th>B<th>C</tr><tr><td colspan=2>x<td>y</tr></table>",
        "A: x | C: y",
    ),
    "caption, and a list in a cell": (
        "<table><caption>Fees</caption><tr><th>A<th>B</tr>"
        "<tr><td><ul><li>x<li>y</ul><td>z</tr></table>",
        "Fees\nA: x y | B: z",
    ),
    "a table that only arranges the page": (
        "<table><tr><td><h2>Left</h2>text<td>right</tr></table>",
        "Left\n\ntext\nright",
    ),
    "a table inside a table": (
        "<table><tr><td>menu<td><table><tr><th>A<th>B</tr><tr><td>1<td>2</tr></table></tr></table>",
        "menu\n\nA: 1 | B: 2",
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables(name: str) -> None:
    table, text = TABLES[name]

    assert _text(table) == text


def test_the_page_says_its_encoding() -> None:
    page = '<meta http-equiv="Content-Type" content="text/html; charset=koi8-r"><p>Привет</p>'

    document = read_html(page.encode("koi8_r"), "stem")

    assert document.text == "Привет"
    assert document.warnings == ("read as koi8-r",)


def test_composed_across_elements() -> None:
    assert _text("<p>e<b>\u0301</b> \u1112<i>\u1161\u11ab</i></p>") == "é 한"


@pytest.mark.parametrize(
    "nested", [lambda n: "<div>" * n + "deep", lambda n: "<ul><li>" * n + "deep"]
)
def test_deep_nesting_is_no_recursion(nested: Callable[[int], str]) -> None:
    assert _text(nested(5000)).endswith("deep")


@pytest.mark.parametrize("inner", ["<div>", "<span>", "<table><tr><td>", "<b>"])
def test_endless_nesting_is_read_without_tags(inner: str) -> None:
    began = time.perf_counter()

    document = read_html(
        (inner * 100_000 + "deep &amp; far<script>ghost</script>").encode(), "stem"
    )

    assert document.text.split() == ["deep", "&", "far"]
    assert "nested too deep" in document.warnings[0]
    assert time.perf_counter() - began < 5


def test_endless_scripts_hide_the_rest_in_no_time() -> None:
    began = time.perf_counter()

    document = read_html(b"<div>" * 20_000 + b"seen" + b"<script>ghost" * 100_000, "stem")

    assert document.text == "seen"
    assert time.perf_counter() - began < 5


def test_many_elements_that_close_themselves_are_no_nesting() -> None:
    document = read_html(("<ul>" + "<li>item<br>" * 12_000 + "</ul><h2>End</h2>").encode(), "stem")

    assert document.warnings == ()
    assert document.sections[0].heading == ("End",)


def test_empty_elements_of_xhtml_swallow_nothing() -> None:
    page = (
        '<?xml version="1.0" encoding="euc-kr"?><html><head><title/><script src="a.js"/></head>'
        '<body><a id="x"/><p>나비는<br/>난다</p></body></html>'
    )

    assert read_xhtml(page.encode("euc-kr"), "stem").text == "나비는\n난다"


def test_a_page_of_frames_names_what_it_frames() -> None:
    frames = '<frameset cols="1,2"><frame src="menu.html"><frame src="a.html">{}</frameset>'

    with pytest.raises(
        EmptyFile, match=r"only frames other files: add those \(menu.html, a.html\)"
    ):
        read_html(frames.format("").encode(), "stem")
    fallback = frames.format("<noframes><p>Go to the map.</p></noframes>")
    assert read_html(fallback.encode(), "stem").text == "Go to the map."
