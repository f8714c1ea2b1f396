import io
import zipfile
from typing import Any

import pptx
import pytest
from lxml import etree
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI
from pptx.util import Inches

from rag.loaders.errors import BrokenFile
from rag.loaders.pptx import read_pptx
from rag.records import ExtractedText
from tests.rag.loaders.package_files import package, repacked

TITLE_AND_CONTENT, BLANK = 1, 6


class Deck:
    """A presentation that is built slide by slide and read back."""

    def __init__(self) -> None:
        self.file = pptx.Presentation()

    def slide(self, title: str = "", body: str = "") -> Any:
        layouts = self.file.slide_layouts
        slide = self.file.slides.add_slide(layouts[TITLE_AND_CONTENT if title else BLANK])
        if title:
            slide.shapes.title.text = title
            slide.placeholders[1].text = body
        return slide

    def saved(self) -> bytes:
        file = io.BytesIO()
        self.file.save(file)
        return file.getvalue()

    def read(self) -> ExtractedText:
        return read_pptx(self.saved(), "stem")


def _box(shapes: Any, text: str, *, top: float, left: float = 1) -> None:
    box = shapes.add_textbox(Inches(left), Inches(top), Inches(2), Inches(0.5))
    box.text_frame.text = text


def _table(slide: Any, *rows: tuple[str, ...]) -> Any:
    size = (Inches(1), Inches(4), Inches(5), Inches(1))
    table = slide.shapes.add_table(len(rows), len(rows[0]), *size).table
    for y, row in enumerate(rows):
        for x, text in enumerate(row):
            table.cell(y, x).text = text
    return table


def test_each_slide_is_a_page_under_its_title() -> None:
    deck = Deck()
    deck.slide("연간 보고", "하나\n둘\v셋")
    deck.slide()
    _box(deck.slide().shapes, "제목 없는 장", top=1)
    deck.slide("맺음말")

    read = deck.read()

    assert read.text == "연간 보고\n\n하나\n둘 셋\n\n제목 없는 장\n\n맺음말"
    assert [(p.number, read.text[p.start : p.end]) for p in read.pages] == [
        (1, "연간 보고\n\n하나\n둘 셋"),
        (2, ""),
        (3, "제목 없는 장"),
        (4, "맺음말"),
    ]
    assert [(s.heading, read.text[s.start :][:2]) for s in read.sections] == [
        (("연간 보고",), "연간"),
        ((), "제목"),
        (("맺음말",), "맺음"),
    ]
    assert read.title == "연간 보고"
    assert read.media_type.endswith("presentationml.presentation")


@pytest.mark.parametrize(
    ("core", "title"), [("사업 계획", "사업 계획"), ("PowerPoint Presentation", "첫 장")]
)
def test_the_title(core: str, title: str) -> None:
    deck = Deck()
    deck.file.core_properties.title = core
    deck.slide("첫 장")

    assert deck.read().title == title


def test_shapes_are_read_from_top_to_bottom() -> None:
    deck = Deck()
    shapes = deck.slide().shapes
    _box(shapes, "아래", top=5)
    _box(shapes, "오른쪽", top=1, left=5)
    _box(shapes, "왼쪽", top=1.1)
    group = shapes.add_group_shape()
    _box(group.shapes, "묶음 아래", top=3)
    _box(group.shapes.add_group_shape().shapes, "묶음 위", top=2)

    assert deck.read().text.split("\n\n") == ["왼쪽", "오른쪽", "묶음 위", "묶음 아래", "아래"]


def test_rows_of_a_table_stand_beside_the_names_of_their_columns() -> None:
    deck = Deck()
    rows = ("지역", "요금", "비고"), ("섬", "7300원", "배편"), ("시내", "2900원", "")
    table = _table(deck.slide("요금"), *rows)
    table.cell(1, 2).merge(table.cell(2, 2))

    assert deck.read().text.split("\n\n") == [
        "요금",
        "지역: 섬 | 요금: 7300원 | 비고: 배편\n지역: 시내 | 요금: 2900원 | 비고: 배편",
    ]


def test_merged_names_and_a_table_without_names() -> None:
    deck = Deck()
    table = _table(deck.slide(), ("분기", "수입", ""), ("", "국내", "해외"), ("1분기", "10", "20"))
    table.cell(0, 1).merge(table.cell(0, 2))
    form = _table(deck.slide(), ("이름", "김"), ("부서", "교정실"))
    form.first_row = False

    assert deck.read().text == (
        "분기: 1분기 | 수입 국내: 10 | 수입 해외: 20\n\n이름 | 김\n부서 | 교정실"
    )


def test_notes_follow_their_slide() -> None:
    deck = Deck()
    deck.slide("하나").notes_slide.notes_text_frame.text = "천천히\n말한다"
    deck.slide("둘")

    read = deck.read()

    assert read.text == "하나\n\n천천히\n말한다\n\n둘"
    assert read.pages[0].end == read.text.index("\n\n둘")


def _add_chart(deck: Deck) -> None:
    data: Any = CategoryChartData()  # type: ignore[no-untyped-call]
    data.categories = ["1월", "2월"]
    data.add_series("매출", (1.5, 2))
    data.add_series("비용", (3, None))
    size = (Inches(1), Inches(1), Inches(3), Inches(3))
    frame = deck.slide().shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *size, data)
    frame.chart.has_title = True
    frame.chart.chart_title.text_frame.text = "월별 매출"


def test_charts_give_their_titles_and_values() -> None:
    deck = Deck()
    _add_chart(deck)

    assert deck.read().text == "월별 매출\n1월 | 매출: 1.5 | 비용: 3\n2월 | 매출: 2"


def test_a_chart_of_an_unknown_kind_gives_its_title() -> None:
    deck = Deck()
    _add_chart(deck)
    data = deck.saved()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        name = next(name for name in archive.namelist() if "/chart" in name and "rels" not in name)
        chart = archive.read(name).replace(b"c:barChart", b"c:surfaceChart")

    stem = name.rpartition("/")[2].removesuffix(".xml")
    assert read_pptx(repacked(data, **{stem: chart}), "stem").text == "월별 매출"


def _add_xml(slide: Any, xml: str) -> None:
    spaces = (
        'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
        'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
        'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
        'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
        'xmlns:d="http://schemas.openxmlformats.org/drawingml/2006/diagram"'
    )
    wrapped = etree.fromstring(f"<x {spaces}>{xml}</x>")
    slide.shapes._spTree.append(wrapped[0])


def test_shapes_with_a_second_form_for_old_readers_count_once() -> None:
    deck = Deck()
    run = "<p:sp><p:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:txBody></p:sp>"
    forms = f"<mc:Choice>{run.format('수식 x')}</mc:Choice>"
    forms += f"<mc:Fallback>{run.format('old')}</mc:Fallback>"
    _add_xml(deck.slide(), f"<mc:AlternateContent>{forms}</mc:AlternateContent>")

    assert deck.read().text == "수식 x"


def test_smart_art_gives_its_texts() -> None:
    deck = Deck()
    slide = deck.slide()
    space = "xmlns:a='http://schemas.openxmlformats.org/drawingml/2006/main'"
    points = "".join(
        f"<pt><t><a:p><a:r><a:t>{n}</a:t></a:r></a:p></t></pt>" for n in ("계획", "실행")
    )
    drawing = f"<dataModel {space}>{points}</dataModel>".encode()
    part = Part(PackURI("/ppt/diagrams/data1.xml"), "a/xml", deck.file.part.package, drawing)
    relation = slide.part.relate_to(part, "urn:diagramData")
    _add_xml(
        slide,
        '<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="9" name="d"/><p:cNvGraphicFramePr/>'
        "<p:nvPr/></p:nvGraphicFramePr><p:xfrm/><a:graphic><a:graphicData "
        'uri="http://schemas.openxmlformats.org/drawingml/2006/diagram">'
        f'<d:relIds r:dm="{relation}"/></a:graphicData></a:graphic></p:graphicFrame>',
    )

    assert deck.read().text == "계획\n실행"


def test_what_stands_on_every_slide_is_left_out() -> None:
    deck = Deck()
    slide = deck.slide("제목")
    slide.shapes.clone_placeholder(deck.file.slide_layouts[TITLE_AND_CONTENT].placeholders[4])
    slide.placeholders[12].text = "17"

    assert deck.read().text == "제목"


@pytest.mark.parametrize(
    "data",
    [
        package(("[Content_Types].xml", b"<broken"), ("ppt/presentation.xml", b"<x/>")),
        repacked(Deck().saved(), presentation=b"<broken"),
    ],
)
def test_damage_gives_a_reason(data: bytes) -> None:
    with pytest.raises(BrokenFile, match="cannot be opened as a presentation"):
        read_pptx(data, "stem")
