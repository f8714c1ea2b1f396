import pytest

from rag.loaders.number_formats import BUILT_IN, shown


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        (42.0, "General", "42"),
        (1234.5000001, "General", "1234.5"),
        (0.1 + 0.2, "General", "0.3"),
        (12345678901.25, "General", "12345678901.25"),
        (0.000000123, "General", "0.000000123"),
        (-3.0, "General", "-3"),
        (1234567890123.0, "General", "1234567890123"),
        (0.125, "0.0%", "12.5%"),
        (0.5, "0%", "50%"),
        (7300.0, '#,##0"원"', "7,300원"),
        (7300.0, "#,##0원", "7,300원"),
        (7300.0, "[$₩-412]#,##0", "₩7,300"),
        (-7300.4, "#,##0;[Red](#,##0)", "(7,300)"),
        (-7300.4, "#,##0", "-7,300"),
        (0.0, '_-* #,##0_-;-* #,##0_-;_-* "-"_-;_-@_-', "-"),
        (-0.4, "0", "0"),
        (2.5, "0", "3"),
        (1.005, "0.00", "1.01"),
        (1234567.0, "#,##0,", "1,235"),
        (3.0, "0.##", "3"),
        (3.25, "0.0#", "3.25"),
        (7.0, "000", "007"),
        (1012345678.0, "000-0000-0000", "010-1234-5678"),
        (1.5, "# ?/?", "1.5"),
        (12345.0, "0.00E+00", "1.23E+04"),
        (5.0, ";;;", "5"),
        (1500.0, '[>=1000]0.0,"k";0', "1500"),
        (7.0, "@", "7"),
        (7.0, '"제"0"호"', "제7호"),
    ],
)
def test_numbers_are_as_the_sheet_shows_them(value: float, code: str, text: str) -> None:
    assert shown(value, code) == text


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        (46085.0, "m/d/yy", "2026-03-04"),
        (46085.0, 'yyyy"년" m"월" d"일"', "2026-03-04"),
        (46085.5451388889, "yyyy-mm-dd hh:mm", "2026-03-04 13:05"),
        (46085.5451388889, "m/d/yy h:mm AM/PM", "2026-03-04 13:05"),
        (46085.9, "d-mmm-yy", "2026-03-04"),
        (46085.0, "mmm-yy", "2026-03"),
        (46085.0, "yyyy", "2026"),
        (0.3958333333, "h:mm", "09:30"),
        (0.3958449074, "h:mm:ss", "09:30:01"),
        (1.1041666667, "[h]:mm", "26:30"),
        (1.0, "yyyy-mm-dd", "1900-01-01"),
        (61.0, "yyyy-mm-dd", "1900-03-01"),
        (-1.0, "yyyy-mm-dd", "-1"),
        (1e9, "yyyy-mm-dd", "1000000000"),
        (46085.0, '"Tag "0', "Tag 46085"),
        (46085.0, "[Red]General", "46085"),
    ],
)
def test_dates_are_iso_dates(value: float, code: str, text: str) -> None:
    assert shown(value, code) == text


def test_a_workbook_may_count_from_1904() -> None:
    assert shown(0.0, "yyyy-mm-dd", from_1904=True) == "1904-01-01"
    assert shown(44623.0, "yyyy-mm-dd", from_1904=True) == "2026-03-04"


@pytest.mark.parametrize("number", [14, 22, 31, 57])
def test_dates_that_a_file_names_by_number(number: int) -> None:
    assert shown(46085.0, BUILT_IN[number]).startswith("2026-03-04")
