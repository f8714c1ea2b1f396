import io
import zipfile

import docx
import pytest
from docx.document import Document
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import OxmlElement
from docx.table import Table

from rag.loaders.docx import read_docx
from rag.loaders.errors import BrokenFile
from tests.rag.loaders.docx_files import saved, with_body


def _table(document: Document, *rows: tuple[str, ...], style: str | None = None) -> Table:
    table: Table = document.add_table(len(rows), len(rows[0]), style=style)
    for row, texts in zip(table.rows, rows, strict=True):
        for cell, text in zip(row.cells, texts, strict=True):
            cell.text = text
    return table


def _text(document: Document) -> str:
    return read_docx(saved(document), "stem").text


def test_tables_stand_where_they_are_and_inner_ones_in_them() -> None:
    document = docx.Document()
    document.add_paragraph("배송 요금")
    table = _table(document, ("지역", "요금"), ("섬마을", "7300원"), ("시내", "2900원"))
    inner = table.cell(2, 1).add_table(1, 2)
    inner.cell(0, 0).text, inner.cell(0, 1).text = "야간", "1100원"
    document.add_paragraph("매월 바뀝니다.")

    assert _text(document) == (
        "배송 요금\n\n지역: 섬마을 | 요금: 7300원\n지역: 시내 | 요금: 2900원\n야간 | 1100원\n\n"
        "매월 바뀝니다."
    )


def test_merged_cells_count_once_in_each_row() -> None:
    document = docx.Document()
    table = _table(document, ("A", "B", "C"), ("", "2", "3"), ("", "5", "6"))
    table.cell(1, 0).merge(table.cell(2, 0)).text = "tall"
    table.cell(1, 1).merge(table.cell(1, 2)).text = "wide"

    assert _text(document) == "A: tall | B: wide\nA: tall | B: 5 | C: 6"


def test_a_form_of_two_columns_has_no_header() -> None:
    document = docx.Document()
    _table(document, ("이름", "담당자"), ("부서", "교정실"))

    assert _text(document) == "이름 | 담당자\n부서 | 교정실"


@pytest.mark.parametrize("way", ["repeated", "bold", "style"])
def test_a_header_of_words_is_known_by_how_it_is_marked(way: str) -> None:
    document = docx.Document()
    style = "Light Grid Accent 1" if way == "style" else None
    table = _table(document, ("Light", "Meaning"), ("red", "fault"), style=style)
    if way == "repeated":
        table.rows[0]._tr.get_or_add_trPr().append(OxmlElement("w:tblHeader"))
    if way == "bold":
        for cell in table.rows[0].cells:
            cell.paragraphs[0].runs[0].bold = True

    assert _text(document) == "Light: red | Meaning: fault"


def test_headings_become_sections_and_list_items_get_marks() -> None:
    document = docx.Document()
    document.add_heading("설명서", 0)
    document.add_heading("설치", 1)
    document.add_paragraph("one", style="List Bullet")
    document.add_paragraph("two", style="List Number")
    document.add_paragraph("plain")
    document.add_heading("전원", 2)

    read = read_docx(saved(document), "stem")

    assert read.text == "설명서\n\n설치\n\n- one\n- two\n\nplain\n\n전원"
    assert [(s.heading, read.text[s.start :].split("\n")[0]) for s in read.sections] == [
        (("설명서",), "설명서"),
        (("설명서", "설치"), "설치"),
        (("설명서", "설치", "전원"), "전원"),
    ]


def test_a_style_based_on_a_heading_is_one() -> None:
    document = docx.Document()
    style = document.styles.add_style("House heading", 1)
    style.base_style = document.styles["Heading 2"]
    document.add_paragraph("Own", style="House heading")

    assert read_docx(saved(document), "stem").sections[0].heading == ("Own",)


@pytest.mark.parametrize(
    ("core", "title"),
    [
        ("연차 보고서", "연차 보고서"),
        ("Word Document", "First"),
        ("draft.docx", "First"),
        ("", "First"),
    ],
)
def test_the_title(core: str, title: str) -> None:
    document = docx.Document()
    document.core_properties.title = core
    document.add_heading("First", 1)

    assert read_docx(saved(document), "stem").title == title


def test_the_title_is_the_stem_where_nothing_names_the_document() -> None:
    document = docx.Document()
    document.add_paragraph("text")

    assert read_docx(saved(document), "메모").title == "메모"


RUN = "<w:r><w:t xml:space='preserve'>{}</w:t></w:r>"
BODIES = {
    "tracked changes": (
        f"<w:p>{RUN.format('a ')}<w:ins>{RUN.format('new')}</w:ins>"
        "<w:del><w:r><w:delText>old</w:delText></w:r></w:del></w:p>",
        "a new",
    ),
    "content controls": (
        f"<w:sdt><w:sdtContent><w:p>{RUN.format('held')}</w:p></w:sdtContent></w:sdt>",
        "held",
    ),
    "tabs, breaks, fields": (
        "<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t>"
        "<w:instrText>PAGE</w:instrText></w:r></w:p>",
        "a b c",
    ),
    "a text box, drawn twice": (
        "<w:p><w:r><w:t>before</w:t><mc:AlternateContent xmlns:mc='urn:x'><mc:Choice>"
        f"<w:txbxContent><w:p>{RUN.format('boxed')}</w:p></w:txbxContent></mc:Choice>"
        f"<mc:Fallback><w:txbxContent><w:p>{RUN.format('boxed')}</w:p></w:txbxContent>"
        "</mc:Fallback></mc:AlternateContent></w:r></w:p>",
        "before\n\nboxed",
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_what_other_readers_leave_out(name: str) -> None:
    body, text = BODIES[name]

    assert read_docx(with_body(saved(docx.Document()), body), "stem").text == text


def test_notes_come_last() -> None:
    document = docx.Document()
    document.add_paragraph("Text.")
    space = "xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'"
    notes = (
        f"<w:footnotes {space}><w:footnote w:type='separator'><w:p>{RUN.format('---')}</w:p>"
        f"</w:footnote><w:footnote w:id='2'><w:p>{RUN.format('A note.')}</w:p></w:footnote>"
        "</w:footnotes>"
    )
    package = document.part.package
    part = Part(PackURI("/word/footnotes.xml"), "application/xml", notes.encode(), package)
    document.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)

    assert _text(document) == "Text.\n\nA note."


def test_a_table_inside_a_header_cell_is_kept() -> None:
    document = docx.Document()
    table = _table(document, ("Zone", "Fee"), ("island", "7300"))
    table.cell(0, 1).add_table(1, 1).cell(0, 0).text = "in won"

    assert _text(document) == "in won\nZone: island | Fee: 7300"


def test_tables_stand_in_each_other_as_deep_as_they_may() -> None:
    document = docx.Document()
    table = _table(document, ("a", "b"))
    for depth in range(20):
        table = table.cell(0, 1).add_table(1, 2)
        table.cell(0, 0).text = f"depth {depth}"

    assert _text(document).split("\n")[1:] == [f"depth {depth}" for depth in range(20)]


def _zip(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("Content_Types", "[Content_Types].xml"), content)
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"plain text", "damaged or no Word document"),
        (saved(docx.Document())[:2000], "damaged or no Word document"),
        (_zip(x=b"y"), "a ZIP archive, but no Word document"),
        (
            _zip(**{"Content_Types": b"<broken", "word/document.xml": b"<x/>"}),
            "cannot be opened as a Word document",
        ),
    ],
)
def test_damage_gives_a_reason(data: bytes, reason: str) -> None:
    with pytest.raises(BrokenFile, match=reason):
        read_docx(data, "stem")
