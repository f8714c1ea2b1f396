import unicodedata
import zlib
from collections.abc import Callable, Sequence

import pytest

from rag.loaders.errors import BrokenFile, UnsupportedFile
from rag.loaders.hwp import read_hwp, read_hwpx
from rag.records import ExtractedText
from tests.rag.loaders.compound_files import compound
from tests.rag.loaders.hwp_files import (
    LOCKED,
    SEALED,
    Block,
    Cell,
    Note,
    Styled,
    Table,
    hwp,
    hwpx,
    hwpx_package,
    paragraph_xml,
    section_xml,
    text_xml,
)
from tests.rag.loaders.package_files import repacked


def _hwp(*sections: Sequence[Block]) -> ExtractedText:
    return read_hwp(hwp(*sections), "stem")


def _hwpx(*sections: Sequence[Block]) -> ExtractedText:
    return read_hwpx(hwpx(*sections), "stem")


both = pytest.mark.parametrize("read", [_hwp, _hwpx])
Read = Callable[..., ExtractedText]


@both
def test_paragraphs_stand_in_order_without_marks(read: Read) -> None:
    document = read(["첫 줄 *3,500원* | 밑_줄_ # [1]", "", "1. 둘째"], ["다음 구역"])

    assert document.text == "첫 줄 *3,500원* | 밑_줄_ # [1]\n\n1. 둘째\n\n다음 구역"
    assert document.title == "stem"
    assert document.warnings == ()


def test_each_format_has_its_media_type() -> None:
    assert _hwp(["글"]).media_type == "application/x-hwp"
    assert _hwpx(["글"]).media_type == "application/hwp+zip"


@both
def test_decomposed_hangul_is_composed(read: Read) -> None:
    assert read([unicodedata.normalize("NFD", "점심메뉴")]).text == "점심메뉴"


@both
def test_headings_become_sections(read: Read) -> None:
    document = read([Styled("제1장 총칙", 1), "글", Styled("목적", 2), "글", Styled("제2장", 1)])

    assert [(s.heading, document.text[s.start :].split("\n")[0]) for s in document.sections] == [
        (("제1장 총칙",), "제1장 총칙"),
        (("제1장 총칙", "목적"), "목적"),
        (("제2장",), "제2장"),
    ]
    assert document.title == "제1장 총칙"


@both
def test_rows_of_a_table_stand_beside_the_names_of_their_columns(read: Read) -> None:
    table = Table([["지역", "요금", "비고"], ["섬마을", "7300원", "배편"], ["시내", "2900원", ""]])

    assert read(["앞", table, "뒤"]).text == (
        "앞\n\n지역: 섬마을 | 요금: 7300원 | 비고: 배편\n지역: 시내 | 요금: 2900원\n\n뒤"
    )


@both
def test_rows_of_inner_tables_follow_the_row_that_holds_them(read: Read) -> None:
    inner = Table([["야간", Cell([Table([["새벽", "900원"]])])]])
    table = Table(
        [["지역", "요금"], ["섬마을", Cell(["7300원", "현금", inner])], ["시내", "2900원"]]
    )

    assert read([table]).text == (
        "지역: 섬마을 | 요금: 7300원 현금\n야간\n새벽 | 900원\n지역: 시내 | 요금: 2900원"
    )


@both
def test_merged_cells_count_in_each_row_and_once_in_a_row(read: Read) -> None:
    table = Table(
        [
            [Cell(["학교"], rows=2), Cell(["학생"], columns=2)],
            ["1학년", "2학년"],
            [Cell(["바다"], rows=2), "30", "28"],
            [Cell(["51"], columns=2)],
        ]
    )

    assert read([table]).text == (
        "학교: 바다 | 학생 1학년: 30 | 학생 2학년: 28\n학교: 바다 | 학생 1학년: 51"
    )


@both
def test_a_frame_around_text_is_no_table(read: Read) -> None:
    frame = Table([[Cell([Styled("제목", 1), "글", Table([["a", "b", "c"], ["1", "2", "3"]])])]])

    document = read([frame])

    assert document.text == "제목\n\n글\n\na: 1 | b: 2 | c: 3"
    assert document.sections[0].heading == ("제목",)


@both
def test_notes_come_last_and_headers_of_pages_not_at_all(read: Read) -> None:
    blocks = [Note("본문", "각주 글"), Note("둘째", "머리말", "header"), "끝"]
    cell = Table([[Cell([Note("칸", "칸의 각주", "endnote")]), "값"]])

    assert read([*blocks, cell]).text == "본문\n\n둘째\n\n끝\n\n칸 | 값\n\n각주 글\n\n칸의 각주"


@both
def test_a_tab_is_a_space(read: Read) -> None:
    assert read(["가\t나"]).text == "가 나"


def test_the_title_of_a_package_is_its_own() -> None:
    assert read_hwpx(hwpx(["글"], title="사업 안내"), "stem").title == "사업 안내"
    assert read_hwpx(hwpx([Styled("머리", 1)], title="제목 없음"), "stem").title == "머리"


def test_the_content_decides_between_the_two_formats() -> None:
    assert read_hwp(hwpx(["글"]), "stem").media_type == "application/hwp+zip"
    assert read_hwpx(hwp(["글"]), "stem").media_type == "application/x-hwp"


def test_line_breaks_and_deep_runs_of_hwpx() -> None:
    run = f"<hp:t>가<hp:lineBreak/>나</hp:t></hp:run><hp:run>{text_xml(' 다')}"
    data = hwpx_package({"Contents/section0.xml": section_xml(paragraph_xml(run))})

    assert read_hwpx(data, "stem").text == "가 나 다"


def test_a_locked_document_says_that_it_needs_a_password() -> None:
    with pytest.raises(BrokenFile, match=r"locked with a password.*암호"):
        read_hwp(hwp(["글"], flags=LOCKED), "stem")


def test_a_locked_package_says_that_it_needs_a_password() -> None:
    space = 'xmlns:odf="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"'
    entry = (
        f'<odf:manifest {space}><odf:file-entry odf:full-path="Contents/section0.xml">'
        '<odf:encryption-data odf:checksum="AA=="/></odf:file-entry></odf:manifest>'
    )
    data = hwpx(["글"], **{"META-INF/manifest.xml": entry})

    with pytest.raises(BrokenFile, match=r"locked with a password.*암호"):
        read_hwpx(data, "stem")


def test_a_sealed_document_that_cannot_be_opened_says_so() -> None:
    with pytest.raises(BrokenFile, match=r"sealed for distribution .*: ask for an ordinary copy"):
        read_hwp(hwp(flags=SEALED, streams={"ViewText/Section0": bytes(600)}), "stem")


def test_an_older_format_is_named() -> None:
    with pytest.raises(BrokenFile, match=r"HWP 3, .* save it as \.hwpx"):
        read_hwp(b"HWP Document File V3.00 \x1a\x01\x02" + bytes(2000), "stem")


@pytest.mark.parametrize(
    "data",
    [
        b"plain text",
        hwp(["글"])[:1500],
        compound({"WordDocument": b"x" * 5000}),
        compound({"FileHeader": b"x" * 256}),
        compound({"FileHeader": bytes(256), "DocInfo": b"y"}),
        hwp(["글"], streams={"BodyText/Section0": b"not deflated"}),
    ],
)
def test_damage_gives_a_reason(data: bytes) -> None:
    with pytest.raises(BrokenFile, match="the file is damaged"):
        read_hwp(data, "stem")


def test_what_is_left_of_a_damaged_document_is_read_with_a_warning() -> None:
    damaged = hwp(["살아남은 글"], ["글"], streams={"BodyText/Section1": b"not deflated"})
    document = read_hwp(damaged, "stem")
    assert document.text == "살아남은 글"
    assert document.warnings == ("1 part of the file could not be read: damaged or too large",)

    document = read_hwpx(repacked(hwpx(["살아남은 글"], ["글"]), section1=b"<broken"), "stem")
    assert document.text == "살아남은 글"
    assert document.warnings == ("1 part of the file could not be read: damaged or too large",)


def test_a_bomb_in_a_stream_is_refused() -> None:
    deflate = zlib.compressobj(level=1, wbits=-15)
    bomb = b"".join(deflate.compress(bytes(1_000_000)) for _ in range(300)) + deflate.flush()

    with pytest.raises(BrokenFile, match="none of its text can be read"):
        read_hwp(hwp(["글"], streams={"BodyText/Section0": bomb}), "stem")


def test_a_section_larger_than_is_read_is_refused() -> None:
    large = hwpx_package({"Contents/section0.xml": section_xml(" " * 33_000_000)})

    with pytest.raises(UnsupportedFile, match="at most 32,000,000 are read: split"):
        read_hwpx(large, "stem")


def _nested(depth: int) -> Block:
    block: Block = "바닥"
    for level in range(depth):
        block = Table([[Cell([block]), f"{level}"]])
    return block


@both
def test_tables_stand_in_each_other(read: Read) -> None:
    assert read([_nested(10)]).text.split("\n") == [*map(str, range(9, 0, -1)), "바닥 | 0"]


def test_tables_in_each_other_without_end_are_no_crash() -> None:
    document = read_hwp(hwp([_nested(60), "뒤"]), "stem")
    assert document.text.startswith("59\n58\n")
    assert document.warnings

    with pytest.raises(BrokenFile, match="none of its text can be read"):
        read_hwpx(hwpx([_nested(60)]), "stem")
