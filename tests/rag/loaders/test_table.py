import pytest

from rag.loaders.table import read_csv, read_tsv


def _csv(text: str) -> str:
    return read_csv(text.encode(), "stem").text


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_each_row_is_a_line_under_the_names_of_its_columns(delimiter: str) -> None:
    source = "도시,요금\n섬마을,7300원\n시내,2900원\n".replace(",", delimiter)

    assert _csv(source) == "도시: 섬마을 | 요금: 7300원\n도시: 시내 | 요금: 2900원"


def test_tabs_separate_a_tsv_whatever_else_stands_in_it() -> None:
    document = read_tsv(b"name\tnote\nlamp\ta, b, c\n", "stem")

    assert document.text == "name: lamp | note: a, b, c"
    assert document.media_type == "text/tab-separated-values"


def test_quoted_cells_become_one_line() -> None:
    assert _csv('name,note\nlamp,"two\nlines, and ""quotes"""\n') == (
        'name: lamp | note: two lines, and "quotes"'
    )


def test_ragged_and_blank_rows_are_kept_as_far_as_they_go() -> None:
    assert _csv("a,b\n1\n\n1,2,3\n,,\n,5\n") == "a: 1\na: 1 | b: 2 | 3\nb: 5"


@pytest.mark.parametrize(
    ("first", "is_header"),
    [
        ("city,fee", True),
        ("city,2023,2024", True),
        (",fee,size", True),
        ("1,2,3", False),
        ("lamp,3.5", False),
        ("lamp,EUR 38", False),
        ("same,same", False),
        ("x" * 200 + ",note", False),
    ],
)
def test_the_first_row_is_a_header_if_it_names_columns(first: str, is_header: bool) -> None:
    assert (len(_csv(f"{first}\nx,y,z\n").split("\n")) == 1) is is_header


def test_a_header_alone_is_a_row() -> None:
    assert _csv("city,fee\n") == "city | fee"


def test_a_cell_may_be_larger_than_the_reader_of_python_allows() -> None:
    cell = "ab cd " * 30_000 + "END"

    text = _csv(f"번호,내용\n1,{cell}\n2,짧은 칸\n")

    assert text == f"번호: 1 | 내용: {cell}\n번호: 2 | 내용: 짧은 칸"


def test_a_quotation_mark_left_open_does_not_swallow_the_rest() -> None:
    rows = "".join(f"{n},part {n}\n" for n in range(50))

    lines = _csv(f'number,name\n7,"left open\n{rows}').split("\n")

    assert len(lines) == 51
    assert lines[0] == "number: 7 | name: left open"
    assert lines[-1] == "number: 49 | name: part 49"


def test_korean_from_a_spreadsheet() -> None:
    document = read_csv("도시,요금\n섬마을,7300원\n".encode("cp949"), "요금표")

    assert document.text == "도시: 섬마을 | 요금: 7300원"
    assert document.warnings == ("read as cp949",)
    assert document.title == "요금표"


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"', "SEP=;"])
def test_excel_is_told_the_delimiter_in_the_first_line(first: str) -> None:
    assert _csv(f"{first}\r\na;b,c\r\n1,5;2\r\n") == "a: 1,5 | b,c: 2"


def test_decimal_commas_do_not_cut_numbers() -> None:
    assert _csv("lamp;1,5\nrope;2,7\ncoat;3,1\n") == "lamp | 1,5\nrope | 2,7\ncoat | 3,1"


def test_lines_above_the_header_stand_alone() -> None:
    source = "2026년 요금 현황,,\n,,단위: 원\n도시,요금,비고\n섬마을,7300,\n시내,2900,낮\n"

    assert _csv(source) == (
        "2026년 요금 현황\n단위: 원\n도시: 섬마을 | 요금: 7300\n도시: 시내 | 요금: 2900 | 비고: 낮"
    )


def test_a_table_of_one_column_has_a_header_too() -> None:
    assert _csv("name\nlamp\nrope\n") == "name: lamp\nname: rope"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_no_part_of_the_first_name(encoding: str) -> None:
    data = "도시\t요금\n섬마을\t7300\n".encode(encoding)

    assert read_csv(data, "stem").text == "도시: 섬마을 | 요금: 7300"


def test_five_megabytes_in_a_cell() -> None:
    cell = "가나다 " * 830_000

    text = _csv(f"번호,내용\n1,{cell}끝표식\n2,짧은 칸\n")

    assert text.endswith("끝표식\n번호: 2 | 내용: 짧은 칸")
