"""XLSX and XLSM: each sheet under its name, its tables as rows beside the names of their columns.

Read as a stream of XML. python-calamine ends the whole process for two cells in far corners (it
asks for 549 GB) and knows no number formats; openpyxl in its streaming mode drops merged cells and
cannot tell a formula without a result from an empty cell.
"""

import zipfile

from rag.loaders.building import TextBuilder
from rag.loaders.cleaning import one_line, warn_unreadable
from rag.loaders.errors import BrokenFile, LoadError
from rag.loaders.grids import sheet_tables
from rag.loaders.packages import XLSX, open_package, open_part
from rag.loaders.titles import is_sensible
from rag.records import ExtractedText

_MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


def read_xlsx(data: bytes, stem: str) -> ExtractedText:
    """Raises BrokenFile for what is no workbook, UnsupportedFile for one that is too large."""
    archive = open_package(data, XLSX)
    builder = TextBuilder()
    try:
        title, uncomputed = _read(archive, builder)
    except LoadError:
        raise
    except Exception as error:  # zipfile and expat raise whatever the damage leads to
        raise BrokenFile("the file is damaged: it cannot be opened as an Excel workbook") from error
    warnings = warn_unreadable(builder.unreadable) + warn_uncomputed(uncomputed)
    return builder.finish(title if is_sensible(title) else stem, _MEDIA_TYPE, warnings)


def _read(archive: zipfile.ZipFile, builder: TextBuilder) -> tuple[str, int]:
    """Gives the workbook's own title and how many formulas have no result."""
    from rag.loaders.xlsx_book import read_book
    from rag.loaders.xlsx_cells import read_sheet

    book = read_book(archive)
    uncomputed = n_cells = 0
    for name, part in book.sheets:
        file = open_part(archive, part)
        if file is None:
            raise KeyError(part)
        with file:
            sheet = read_sheet(file, book, n_cells)
        n_cells += sum(len(row.cells) for row in sheet.rows)
        uncomputed += sheet.uncomputed
        tables = sheet_tables(sheet.rows, sheet.spans, sheet.frozen)
        if tables and one_line(name):
            builder.heading(1, name)
        for table in tables:
            builder.add("\n".join(table))
    return book.title, uncomputed


def warn_uncomputed(count: int) -> tuple[str, ...]:
    if not count:
        return ()
    subject = "1 formula has" if count == 1 else f"{count} formulas have"
    cells = "its cell is" if count == 1 else "their cells are"
    return (
        f"{subject} no stored result, so {cells} empty here: "
        "open the file in a spreadsheet program and save it",
    )
