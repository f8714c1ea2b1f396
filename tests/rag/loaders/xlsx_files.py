"""Workbooks made in memory of the XML of their sheets, with what no library writes."""

from collections.abc import Mapping
from types import MappingProxyType
from xml.sax.saxutils import quoteattr

from tests.rag.loaders.package_files import package

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_STYLES = (
    f'<styleSheet xmlns="{_MAIN}"><numFmts>'
    '<numFmt numFmtId="164" formatCode="#,##0&quot;원&quot;"/></numFmts>'
    "<fonts><font/><font><b/></font></fonts><cellXfs>"
    '<xf numFmtId="0" fontId="0"/><xf numFmtId="0" fontId="1"/><xf numFmtId="14" fontId="0"/>'
    '<xf numFmtId="10" fontId="0"/><xf numFmtId="164" fontId="0"/></cellXfs></styleSheet>'
)
PLAIN, BOLD, DATE, PERCENT, WON = range(5)  # styles of cells


def workbook(
    sheets: dict[str, str],
    *,
    texts: str = "",
    after: str = "",
    before: str = "",
    settings: str = "",
    chart_sheet: str = "",
    states: Mapping[str, str] = MappingProxyType({}),
    more: Mapping[str, str] = MappingProxyType({}),
) -> bytes:
    """Packs sheets by name, given as `<row>` elements.

    `before` and `after` stand around the rows of every sheet, `texts` are the `<si>` elements,
    `settings` the attributes of `<workbookPr>`, `states` say how sheets are hidden, and `more` are
    further parts.
    """
    names = [*sheets, *([chart_sheet] if chart_sheet else [])]
    listed = "".join(
        f'<sheet name={quoteattr(name)} sheetId="{n}" r:id="r{n}"'
        f' state="{states.get(name, "visible")}"/>'
        for n, name in enumerate(names, start=1)
    )
    relations = "".join(
        f'<Relationship Id="r{n}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n in range(1, len(sheets) + 1)
    )
    if chart_sheet:
        place = f'Type="{_OFFICE}/chartsheet" Target="/xl/chartsheets/sheet1.xml"'
        relations += f'<Relationship Id="r{len(names)}" {place}/>'
    relations += f'<Relationship Id="s" Type="{_OFFICE}/sharedStrings" Target="sharedStrings.xml"/>'
    relations += f'<Relationship Id="t" Type="{_OFFICE}/styles" Target="/xl/styles.xml"/>'
    parts = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": _relations(
            f'<Relationship Id="a" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/>'
        ),
        "xl/workbook.xml": (
            f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><workbookPr {settings}/>'
            f"<sheets>{listed}</sheets></workbook>"
        ),
        "xl/_rels/workbook.xml.rels": _relations(relations),
        "xl/styles.xml": _STYLES,
        "xl/sharedStrings.xml": f'<sst xmlns="{_MAIN}">{texts}</sst>',
        **{
            f"xl/worksheets/sheet{n}.xml": (
                f'<worksheet xmlns="{_MAIN}">{before}<sheetData>{rows}</sheetData>{after}'
                "</worksheet>"
            )
            for n, rows in enumerate(sheets.values(), start=1)
        },
        **more,
    }
    return package(*((name, content.encode()) for name, content in parts.items()))


def _relations(relations: str) -> str:
    space = "http://schemas.openxmlformats.org/package/2006/relationships"
    return f'<Relationships xmlns="{space}">{relations}</Relationships>'


def rows(*lines: tuple[str | float | None, ...], first: int = 1, style: int = PLAIN) -> str:
    """Writes rows of texts and numbers from the first column on; None leaves a cell out."""
    written = []
    for number, line in enumerate(lines, start=first):
        cells = "".join(
            cell(f"{chr(65 + column)}{number}", content, style)
            for column, content in enumerate(line)
            if content is not None
        )
        written.append(f'<row r="{number}">{cells}</row>')
    return "".join(written)


def cell(reference: str, content: str | float, style: int = PLAIN) -> str:
    if isinstance(content, str):
        return f'<c r="{reference}" s="{style}" t="str"><v>{content}</v></c>'
    return f'<c r="{reference}" s="{style}"><v>{content!r}</v></c>'
