import time

import pytest

from rag.loaders.markdown import read_markdown

FENCES = """# 설치

준비물

```bash
# 첫 단계
make wash
```

~~~
## not a heading
~~~

    # indented code

## 문의 ##

전화
"""


def _headings(source: str) -> list[tuple[str, ...]]:
    return [section.heading for section in read_markdown(source.encode(), "stem").sections]


def test_the_text_is_kept_as_written() -> None:
    document = read_markdown(FENCES.replace("\n", "\r\n").encode(), "stem")

    assert document.text == FENCES
    assert document.media_type == "text/markdown"


def test_comments_in_code_are_no_headings() -> None:
    assert _headings(FENCES) == [("설치",), ("설치", "문의")]


def test_a_section_starts_at_its_heading() -> None:
    document = read_markdown(FENCES.encode(), "stem")

    assert [FENCES[s.start :].split("\n")[0] for s in document.sections] == ["# 설치", "## 문의 ##"]


def test_paths_follow_the_levels() -> None:
    source = "# A\n### deep\n## B\n# C\nSetext\n------\n"

    assert _headings(source) == [("A",), ("A", "deep"), ("A", "B"), ("C",), ("C", "Setext")]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("# The **bold** `code` and [a link](https://example.org)", "The bold code and a link"),
        ("# A &amp; B \\* C", "A & B * C"),
        ("# ![picture](x.png) Name", "picture Name"),
        ("# <b>tags</b>", "tags"),
    ],
)
def test_a_heading_is_named_without_marks(line: str, name: str) -> None:
    assert _headings(line) == [(name,)]


def test_headings_in_quotations_and_lists_do_not_divide() -> None:
    assert _headings("> # quoted\n\n- # listed\n\n# real\n\n#\n") == [("real",)]


def test_the_title_is_the_first_top_heading_else_the_stem() -> None:
    assert read_markdown(b"## Sub\n\n# Top\n\n# Second\n", "stem").title == "Top"
    assert read_markdown(b"## Sub only\n", "stem").title == "stem"


def test_front_matter_names_the_document_and_is_no_heading() -> None:
    source = '---\nTitle: "배 시간표"\ntags: a\n---\n# 첫 제목\n'

    document = read_markdown(source.encode(), "stem")

    assert document.title == "배 시간표"
    assert document.text == source
    assert [s.heading for s in document.sections] == [("첫 제목",)]
    assert source[document.sections[0].start :] == "# 첫 제목\n"


def test_front_matter_may_be_toml() -> None:
    document = read_markdown(b'+++\ntitle = "Ferry times"\n# no heading\n+++\n# First\n', "stem")

    assert document.title == "Ferry times"
    assert [s.heading for s in document.sections] == [("First",)]


def test_tables_are_rows_under_the_names_of_their_columns() -> None:
    source = (
        "# A\n\n| Area | Fee |\n|:-----|----:|\n| Isle \\| x | **7300** |\n| Town |\n\n## B\ntext\n"
    )

    document = read_markdown(source.encode(), "stem")

    assert document.text == ("# A\n\nArea: Isle | x | Fee: **7300**\nArea: Town\n\n## B\ntext\n")
    assert [document.text[s.start :].split("\n")[0] for s in document.sections] == ["# A", "## B"]


def test_a_table_in_code_or_without_a_body_stays() -> None:
    assert read_markdown(b"```\n| a | b |\n|---|---|\n| 1 | 2 |\n```\n", "s").text.count("|") == 9
    assert read_markdown(b"| a | b |\n|---|---|\n", "s").text == "a | b\n"


def test_the_bytes_of_pictures_are_left_out() -> None:
    source = f"![m](data:image/png;base64,{'iVBORw0KGgo' * 9}) and text"

    assert read_markdown(source.encode(), "s").text == "![m](data:image/png) and text"


def test_markup_that_would_run_in_a_browser_is_text() -> None:
    source = "망치는 500원\n\n<script>x()</script>\n\n[a](javascript:x()) <img src=x onerror=y>\n"

    assert read_markdown(source.encode(), "s").text == source


@pytest.mark.parametrize(
    "source", ["> " * 5000 + "deep", "- " * 5000 + "deep", "[" * 20000 + "deep"]
)
def test_deep_nesting_is_no_crash(source: str) -> None:
    assert read_markdown(source.encode(), "s").text == source


def test_a_rule_at_the_top_is_no_front_matter() -> None:
    assert _headings("---\n\n# A\n\ntext\n") == [("A",)]


def test_a_long_document_takes_seconds() -> None:
    source = "## Part\n\nSome *words* with [links](x) and `code`.\n\n" * 5_000
    began = time.perf_counter()

    assert len(_headings(source)) == 5_000
    assert time.perf_counter() - began < 8
