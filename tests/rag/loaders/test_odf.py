import pytest

from rag.loaders import grids
from rag.loaders.errors import BrokenFile, UnsupportedFile
from rag.loaders.odf import read_odp, read_ods, read_odt
from tests.rag.loaders.odf_files import cell, odf, p, table
from tests.rag.loaders.package_files import repacked


def _text(body: str) -> str:
    return read_odt(odf("text", body), "stem").text


def test_headings_become_sections_and_lists_get_marks() -> None:
    items = "".join(f"<text:list-item>{p(t)}</text:list-item>" for t in ("하나", "둘"))
    body = (
        '<text:h text:outline-level="1">설명서</text:h>'
        f"<text:section>{p('글')}</text:section><text:list>{items}</text:list>"
        '<text:h text:outline-level="2">전원</text:h>'
    )

    read = read_odt(odf("text", body), "stem")

    assert read.text == "설명서\n\n글\n\n- 하나\n- 둘\n\n전원"
    assert [s.heading for s in read.sections] == [("설명서",), ("설명서", "전원")]
    assert read.title == "설명서"
    assert read.media_type == "application/vnd.oasis.opendocument.text"


def test_the_title_is_the_files_own() -> None:
    assert read_odt(odf("text", p("글"), title="연차 보고서"), "stem").title == "연차 보고서"
    assert read_odt(odf("text", p("글"), title="Document1"), "stem").title == "stem"


PARAGRAPHS = {
    "spaces, tabs, breaks": ("가<text:s/>나<text:tab/>다<text:line-break/>라", "가 나 다 라"),
    "spans and links": ("<text:span>가<text:a>나</text:a></text:span>다", "가나다"),
    "a comment": ("가<office:annotation><text:p>쪽지</text:p></office:annotation>나", "가나"),
    "furigana": (
        "<text:ruby><text:ruby-base>東京</text:ruby-base><text:ruby-text>トウキョウ</text:ruby-text>"
        "</text:ruby>",
        "東京",
    ),
    "a note": (
        "앞<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>각주"
        "</text:p></text:note-body></text:note>뒤",
        "앞뒤\n\n각주",
    ),
    "a text box": (
        "앞<draw:frame><draw:text-box><text:p>상자</text:p></draw:text-box></draw:frame>뒤",
        "앞뒤\n\n상자",
    ),
}


@pytest.mark.parametrize("name", PARAGRAPHS)
def test_a_paragraph(name: str) -> None:
    xml, text = PARAGRAPHS[name]

    assert _text(p(xml)) == text


def test_deleted_text_is_left_out() -> None:
    assert _text(f"<text:tracked-changes>{p('지움')}</text:tracked-changes>{p('남음')}") == "남음"


def test_tables_stand_where_they_are_and_inner_ones_in_them() -> None:
    inner = f"<table:table-cell>{p('2900원')}{table(('야간', '1100원'))}</table:table-cell>"
    body = p("앞") + table(("지역", "요금"), ("섬", "7300원"), ("시내", inner)) + p("뒤")

    assert _text(body) == (
        "앞\n\n지역: 섬 | 요금: 7300원\n지역: 시내 | 요금: 2900원\n야간 | 1100원\n\n뒤"
    )


def test_marked_headers_and_merged_cells() -> None:
    covered = "<table:covered-table-cell/>"
    tall = cell("섬", 'table:number-rows-spanned="2"')
    head = table(("뜻", "색")).removeprefix('<table:table table:name="">')
    head = head.removesuffix("</table:table>")
    rows = table((tall, "빨강"), (covered, "파랑")).replace(
        ">", f"><table:table-header-rows>{head}</table:table-header-rows>", 1
    )

    assert _text(rows) == "뜻: 섬 | 색: 빨강\n뜻: 섬 | 색: 파랑"


def test_sheets_stand_under_their_names_with_what_they_show() -> None:
    date = cell("3/4/26", 'office:value-type="date" office:date-value="2026-03-04"')
    number = cell("7,300원", 'office:value-type="currency" office:value="7300"')
    far = '<table:table-cell table:number-columns-repeated="16000"/>'
    empty = f'<table:table-row table:number-rows-repeated="1048570">{far}</table:table-row>'
    first = table(("날짜", "요금", "비고"), (date, number, "x", far), name="요금")
    body = first.replace("</table:table>", f"{empty}</table:table>")
    body += table((cell("", 'table:formula="of:=[.A1]"'), "끝"), name="메모")

    read = read_ods(odf("spreadsheet", body), "stem")

    assert read.text == "요금\n\n날짜: 2026-03-04 | 요금: 7,300원 | 비고: x\n\n메모\n\n끝"
    assert [s.heading for s in read.sections] == [("요금",), ("메모",)]
    assert read.title == "stem"
    assert read.warnings[0].startswith("1 formula has no stored result")


def test_cells_repeated_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grids, "MOST_CELLS", 500)
    wide = cell("x", 'table:number-columns-repeated="16000"')
    body = table(*[(wide,)] * 6)

    with pytest.raises(UnsupportedFile, match="more than 500 filled cells"):
        read_ods(odf("spreadsheet", body), "stem")


def _shape(text: str, *, y: str, x: str = "1cm", kind: str = "") -> str:
    place = f'svg:x="{x}" svg:y="{y}" presentation:class="{kind}"'
    return f"<draw:frame {place}><draw:text-box>{p(text)}</draw:text-box></draw:frame>"


def test_slides_are_pages_under_their_titles() -> None:
    notes = f"<presentation:notes>{_shape('메모', y='1cm')}</presentation:notes>"
    low, high = _shape("아래", y="9cm"), _shape("위", y="30mm")
    beside = _shape("오른쪽", y="2.9cm", x="9cm")
    title = _shape("제목", y="20cm", kind="title")
    body = (
        f"<draw:page>{low}<draw:g>{beside}</draw:g>{high}{title}{notes}</draw:page>"
        f"<draw:page/><draw:page>{_shape('둘째', y='1in')}</draw:page>"
    )

    read = read_odp(odf("presentation", body), "stem")

    assert read.text == "제목\n\n위\n\n오른쪽\n\n아래\n\n메모\n\n둘째"
    assert [(page.number, read.text[page.start : page.end]) for page in read.pages] == [
        (1, "제목\n\n위\n\n오른쪽\n\n아래\n\n메모"),
        (2, ""),
        (3, "둘째"),
    ]
    assert [s.heading for s in read.sections] == [("제목",), ()]


def test_a_locked_file_says_that_it_needs_a_password() -> None:
    locked = odf("text", p("글"), manifest="<m><encryption-data/></m>")

    with pytest.raises(BrokenFile, match=r"locked with a password.*암호"):
        read_odt(locked, "stem")


def test_another_kind_and_damage_give_reasons() -> None:
    with pytest.raises(BrokenFile, match="an OpenDocument file, but holds no spreadsheet"):
        read_ods(odf("text", p("글")), "stem")
    with pytest.raises(BrokenFile, match="cannot be opened as OpenDocument"):
        read_odt(repacked(odf("text", p("글")), content=b"<broken"), "stem")
