import pytest

from rag.loaders import grids
from rag.loaders.errors import BrokenFile, UnsupportedFile
from rag.loaders.xlsx import read_xlsx
from tests.rag.loaders.package_files import repacked
from tests.rag.loaders.xlsx_files import BOLD, DATE, PERCENT, WON, rows, workbook


def _text(
    sheet: str, *, texts: str = "", before: str = "", after: str = "", settings: str = ""
) -> str:
    """Reads a workbook of one sheet and leaves its name out."""
    data = workbook({"장": sheet}, texts=texts, before=before, after=after, settings=settings)
    return read_xlsx(data, "stem").text.removeprefix("장").lstrip("\n")


def test_every_sheet_stands_under_its_name() -> None:
    data = workbook(
        {"요금": rows(("지역", "요금"), ("섬", 7300)), "빈 장": "", "메모": rows(("둘째 장",))}
    )

    read = read_xlsx(data, "stem")

    assert read.text == "요금\n\n지역: 섬 | 요금: 7300\n\n메모\n\n둘째 장"
    assert [(s.heading, s.start) for s in read.sections] == [(("요금",), 0), (("메모",), 22)]
    assert read.title == "stem"
    assert read.media_type.endswith("spreadsheetml.sheet")
    assert read.warnings == ()


def test_the_title_is_the_workbooks_own() -> None:
    core = '<p xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>예산 2026</dc:title></p>'
    data = workbook({"a": rows(("x",))}, more={"docProps/core.xml": core})

    assert read_xlsx(data, "stem").title == "예산 2026"


@pytest.mark.parametrize("formula", ["<f>SUM(B1:B2)</f>", '<f t="shared" si="0"/>'])
def test_formulas_give_their_stored_results(formula: str) -> None:
    sheet = rows(("연필", 17), ("공책", 25)) + (
        f'<row r="3"><c r="A3" t="str"><v>모두</v></c><c r="B3">{formula}<v>42</v></c></row>'
    )

    assert _text(sheet) == "연필 | 17\n공책 | 25\n모두 | 42"


def test_formulas_without_a_result_are_counted() -> None:
    cells = "<c><f>A1</f></c><c><f>A1</f><v/></c><c><f>A1</f><v></v></c>"
    no_text = '<c t="str"><f>""</f><v></v></c>'  # a result, though an empty one
    data = workbook({"s": f'<row><c t="str"><v>합계</v></c>{cells}{no_text}</row>'})

    read = read_xlsx(data, "stem")

    assert read.text == "s\n\n합계"
    assert read.warnings == (
        "3 formulas have no stored result, so their cells are empty here: "
        "open the file in a spreadsheet program and save it",
    )


def test_one_formula_without_a_result() -> None:
    read = read_xlsx(workbook({"s": "<row><c><f>A1</f></c><c><v>1</v></c></row>"}), "stem")

    assert read.warnings[0].startswith("1 formula has no stored result, so its cell is empty here")


CELLS = {
    "an error": ('<c t="e"><f>1/0</f><v>#DIV/0!</v></c>', "#DIV/0!"),
    "yes": ('<c t="b"><v>1</v></c>', "TRUE"),
    "no": ('<c t="b"><v>0</v></c>', "FALSE"),
    "noise of floating point": ("<c><v>1234.5000001</v></c>", "1234.5"),
    "a whole number": ("<c><v>1.0E3</v></c>", "1000"),
    "a percentage": (f'<c s="{PERCENT}"><v>0.125</v></c>', "12.50%"),
    "an own format": (f'<c s="{WON}"><v>7300</v></c>', "7,300원"),
    "a date": (f'<c s="{DATE}"><v>46085</v></c>', "2026-03-04"),
    "an ISO date": ('<c t="d"><v>2026-03-04T00:00:00</v></c>', "2026-03-04"),
    "an ISO time": ('<c t="d"><v>2026-03-04T13:05:00</v></c>', "2026-03-04T13:05:00"),
    "a text inline": ('<c t="inlineStr"><is><t>a</t><r><t>b</t></r></is></c>', "ab"),
    "a line break": ('<c t="str"><v>a_x000D_\nb</v></c>', "a b"),
    "no number": ("<c><v>n/a</v></c>", "n/a"),
    "a style that is not there": ('<c s="99"><v>5</v></c>', "5"),
    "a text that is not there": ('<c t="s"><v>99</v></c><c><v>1</v></c>', "1"),
}


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_is_what_the_sheet_shows(name: str) -> None:
    content, text = CELLS[name]

    assert _text(f"<row>{content}</row>") == text


def test_furigana_are_not_glued_to_what_they_explain() -> None:
    texts = (
        "<si><t>東京</t><rPh sb='0' eb='2'><t>トウキョウ</t></rPh><phoneticPr/></si>"
        "<si><r><rPr><b/></rPr><t xml:space='preserve'>굵게 </t></r><r><t>보통</t></r></si>"
    )
    inline = '<c t="inlineStr"><is><t>大阪</t><rPh sb="0" eb="2"><t>オオサカ</t></rPh></is></c>'
    sheet = f'<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c>{inline}</row>'

    assert _text(sheet, texts=texts) == "東京 | 굵게 보통 | 大阪"


def test_days_may_count_from_1904() -> None:
    sheet = f'<row><c s="{DATE}"><v>44623</v></c></row>'

    assert _text(sheet, settings='date1904="1"') == "2026-03-04"


def test_a_chart_sheet_has_no_cells() -> None:
    data = workbook({"장": rows(("값",))}, chart_sheet="그림")

    assert read_xlsx(data, "stem").text == "장\n\n값"


def test_hidden_sheets_and_rows_are_read() -> None:
    data = workbook({"s": '<row hidden="1"><c><v>7</v></c></row>'}, states={"s": "veryHidden"})

    assert read_xlsx(data, "stem").text == "s\n\n7"


def test_a_bold_row_of_words_names_the_columns() -> None:
    words = (("Light", "Meaning"), ("red", "fault"))
    assert _text(rows(*words)) == "Light | Meaning\nred | fault"

    sheet = rows(words[0], style=BOLD) + rows(words[1], first=2)
    assert _text(sheet) == "Light: red | Meaning: fault"


def test_a_row_that_stays_on_top_names_the_columns() -> None:
    pane = '<sheetViews><sheetView><pane ySplit="1" state="frozen"/></sheetView></sheetViews>'

    text = _text(rows(("Light", "Meaning"), ("red", "fault")), before=pane)

    assert text == "Light: red | Meaning: fault"


def test_merged_cells_stand_in_every_row_that_they_cover() -> None:
    sheet = rows(
        ("연간 요금표",),
        ("지역", "요금", None),
        (None, "낮", "밤"),
        ("섬", 1, 2),
        (None, 3, 4),
        ("육지", 5, None),
    )
    merged = ["A1:C1", "A2:A3", "B2:C2", "A4:A5", "B6:C6"]
    after = "<mergeCells>" + "".join(f'<mergeCell ref="{m}"/>' for m in merged) + "</mergeCells>"

    assert _text(sheet, after=after) == (
        "연간 요금표\n지역: 섬 | 요금 낮: 1 | 요금 밤: 2\n지역: 섬 | 요금 낮: 3 | 요금 밤: 4\n"
        "지역: 육지 | 요금 낮: 5"
    )


def test_cells_in_far_corners_take_no_time() -> None:
    sheet = "".join(
        f'<row r="{n}"><c r="A{n}"><v>1</v></c><c r="XFD{n}"><v>2</v></c></row>'
        for n in (1, 2, 1_048_576)
    )
    everything = '<mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>' * 50

    text = _text(sheet, before='<dimension ref="A1:XFD1048576"/>', after=everything)

    assert text.split("\n")[-1].startswith("1")
    assert len(text) < 100


def test_cells_without_places_follow_each_other() -> None:
    sheet = "<row><c><v>1</v></c><c/><c><v>2</v></c></row><row/><row><c><v>3</v></c></row>"

    assert _text(sheet) == "1 | 2\n\n3"


def test_cells_out_of_order_or_out_of_bounds_are_kept() -> None:
    sheet = (
        '<row r="2"><c r="B2"><v>4</v></c><c r="A2"><v>3</v></c></row>'
        '<row r="1"><c r="ZZZ9999999"><v>9</v></c><c r="A1"><v>1</v></c></row>'
    )

    assert _text(sheet) == "1\n3 | 4\n\n9"


def test_more_cells_than_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grids, "MOST_CELLS", 5)
    data = workbook({"a": rows((1, 2, 3)), "b": rows((4, 5, 6))})

    with pytest.raises(UnsupportedFile, match="more than 5 filled cells: split it"):
        read_xlsx(data, "stem")


@pytest.mark.parametrize("part", ["workbook", "sheet1", "sharedStrings", "styles"])
def test_damage_gives_a_reason(part: str) -> None:
    data = repacked(workbook({"s": rows((1,))}), **{part: b"<broken"})

    with pytest.raises(BrokenFile, match="cannot be opened as an Excel workbook"):
        read_xlsx(data, "stem")
