import re
import time
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.records import Chunk
from rag.chunking import chunk, encoded_text
from rag.loaders.errors import LoadError
from rag.loaders.markdown import read_markdown
from rag.loaders.table import read_csv
from rag.loaders.text import read_text
from rag.records import ExtractedText, Page, Section

Count = Callable[[str], int]


def words(text: str) -> int:
    """Tokens of an encoder that reads words and stops, with two special tokens."""
    return len(re.findall(r"\w+|[^\w\s]", text)) + 2


def octets(text: str) -> int:
    return len(text.encode()) + 2


def _plain(text: str, title: str = "") -> ExtractedText:
    return ExtractedText(text, title, "text/plain")


def _markdown(source: str) -> ExtractedText:
    return read_markdown(source.encode(), "stem")


def _check(document: ExtractedText, chunks: tuple[Chunk, ...], count: Count, size: int) -> None:
    """What holds for any chunks of any document."""
    covered: set[int] = set()
    for each in chunks:
        assert document.text[each.start : each.end] == each.text == each.text.strip() != ""
        assert each.tokens == count(encoded_text(document.title, each.heading, each.text)) <= size
        covered.update(range(each.start, each.end))
    starts = [each.start for each in chunks]
    assert starts == sorted(set(starts))
    assert all(c.isspace() or place in covered for place, c in enumerate(document.text))


# The text that is encoded


@pytest.mark.parametrize(
    ("title", "heading", "text", "encoded"),
    [
        ("Guide", ("Power", "Cable"), "Text.", "Guide › Power › Cable\nText."),
        ("", (), "Text.", "Text."),
        ("Guide", ("Guide", "Power"), "Text.", "Guide › Power\nText."),
        ("Guide", ("Power",), "## Power\n\nText.", "Guide\n## Power\n\nText."),
        ("Guide", ("Guide",), "# **Guide**\n\nText.", "# **Guide**\n\nText."),
        ("Guide", ("Power", "Cable"), "Power\n\nCable\n\nText.", "Guide\nPower\n\nCable\n\nText."),
    ],
)
def test_a_chunk_is_encoded_with_its_place(
    title: str, heading: tuple[str, ...], text: str, encoded: str
) -> None:
    assert encoded_text(title, heading, text) == encoded


def test_long_names_are_cut_by_words_and_the_text_never() -> None:
    text = "Text " * 400

    prefix, newline, rest = encoded_text("word " * 50, ("긴제목" * 60,), text).partition("\n")

    assert newline + rest == "\n" + text
    assert prefix == f"{' '.join(['word'] * 22)}… › {('긴제목' * 60)[:56]}…"


def test_of_a_long_path_the_middle_goes_first() -> None:
    path = tuple(f"{level} " + "heading name " * 5 for level in ("first", "second", "third"))

    encoded = encoded_text("The title of the whole document", path, "Text.")

    assert encoded.startswith("The title of the whole document › second")
    assert "third heading name" in encoded
    assert "first" not in encoded


# What always holds


PIECES = [
    "a",
    "b ",
    "가",
    "나 ",
    "다. ",
    "요.\n",
    "\n\n",
    "# H\n",
    "👨‍👩‍👧‍👦",
    "e\u0301",
    "\u1100\u1161",
    "x: y | z: w\n",
    "   ",
    "긴단어없는문장",
    "Dr. ",
    "。",
    "\t",
    "3.5 ",
    "lorem " * 12,
]
HEADINGS = st.lists(st.sampled_from(["A", "B", "긴 제목 " * 20]), max_size=3).map(tuple)


@st.composite
def documents(draw: st.DrawFn) -> ExtractedText:
    text = unicodedata.normalize(
        "NFC", "".join(draw(st.lists(st.sampled_from(PIECES), max_size=60)))
    )
    places = st.lists(st.integers(0, len(text)), max_size=4, unique=True).map(sorted)
    sections = tuple(Section(start, draw(HEADINGS)) for start in draw(places))
    cuts = [0, *draw(places), len(text)] if draw(st.booleans()) else []
    pages = tuple(Page(n, *span) for n, span in enumerate(pairwise(cuts), 1))
    return ExtractedText(
        text, draw(st.sampled_from(["", "T", "긴 제목 " * 20])), "x/y", pages, sections
    )


CUTS = given(
    document=documents(),
    count=st.sampled_from([len, words, octets]),
    size=st.integers(8, 150),
    share=st.sampled_from([0.0, 0.0, 0.4, 0.99]),
)
TEXTS = given(text=st.text(max_size=400), size=st.integers(16, 120))


@settings(deadline=None, derandomize=True, max_examples=200)
@CUTS
def test_chunks_are_slices_that_fit_and_cover_the_text(
    document: ExtractedText, count: Count, size: int, share: float
) -> None:
    _cut_and_check(document, count, size, share)


@pytest.mark.slow
@settings(deadline=None, max_examples=2000)
@CUTS
def test_very_many_documents_are_cut_right(
    document: ExtractedText, count: Count, size: int, share: float
) -> None:
    _cut_and_check(document, count, size, share)


@settings(deadline=None, derandomize=True, max_examples=200)
@TEXTS
def test_any_text_of_a_file_is_covered(text: str, size: int) -> None:
    _read_and_check(text, size)


@pytest.mark.slow
@settings(deadline=None, max_examples=2000)
@TEXTS
def test_very_many_texts_of_files_are_covered(text: str, size: int) -> None:
    _read_and_check(text, size)


def _read_and_check(text: str, size: int) -> None:
    """A text file of any characters, as it is stored: no character that can be seen is lost."""
    data = text.encode("utf-8", "replace")
    try:
        document = read_text(data, "stem")
    except LoadError:  # bytes that are no text by any reading
        return
    assert unicodedata.is_normalized("NFC", document.text)
    _cut_and_check(replace(document, title=""), octets, size, share=0)


def _cut_and_check(document: ExtractedText, count: Count, size: int, share: float) -> None:
    try:
        chunks = chunk(document, count=count, size=size, overlap=int(share * size))
    except ValueError as error:
        assert f"size ({size}) is too small for any text" in str(error)  # noqa: PT017
        return
    _check(document, chunks, count, size)
    if not share:
        assert all(one.end <= other.start for one, other in pairwise(chunks))
    for each in chunks:
        pages = [p for p in document.pages if p.number == each.page]
        assert all(p.start <= each.start and each.end <= p.end for p in pages)
        assert bool(pages) == bool(document.pages)


def test_blank_text_has_no_chunks() -> None:
    assert chunk(_plain(" \n\n\t"), count=len, size=10) == ()


# Sizes that cannot be


@pytest.mark.parametrize(
    ("size", "overlap", "message"),
    [
        (400, 400, r"overlap \(400\) must be at least 0 and less than size \(400\)"),
        (400, 470, r"overlap \(470\) must be at least 0 and less than size \(400\)"),
        (400, -3, r"overlap \(-3\) must be at least 0 and less than size \(400\)"),
        (0, 0, r"size \(0\) must be at least 1 token"),
        (-5, 0, r"size \(-5\) must be at least 1 token"),
    ],
)
def test_sizes_that_cannot_be_are_refused(size: int, overlap: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        chunk(_plain("가나다 " * 1300), count=len, size=size, overlap=overlap)


@pytest.mark.parametrize(
    ("title", "size", "message"),
    [
        ("", 2, r"size \(2\) is too small for any text: .* special tokens take 2 tokens"),
        ("", 4, r"size \(4\) is too small for any text: '가' takes 5 tokens"),
        ("A title", 10, r"size \(10\) is too small for any text: title, .* take 10 tokens"),
    ],
)
def test_a_size_too_small_for_any_text_names_what_is_needed(
    title: str, size: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        chunk(_plain("가나", title), count=octets, size=size)


def test_an_overlap_just_under_the_size_ends() -> None:
    document = _plain("메모\n" * 70)
    began = time.perf_counter()

    chunks = chunk(document, count=len, size=45, overlap=44)

    assert time.perf_counter() - began < 1
    _check(document, chunks, len, 45)
    assert all(other.start < one.end for one, other in pairwise(chunks))


def test_an_overlap_repeats_whole_sentences() -> None:
    text = " ".join(f"Sentence number {n}." for n in range(30))

    one, other = chunk(_plain(text), count=words, size=42, overlap=10)[:2]

    assert text[other.start : one.end] == one.text[-len("Sentence number 8. Sentence number 9.") :]


# Where chunks end


def test_a_paragraph_stays_whole_where_it_can() -> None:
    paragraphs = [" ".join([f"P{n}."] + ["Some words here."] * 5) for n in range(6)]

    chunks = chunk(_plain("\n\n".join(paragraphs)), count=words, size=50)

    assert [each.text for each in chunks] == [
        "\n\n".join(paragraphs[:2]),
        "\n\n".join(paragraphs[2:4]),
        "\n\n".join(paragraphs[4:]),
    ]


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    text = "The lamp costs 3.5 euros. Dr. Kim sells it. " * 20

    for each in chunk(_plain(text), count=words, size=40):
        assert each.text.startswith("The lamp") or each.text.startswith("Dr.")
        assert each.text.endswith(("euros.", "it."))


def test_rows_of_a_table_stay_whole() -> None:
    rows = "".join(f"part {n},{n},shelf {n}\n" for n in range(60))
    document = read_csv(f"name,stock,place\n{rows}".encode(), "stem")

    chunks = chunk(document, count=words, size=64)

    assert len(chunks) > 5
    assert "\n".join(each.text for each in chunks) == document.text


@pytest.mark.parametrize(
    "block",
    [
        "\n".join(f"area: isle {i} | fee: {i}00 won" for i in range(9)) + "\n",
        "```\nmake wash\n\nmake dry\n\nmake fold\n\nmake pack\n\nmake send\n\nmake rest\n```\n",
        "\n".join(f"| isle {i} | {i}00 won |" for i in range(9)) + "\n",
    ],
)
def test_tables_and_code_stay_whole_where_they_fit(block: str) -> None:
    prose = "The isle is small and far away. " * 4
    document = _plain(f"{prose}\n\n{block}\n{prose}")
    chunks = chunk(document, count=words, size=words(block) + 20)
    _check(document, chunks, words, words(block) + 20)
    assert any(block.strip() in each.text for each in chunks)


def test_a_table_larger_than_a_chunk_is_cut_between_rows() -> None:
    rows = [f"area: isle {i} | fee: {i}00 won" for i in range(60)]
    chunks = chunk(_plain("\n".join(rows)), count=words, size=80)
    assert len(chunks) > 5
    assert [row for each in chunks for row in each.text.split("\n")] == rows


def test_no_tail_is_left_that_says_nothing() -> None:
    text = " ".join(f"Word number {n} here." for n in range(41))

    chunks = chunk(_plain(text), count=words, size=202)

    assert min(each.tokens for each in chunks) > 50


@pytest.mark.parametrize(
    "cluster", ["👨‍👩‍👧‍👦", "🇰🇷", "e\u0323\u0302", "\u1112\u1161\u11ab\u302e", "👍🏽"]
)
def test_a_cluster_of_code_points_is_never_cut(cluster: str) -> None:
    text = unicodedata.normalize("NFC", cluster) * 200
    width = len(text) // 200

    for each in chunk(_plain(text), count=len, size=20):
        assert each.start % width == 0
        assert each.end % width == 0


# Sections and pages


def test_headings_in_code_do_not_divide() -> None:
    source = "# 설치\n\n준비물\n\n```\n# 첫 단계\nmake wash\n```\n\n# 문의\n\n내선 204번입니다.\n"

    chunks = chunk(_markdown(source), count=words, size=256)

    assert [each.heading for each in chunks] == [("설치",), ("문의",)]
    assert "make wash" in chunks[0].text


def test_small_sections_join_their_siblings_under_the_common_heading() -> None:
    source = "# Guide\n\n" + "".join(f"## Part {n}\n\nOne short line {n}.\n\n" for n in range(5))

    chunks = chunk(_markdown(source), count=words, size=256)

    assert [each.heading for each in chunks] == [("Guide",)]
    assert chunks[0].text == source.strip()


def test_a_large_section_keeps_its_own_chunks() -> None:
    body = "Some words stand here. " * 30
    source = f"# Guide\n\n## Small\n\nShort.\n\n## Large\n\n{body}\n\n## Last\n\n{body}\n"

    chunks = chunk(_markdown(source), count=words, size=160)

    assert [each.heading for each in chunks] == [
        ("Guide", "Small"),
        ("Guide", "Large"),
        ("Guide", "Last"),
    ]


def test_a_bare_heading_goes_with_the_text_below_it() -> None:
    source = "# Guide\n\n## Power\n\n### Cable\n\n" + "A cable is needed. " * 30

    chunks = chunk(_markdown(source), count=words, size=100)

    assert {each.heading for each in chunks} == {("Guide", "Power", "Cable")}
    assert chunks[0].text.startswith("# Guide\n\n## Power\n\n### Cable\n\nA cable")


def test_sections_without_a_common_heading_stay_apart() -> None:
    chunks = chunk(_markdown("# A\n\nShort.\n\n# B\n\nShort.\n"), count=words, size=256)

    assert [each.heading for each in chunks] == [("A",), ("B",)]


def test_pages_stay_apart() -> None:
    text = "First page.\n\nSecond page."
    pages = (Page(1, 0, 11), Page(2, 11, 11), Page(3, 13, 25))

    chunks = chunk(ExtractedText(text, "", "application/pdf", pages), count=words, size=256)

    assert [(each.page, each.text) for each in chunks] == [(1, "First page."), (3, "Second page.")]


def test_outer_headings_give_way_in_a_small_encoder() -> None:
    document = ExtractedText("Text.", "", "x/y", sections=(Section(0, ("outer name", "inner")),))

    assert chunk(document, count=len, size=20)[0].heading == ("inner",)


# Hard texts


def test_offsets_in_a_repetitive_text_point_to_the_right_copy() -> None:
    text = (
        "같은 문장이 또 나온다. " * 50 + "여기에 호박엿이 있다. " + "같은 문장이 또 나온다. " * 50
    )

    found = [c for c in chunk(_plain(text), count=words, size=64) if "호박엿" in c.text]

    place = text.index("호박엿")
    assert [each.start <= place < each.end for each in found] == [True]


def test_nothing_behind_the_limit_is_lost() -> None:
    text = "구름 바람 강가 " * 700 + "비밀번호는 오로라-6174이다"

    chunks = chunk(_plain(text), count=words, size=128)

    _check(_plain(text), chunks, words, 128)
    assert "오로라-6174" in chunks[-1].text


def test_a_cell_of_any_length_is_cut() -> None:
    cell = "ab cd " * 25_000 + "끝표식ZETA"
    document = read_csv(f"번호,내용\n1,{cell}\n2,짧은 칸\n".encode(), "stem")

    chunks = chunk(document, count=words, size=256)

    _check(document, chunks, words, 256)
    assert "끝표식ZETA" in chunks[-1].text
    assert "짧은 칸" in chunks[-1].text


def one_token_a_word(text: str) -> int:
    """As an encoder that reads an endless word as one unknown token."""
    return len(text.split()) + 2


@pytest.mark.parametrize("count", [len, one_token_a_word])
@pytest.mark.parametrize("text", ["가나다라마바사아자차" * 30_000, "a" + " " * 300_000 + "b"])
def test_text_without_spaces_or_of_nothing_else_is_cut_in_linear_time(
    text: str, count: Count
) -> None:
    began = time.perf_counter()

    chunks = chunk(_plain(text), count=count, size=256)

    assert time.perf_counter() - began < 5
    assert max(len(each.text) for each in chunks) <= 12 * 256 + 11


def test_tokens_are_counted_a_few_times_only() -> None:
    text = "The lamp is old and rather dark. It costs little. " * 2000
    counted = 0

    def count(part: str) -> int:
        nonlocal counted
        counted += len(part)
        return words(part)

    chunk(_plain(text), count=count, size=256)

    assert counted < 3 * len(text)
