from concurrent.futures import ThreadPoolExecutor

import pytest

from rag.loaders.errors import BrokenFile, EmptyFile
from rag.loaders.pdf import read_pdf
from rag.records import Section
from tests.rag.loaders.pdf_files import (
    NO_CHARACTER,
    Entry,
    Placed,
    locked_pdf,
    open_but_restricted_pdf,
    pdf,
)


def test_each_page_knows_its_place_in_the_text() -> None:
    document = read_pdf(pdf([["First page."], ["둘째 쪽입니다."]]), "file")

    assert document.media_type == "application/pdf"
    assert [page.number for page in document.pages] == [1, 2]
    assert [document.text[page.start : page.end] for page in document.pages] == [
        "First page.",
        "둘째 쪽입니다.",
    ]


def test_a_glyph_without_a_character_leaves_a_space_and_a_warning() -> None:
    line = f"점검표 K{NO_CHARACTER}21 {NO_CHARACTER}북측"

    document = read_pdf(pdf([[line]]), "file")

    assert "K 21" in document.text
    assert document.warnings == ("2 unreadable characters",)
    assert all(c.isprintable() or c == "\n" for c in document.text)


def test_a_page_without_text_is_named() -> None:
    document = read_pdf(pdf([["one"], [], [], ["four"], []]), "file")

    assert document.warnings == ("no text on page 2-3, 5: scanned or blank",)
    assert [document.text[p.start : p.end] for p in document.pages] == ["one", "", "", "four", ""]


def test_no_text_at_all_looks_scanned() -> None:
    with pytest.raises(EmptyFile, match=r"no text layer: it looks scanned \(2 pages\)"):
        read_pdf(pdf([[], []]), "file")


def test_a_locked_file_asks_for_a_password() -> None:
    with pytest.raises(BrokenFile, match=r"password.*암호"):
        read_pdf(locked_pdf(), "file")


def test_a_cut_off_file_is_damaged() -> None:
    with pytest.raises(BrokenFile, match="damaged"):
        read_pdf(pdf([["text"]])[:220], "file")


@pytest.mark.parametrize(
    ("data", "kind"), [(b"\x89PNG\r\n\x1a\n", "a PNG picture"), (b"plain words", "something else")]
)
def test_what_is_no_pdf_is_said_to_be_none(data: bytes, kind: str) -> None:
    with pytest.raises(BrokenFile, match=f"not a PDF but {kind}"):
        read_pdf(data, "file")


WRAPPED = [
    "The station reports its values every ten minutes to the server in the basement of the build-",
    "ing. When the battery falls below twenty per cent, the interval is doubled and somebody",
    "is told by mail. Nothing else changes until somebody has charged it.",
    "The next paragraph follows.",
]


def test_wrapped_lines_become_paragraphs_and_cut_words_whole() -> None:
    document = read_pdf(pdf([WRAPPED]), "file")

    first, second = document.text.split("\n")
    assert "the building. When the battery" in first
    assert "doubled and somebody is told" in first
    assert second == "The next paragraph follows."


def test_rows_of_a_table_and_page_numbers_stay_lines() -> None:
    rows = ["Zone Price", "North EUR 38", "South EUR 62", "East EUR 44"]

    document = read_pdf(pdf([[*WRAPPED[:3], *rows, "Page 1"]]), "file")

    assert document.text.split("\n")[1:] == [*rows, "Page 1"]


def test_type_size_makes_headings_where_there_is_no_outline() -> None:
    page = ["Handbook", *WRAPPED, *WRAPPED]

    document = read_pdf(pdf([page], large=["Handbook"]), "file")

    assert document.sections == (Section(0, ("Handbook",)),)
    assert document.title == "Handbook"


def test_large_type_throughout_makes_no_headings() -> None:
    lines = ["One", "Two", "Three"]

    assert read_pdf(pdf([lines], large=lines[:2]), "file").sections == ()


def test_the_outline_makes_headings() -> None:
    pages = [["1 Before", "Pack."], ["2 After", "Unpack."]]

    document = read_pdf(pdf(pages, outline=[Entry("Before", 0), Entry("After", 1)]), "file")

    assert [(s.heading, document.text[s.start : s.start + 3]) for s in document.sections] == [
        (("1 Before",), "1 B"),
        (("2 After",), "2 A"),
    ]


@pytest.mark.parametrize(
    ("given", "title"),
    [
        ("점검 안내서", "점검 안내서"),
        ("untitled", "file"),
        ("Microsoft Word - draft.doc", "file"),
        ("report_final.pdf", "file"),
        ("", "file"),
    ],
)
def test_a_title_counts_if_a_person_gave_it(given: str, title: str) -> None:
    assert read_pdf(pdf([["text"]], title=given), "file").title == title


def test_several_threads_read_at_once() -> None:
    files = [pdf([[f"text {n}"] * 5]) for n in range(24)]

    with ThreadPoolExecutor(8) as threads:
        texts = [document.text for document in threads.map(lambda data: read_pdf(data, "f"), files)]

    assert [text.split("\n")[0] for text in texts] == [f"text {n}" for n in range(24)]


def test_a_password_for_the_owner_alone_locks_nobody_out() -> None:
    assert read_pdf(open_but_restricted_pdf("open words"), "file").text == "open words"


def test_a_broken_page_does_not_lose_the_others() -> None:
    data = pdf([["one"], ["two"], ["three"]]).replace(b"9 0 obj\n<<", b"9 0 obj\n((")

    document = read_pdf(data, "file")

    assert [document.text[p.start : p.end] for p in document.pages] == ["one", "", "three"]
    assert document.warnings == ("page 2 could not be read",)


LEFT = [
    "The first column begins with",
    "words that go on below them",
    "and then go on once more so",
    "until the column has its end.",
]
RIGHT = [
    "Second column starts up here",
    "with other words of its own",
    "that nobody should mix into",
    "the lines of the first one.",
]


def _beside(left: list[str], right: list[str], gap: int = 460) -> list[str | Placed]:
    return [
        placed
        for row, (one, two) in enumerate(zip(left, right, strict=True))
        for placed in (Placed(one, 40, 700 - 16 * row), Placed(two, gap, 700 - 16 * row))
    ]


def test_columns_drawn_line_by_line_are_read_one_after_the_other() -> None:
    text = read_pdf(pdf([["Title", *_beside(LEFT, RIGHT)]]), "file").text.replace("\n", " ")

    assert text == " ".join(("Title", *LEFT, *RIGHT))


def test_columns_drawn_one_after_the_other_stay_as_they_are() -> None:
    rows = _beside(LEFT, RIGHT)

    text = read_pdf(pdf([["Title", *rows[::2], *rows[1::2]]]), "file").text.replace("\n", " ")

    assert text == " ".join(("Title", *LEFT, *RIGHT))


def test_rows_of_a_drawn_table_stay_rows() -> None:
    names, prices = ["Zone", "North", "South", "East", "West"], ["Fee", "EUR 3", "EUR 6", "-", "0"]

    text = read_pdf(pdf([_beside(names, prices)]), "file").text

    assert text.split("\n")[:2] == ["Zone Fee", "North EUR 3"]
