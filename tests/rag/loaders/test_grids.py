from rag.loaders.grids import Row, Span, sheet_tables


def _rows(*lines: str, first: int = 0) -> list[Row]:
    """Reads rows drawn as `a|b||d`; an empty line is an empty row."""
    drawn = [
        Row(number, {column: text for column, text in enumerate(line.split("|")) if text})
        for number, line in enumerate(lines, start=first)
    ]
    return [row for row in drawn if row.cells]


def test_an_empty_row_ends_a_table() -> None:
    rows = _rows("name|age", "kim|30", "", "city|people", "부산|330만")

    assert sheet_tables(rows) == [["name: kim | age: 30"], ["city: 부산 | people: 330만"]]


def test_a_part_without_names_takes_those_above_it() -> None:
    rows = _rows("name|age|note", "kim|30|x", "", "lee|40|y", "", "한|마디")

    assert sheet_tables(rows) == [
        ["name: kim | age: 30 | note: x"],
        ["name: lee | age: 40 | note: y"],
        ["name: 한 | age: 마디"],
    ]


def test_names_end_where_other_columns_begin() -> None:
    rows = _rows("name|age", "kim|30", "", "|||other|words")

    assert sheet_tables(rows)[1] == ["other | words"]


def test_tables_side_by_side_are_told_apart_by_their_names() -> None:
    rows = _rows("name|age||city|people", "kim|30||부산|330만", "lee|40")

    assert sheet_tables(rows) == [
        ["name: kim | age: 30", "name: lee | age: 40"],
        ["city: 부산 | people: 330만"],
    ]


def test_an_empty_column_inside_a_table_does_not_split_it() -> None:
    wider = _rows("name|age", "kim|30||note|x")

    assert sheet_tables(wider) == [["name: kim | age: 30 | note | x"]]
    assert sheet_tables(_rows("name||age", "kim||30")) == [["name: kim | age: 30"]]


def test_lines_above_the_names_are_captions() -> None:
    rows = _rows("2026년 요금", "(단위: 원)", "지역|요금", "섬|7300")

    assert sheet_tables(rows) == [["2026년 요금", "(단위: 원)", "지역: 섬 | 요금: 7300"]]


def test_a_list_of_one_column() -> None:
    assert sheet_tables(_rows("첫째", "둘째")) == [["첫째", "둘째"]]
    assert sheet_tables(_rows("요금", "7300", "2900")) == [["요금: 7300", "요금: 2900"]]


def test_names_of_several_rows_are_joined() -> None:
    rows = _rows("|2024", "분기|수입|지출", "1분기|10|20")

    assert sheet_tables(rows, [Span(0, 1, 0, 2)]) == [
        ["분기: 1분기 | 2024 수입: 10 | 2024 지출: 20"]
    ]


def test_a_header_alone_is_a_row() -> None:
    assert sheet_tables(_rows("지역|요금|비고")) == [["지역 | 요금 | 비고"]]


def test_a_wide_and_long_table_with_merged_cells_all_over_ends() -> None:
    rows = _rows(*["|".join("x" * 50)] * 500)
    everything = [Span(0, 0, 10_000_000, 16_383)] * 10_000

    assert len(sheet_tables(rows, everything)[0]) == 500


def test_inner_lines_follow_their_row() -> None:
    rows = _rows("지역|요금", "섬|7300", "육지|2900")
    rows[0].inner, rows[1].inner = ["머리 안"], ["야간 | 1100"]

    assert sheet_tables(rows) == [
        ["머리 안", "지역: 섬 | 요금: 7300", "야간 | 1100", "지역: 육지 | 요금: 2900"]
    ]


def test_nothing_gives_nothing() -> None:
    assert sheet_tables([]) == []
